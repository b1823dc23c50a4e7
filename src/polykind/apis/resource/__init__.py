"""The built-in API group resource."""
