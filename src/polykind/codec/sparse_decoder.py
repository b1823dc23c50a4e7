"""A decoder of the few values of a JSON object that a Table shows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from polykind.codec.json_codec import RangeError, decode, narrow_ints, parse_number
from polykind.contract import JsonObject


class SparseDecoder:
    """Decodes only the values at some paths of JSON objects, in a third of the time or less."""

    __slots__ = ("_decode",)

    def __init__(self, paths: Iterable[tuple[str, ...]]) -> None:
        """Every path has at least one key."""
        tree: JsonObject = {}
        for *parents, last in paths:
            node: JsonObject | None = tree
            for key in parents:
                node = node.setdefault(key, {}) if node is not None else None
            if node is not None:
                node[last] = None
        self._decode = msgspec.json.Decoder(_sparse_type(tree), float_hook=parse_number).decode

    def decode(self, data: bytes) -> JsonObject:
        """Return the object that contains only the values at the paths, or more if the object has another structure."""
        try:
            found: JsonObject = msgspec.to_builtins(self._decode(data))
        except (ValueError, RecursionError, RangeError):
            return decode(data)  # type: ignore[no-any-return]
        return narrow_ints(found)  # type: ignore[no-any-return]


def _sparse_type(tree: JsonObject) -> Any:
    """Return the type of objects with the keys of a tree. Below a key is another tree, or None for any value."""
    fields = [
        (f"f{number}", (Any if below is None else _sparse_type(below)) | msgspec.UnsetType, msgspec.UNSET)
        for number, below in enumerate(tree.values())
    ]
    return msgspec.defstruct("Sparse", fields, rename={f"f{number}": key for number, key in enumerate(tree)})
