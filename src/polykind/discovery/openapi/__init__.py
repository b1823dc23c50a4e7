"""OpenAPI documents of the served resources: v3 per group version, v2 as a single document."""
