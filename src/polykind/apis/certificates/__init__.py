"""The built-in API group certificates."""
