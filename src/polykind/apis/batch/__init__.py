"""The built-in API group batch."""
