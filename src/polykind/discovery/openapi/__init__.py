"""OpenAPI documents of what is served: v3 per group version, v2 in one piece."""
