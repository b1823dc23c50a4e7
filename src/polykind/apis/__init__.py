"""Built-in API groups: one package per group."""
