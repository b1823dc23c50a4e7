"""Conversions hosted outside the server: as a webhook with certificates of its own, or as an ASGI application."""

from polykind.toolkit.hosting.application import asgi
from polykind.toolkit.hosting.host import Host

__all__ = ["Host", "asgi"]
