"""Patches and server-side apply, as functions from JSON values to JSON values."""
