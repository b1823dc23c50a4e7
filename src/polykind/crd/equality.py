"""When two parts of definitions are the same."""

from __future__ import annotations

from typing import Any

from polykind.contract import JsonObject
from polykind.crd.empty_values import drop_empty_from_setting, drop_empty_from_spec
from polykind.schema.equality import deep_equal as same_types


def deep_equal(left: Any, right: Any) -> bool:
    """Equal as JSON values; Python's own comparison is quicker, but takes 1 for true, so it may only say no."""
    return left is right or (bool(left == right) and same_types(left, right))


def equal_settings(left: Any, right: Any) -> bool:
    """The same stanzas of versions, or the same but for what is stated and empty."""
    if deep_equal(left, right):
        return True
    bare, other = drop_empty_from_setting(left, items=True), drop_empty_from_setting(right, items=True)
    return (bare is not left or other is not right) and deep_equal(bare, other)


def equal_specs(left: JsonObject, right: JsonObject) -> bool:
    """The same of specs, of any shape."""
    if deep_equal(left, right):
        return True
    bare, other = drop_empty_from_spec(left, items=True), drop_empty_from_spec(right, items=True)
    return (bare is not left or other is not right) and deep_equal(bare, other)
