"""authentication."""
