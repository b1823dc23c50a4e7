"""Hosting of conversions outside the server: a webhook with its own certificates, or an ASGI application."""

from polykind.toolkit.hosting.asgi_app import asgi
from polykind.toolkit.hosting.webhook_host import Host

__all__ = ["Host", "asgi"]
