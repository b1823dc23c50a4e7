"""The built-in API group autoscaling."""
