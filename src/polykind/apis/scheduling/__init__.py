"""The built-in API group scheduling."""
