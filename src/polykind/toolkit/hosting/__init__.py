"""Hosting of conversions outside the API server: as a webhook with its own certificates, or as an ASGI application."""

from polykind.toolkit.hosting.asgi_app import asgi
from polykind.toolkit.hosting.webhook_host import Host

__all__ = ["Host", "asgi"]
