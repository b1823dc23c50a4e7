"""The built-in API group apps."""
