"""The toolkit for authors of definitions: conversions as plain functions, hosted anywhere, proven to lose nothing.

It needs no server, and never imports one.
"""

from polykind.convert.declare import ConversionError, Conversions, Incomplete, NoWay
from polykind.convert.stash import put, take

__all__ = ["ConversionError", "Conversions", "Incomplete", "NoWay", "put", "take"]
