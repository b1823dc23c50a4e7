"""Conversions hosted outside the server: as a webhook with certificates of its own, or as an ASGI application."""

from polykind.convert.hosting.application import asgi
from polykind.convert.hosting.host import Host

__all__ = ["Host", "asgi"]
