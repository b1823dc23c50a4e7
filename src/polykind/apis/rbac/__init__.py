"""The built-in API group rbac."""
