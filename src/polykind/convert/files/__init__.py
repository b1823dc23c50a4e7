"""Alias of `polykind.toolkit.files`."""
