"""The built-in API group flowcontrol."""
