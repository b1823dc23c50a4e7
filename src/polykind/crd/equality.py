"""When two parts of definitions are the same."""

from __future__ import annotations

from typing import Any

from polykind.contract import JsonObject
from polykind.crd.emptiness import bare_spec, bare_stanza
from polykind.schema.equality import same as same_types


def same(left: Any, right: Any) -> bool:
    """Equal as JSON values; Python's own comparison is quicker, but takes 1 for true, so it may only say no."""
    return left is right or (bool(left == right) and same_types(left, right))


def alike(left: Any, right: Any) -> bool:
    """The same stanzas of versions, or the same but for what is stated and empty."""
    if same(left, right):
        return True
    bare, other = bare_stanza(left, items=True), bare_stanza(right, items=True)
    return (bare is not left or other is not right) and same(bare, other)


def alike_specs(left: JsonObject, right: JsonObject) -> bool:
    """The same of specs, of any shape."""
    if same(left, right):
        return True
    bare, other = bare_spec(left, items=True), bare_spec(right, items=True)
    return (bare is not left or other is not right) and same(bare, other)
