"""The built-in API group apidiscovery."""
