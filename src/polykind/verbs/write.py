"""The values that a write passes from step to step: what it found, what it makes of it, and what it will store.

The steps are pure: they take these values and return others. A step owns the JSON object of the draft that it gets and
may change it.
"""

from __future__ import annotations

from enum import Enum

import msgspec

from polykind.cache.cached_object import CachedObject
from polykind.contract import JsonObject


class Learnt(Enum):
    """The state of an object's values, as far as the steps have checked it."""

    RAW = "no schema has pruned the result of a merge or of a mutating webhook"
    PRUNED = "decoding has pruned the object and set its defaults"
    VALID = "decoding has also validated the values"
    MARKED = "the stored object has other metadata, because it is being deleted"


class Draft(msgspec.Struct, frozen=True):
    """A new object at the request's version, as the client or a webhook wants it."""

    obj: JsonObject
    learnt: Learnt = Learnt.PRUNED
    integers_only: bool = False
    """True if the request's body is known to contain no floats. Such an object encodes faster."""
    raw_metadata: JsonObject = {}
    """Applied metadata that is stored unchanged, although reads return it in another form or omit it."""
    metadata_error: str = ""
    """The error of decoding metadata that apply or a webhook has produced. It is raised if a conversion follows."""
    applied: bool = False
    """True if the object results from an apply, whose managedFields must be stored."""


class Existing(msgspec.Struct, frozen=True):
    """The stored object that a write replaces."""

    obj: JsonObject
    """The object at the request's version."""
    cached: CachedObject
    integers_only: bool = False
    """True if the object is known to contain no floats."""
    data: bytes = b""
    """The JSON of the object, or b"" if the object is not stored as such, like a Scale."""


class Settled(msgspec.Struct, frozen=True):
    """A new object at the request's version that is prepared and valid, and ready to be admitted and stored."""

    obj: JsonObject
    old: Existing | None
    """The stored object that it replaces, or None for a create."""
    learnt: Learnt = Learnt.PRUNED
    integers_only: bool = False
    """True if both the new object and what it took over from the old one are known to contain no floats."""
    raw_metadata: JsonObject = {}
    metadata_error: str = ""
    applied: bool = False

    def as_applied(self) -> JsonObject:
        """Return the object with its metadata as the client applied it, except for fields that the server has set
        since.
        """
        meta = self.obj["metadata"]
        raw = {k: v for k, v in self.raw_metadata.items() if k not in meta or k in ("labels", "annotations")}
        return {**self.obj, "metadata": {**meta, **raw}}
