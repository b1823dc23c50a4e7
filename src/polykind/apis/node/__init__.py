"""The built-in API group node."""
