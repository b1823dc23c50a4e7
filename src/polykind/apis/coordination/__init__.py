"""The built-in API group coordination."""
