"""The built-in API group apiextensions."""
