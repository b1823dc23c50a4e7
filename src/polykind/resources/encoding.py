"""Objects to bytes, with the resourceVersion left open: it is known only once the write has committed."""

from __future__ import annotations

import re
import secrets
import sys

from polykind.cache.cached_object import CachedObject, labels_of
from polykind.codec import json_codec
from polykind.contract import JsonObject

_MARK = f"rv-{secrets.token_hex(12)}"
_MARK_BYTES = _MARK.encode()
_signed_zero = re.compile(rb"[:,\[]-0[,\]}]").search
_KEY = b',"resourceVersion":"'


class Encoded:
    """An object's JSON in two parts, around the text of its resourceVersion; `whole`: it has no floats."""

    __slots__ = ("head", "obj", "tail")

    def __init__(self, obj: JsonObject, *, whole: bool = False) -> None:
        meta = obj["metadata"]
        self.obj = obj
        before = meta.get("resourceVersion")
        meta["resourceVersion"] = _MARK
        text = json_codec.encode(obj, whole=whole)
        if not whole and _signed_zero(text):
            # Zero has no sign when it is read again.
            text = json_codec.encode(json_codec.decode(text))
        self.head, _, self.tail = text.partition(_MARK_BYTES)
        if before is None:
            del meta["resourceVersion"]
        else:
            meta["resourceVersion"] = before

    def same(self, other: Encoded) -> bool:
        return self.head == other.head and self.tail == other.tail

    def stored(self) -> bytes:
        """As it is stored: without a resourceVersion. The name sorts before it, so there is always a comma."""
        return self.head[: -len(_KEY)] + self.tail[1:]

    def entry(self, key: str, stored: bytes, revision: int, clean: bool) -> CachedObject:
        """What the cache would make of the stored bytes, without reading them again."""
        version = sys.intern(self.obj["apiVersion"].rpartition("/")[2])
        return CachedObject(key, self.served(revision), revision, version, labels_of(self.obj), clean)

    def served(self, revision: int) -> bytes:
        return b"%b%d%b" % (self.head, revision, self.tail)
