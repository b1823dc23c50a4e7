"""polykind.dev: the configuration of rate limits."""
