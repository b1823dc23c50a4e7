"""The built-in API group storage."""
