"""The discovery and OpenAPI documents that list the served resources, encoded as bytes."""
