"""A converter under the name that messages use for it."""

from polykind.toolkit.declare.library import Library

__all__ = ["Library"]
