"""When two parts of definitions are the same."""

from __future__ import annotations

from typing import Any

from polykind.schema.equality import same as same_types


def same(left: Any, right: Any) -> bool:
    """Equal as JSON values; Python's own comparison is quicker, but takes 1 for true, so it may only say no."""
    return left is right or (bool(left == right) and same_types(left, right))
