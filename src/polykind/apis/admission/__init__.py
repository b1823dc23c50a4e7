"""The built-in API group admission."""
