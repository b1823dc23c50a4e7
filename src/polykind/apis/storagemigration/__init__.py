"""The built-in API group storagemigration."""
