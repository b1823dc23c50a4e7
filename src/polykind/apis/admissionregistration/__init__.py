"""The built-in API group admissionregistration."""
