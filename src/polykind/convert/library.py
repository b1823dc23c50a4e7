"""A converter together with the name that messages use for the converter."""

from polykind.declare.library import Library

__all__ = ["Library"]
