"""Patches and server-side apply: values in, values out."""
