"""Alias of `polykind.toolkit.hosting`."""

from polykind.toolkit.hosting import Host, asgi

__all__ = ["Host", "asgi"]
