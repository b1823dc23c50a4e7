"""The built-in API group discovery."""
