"""The built-in API group core."""
