"""The toolkit for CRD authors: declare conversions as plain functions, host them anywhere and test them for data loss.

The toolkit needs no running server and never imports one. This package is its public API; `polykind.toolkit` holds the
implementation.
"""

from polykind.declare.conversions import ConversionError, Conversions, Incomplete, NoWay
from polykind.declare.field_rules import by_hand, drop, first, move, only, rename_values
from polykind.declare.stash import put, take
from polykind.declare.structure_rules import list_to_map, map_to_list, unwrap, wrap
from polykind.declare.translations import absent_means, duration, join, quantity, split

__all__ = [
    "ConversionError",
    "Conversions",
    "Incomplete",
    "NoWay",
    "absent_means",
    "by_hand",
    "drop",
    "duration",
    "first",
    "join",
    "list_to_map",
    "map_to_list",
    "move",
    "only",
    "put",
    "quantity",
    "rename_values",
    "split",
    "take",
    "unwrap",
    "wrap",
]
