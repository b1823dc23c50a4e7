"""The built-in API group events."""
