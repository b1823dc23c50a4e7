"""admissionregistration."""
