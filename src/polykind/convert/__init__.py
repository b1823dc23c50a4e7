"""The toolkit for CRD authors: declare conversions as plain functions, host them anywhere and test them for data loss.

The toolkit needs no running server and never imports one. This package is its public API; `polykind.toolkit` holds the
implementation.
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
