"""authorization."""
