"""The built-in API group networking."""
