"""Conversion webhooks: a host with its own certificates, an ASGI application, and a function from bytes to bytes."""

from polykind.toolkit.hosting import Host, asgi
from polykind.toolkit.hosting.review_response import InvalidReviewError, convert_review

__all__ = ["Host", "InvalidReviewError", "asgi", "convert_review"]
