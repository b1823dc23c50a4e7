"""The built-in API group authentication."""
