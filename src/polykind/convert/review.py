"""Alias of `polykind.toolkit.hosting.review`."""

from polykind.toolkit.hosting.review import Answer, BadReview, answer, answered

__all__ = ["Answer", "BadReview", "answer", "answered"]
