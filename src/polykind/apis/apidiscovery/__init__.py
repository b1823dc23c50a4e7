"""apidiscovery."""
