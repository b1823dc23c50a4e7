"""Discovery and OpenAPI documents of the served resources, as bytes."""
