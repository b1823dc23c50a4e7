"""Conversions hosted outside the server: as a webhook with certificates of its own, or as an ASGI application."""

from polykind.toolkit.hosting.asgi_app import asgi
from polykind.toolkit.hosting.webhook_host import Host

__all__ = ["Host", "asgi"]
