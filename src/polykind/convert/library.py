"""Alias of `polykind.toolkit.declare.library`."""

from polykind.toolkit.declare.library import Library

__all__ = ["Library"]
