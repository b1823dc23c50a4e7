"""golang."""
