"""The toolkit for authors of definitions: conversions as plain functions, hosted anywhere, proven to lose nothing.

It needs no server, and never imports one.
"""

from polykind.toolkit.declare.conversions import ConversionError, Conversions, Incomplete, NoWay
from polykind.toolkit.declare.field_rules import by_hand, drop, first, move, only, rename_values
from polykind.toolkit.declare.stash import put, take

__all__ = [
    "ConversionError",
    "Conversions",
    "Incomplete",
    "NoWay",
    "by_hand",
    "drop",
    "first",
    "move",
    "only",
    "put",
    "rename_values",
    "take",
]
