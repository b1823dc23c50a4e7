"""The built-in API group apiregistration."""
