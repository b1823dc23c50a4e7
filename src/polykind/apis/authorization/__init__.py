"""The built-in API group authorization."""
