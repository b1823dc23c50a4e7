"""The built-in API group meta."""
