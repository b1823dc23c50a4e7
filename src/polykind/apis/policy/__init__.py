"""The built-in API group policy."""
