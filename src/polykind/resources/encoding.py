"""Encoding of objects whose resourceVersion is known only after the write has committed."""

from __future__ import annotations

import re
import secrets
import sys

from polykind.cache.cached_object import CachedObject, labels_of
from polykind.codec import json_codec
from polykind.contract import JsonObject

_PLACEHOLDER = f"rv-{secrets.token_hex(12)}"
_PLACEHOLDER_BYTES = _PLACEHOLDER.encode()
_has_negative_zero = re.compile(rb"[:,\[]-0[,\]}]").search
_KEY = b',"resourceVersion":"'


class Encoded:
    """An object's JSON in two parts, before and after the text of its resourceVersion."""

    __slots__ = ("head", "obj", "tail")

    def __init__(self, obj: JsonObject, *, integers_only: bool = False) -> None:
        """Encode an object. `integers_only`: it contains no floats, so a faster encoder serves."""
        meta = obj["metadata"]
        self.obj = obj
        before = meta.get("resourceVersion")
        meta["resourceVersion"] = _PLACEHOLDER
        text = json_codec.encode(obj, whole=integers_only)
        if not integers_only and _has_negative_zero(text):
            # Decoding turns -0 into 0, so the stored bytes must already have it.
            text = json_codec.encode(json_codec.decode(text))
        self.head, _, self.tail = text.partition(_PLACEHOLDER_BYTES)
        if before is None:
            del meta["resourceVersion"]
        else:
            meta["resourceVersion"] = before

    def same(self, other: Encoded) -> bool:
        """True if both objects are equal apart from their resourceVersions."""
        return self.head == other.head and self.tail == other.tail

    def stored(self) -> bytes:
        """Return the bytes to store, without resourceVersion. `name` sorts before it, so a comma precedes it."""
        return self.head[: -len(_KEY)] + self.tail[1:]

    def served(self, revision: int) -> bytes:
        """Return the bytes to serve, with the revision as resourceVersion."""
        return b"%b%d%b" % (self.head, revision, self.tail)

    def cached_object(self, key: str, stored: bytes, revision: int, normalized: bool) -> CachedObject:
        """Return the CachedObject that the watch cache would make of the stored bytes, without parsing them."""
        version = sys.intern(self.obj["apiVersion"].rpartition("/")[2])
        return CachedObject(key, self.served(revision), revision, version, labels_of(self.obj), normalized)
