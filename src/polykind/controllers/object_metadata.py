"""The metadata of stored objects that controllers read."""

from __future__ import annotations

import msgspec

from polykind.cache.cached_object import CachedObject

OWNER_REFERENCES = b'"ownerReferences"'
DELETION_TIMESTAMP = b'"deletionTimestamp"'


class OwnerReference(msgspec.Struct, frozen=True):
    """One item of metadata.ownerReferences."""

    apiVersion: str = ""  # noqa: N815
    kind: str = ""
    name: str = ""
    uid: str = ""
    blockOwnerDeletion: bool | None = None  # noqa: N815

    @property
    def group(self) -> str:
        return self.apiVersion.rpartition("/")[0]


class Metadata(msgspec.Struct, frozen=True):
    """The metadata fields that controllers read."""

    uid: str = ""
    deletionTimestamp: str | None = None  # noqa: N815
    finalizers: tuple[str, ...] | None = None
    ownerReferences: tuple[OwnerReference, ...] | None = None  # noqa: N815

    def is_waiting_for(self, finalizer: str) -> bool:
        """True if the object is being deleted and still has this finalizer."""
        return bool(self.deletionTimestamp) and finalizer in (self.finalizers or ())


class _Object(msgspec.Struct, frozen=True):
    metadata: Metadata


_decode = msgspec.json.Decoder(_Object).decode
_EMPTY = Metadata()


def metadata(cached: CachedObject | None) -> Metadata:
    """Return a cached object's metadata. It is empty if there is no object or its stored bytes cannot be decoded."""
    if cached is None:
        return _EMPTY
    try:
        return _decode(cached.raw).metadata
    except msgspec.MsgspecError:
        return _EMPTY


def is_same_object(one: CachedObject, other: CachedObject) -> bool:
    """True if two states belong to one object and not to two of the same name. Objects without a uid differ."""
    if one is other:
        return True
    uid = metadata(one).uid
    return bool(uid) and uid == metadata(other).uid
