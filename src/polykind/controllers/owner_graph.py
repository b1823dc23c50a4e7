"""Who owns whom: the owner references of everything stored, by the owner's uid."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from polykind.cache.cached_object import CachedObject

OWNERS = b'"ownerReferences"'
DELETION = b'"deletionTimestamp"'


class Place(NamedTuple):
    """Where an object is stored."""

    group: str
    plural: str
    key: str

    def __str__(self) -> str:
        return f"{self.plural}.{self.group} {self.key}" if self.group else f"{self.plural} {self.key}"


class Reference(msgspec.Struct, frozen=True):
    """One of an object's ownerReferences."""

    apiVersion: str = ""  # noqa: N815
    kind: str = ""
    name: str = ""
    uid: str = ""
    blockOwnerDeletion: bool | None = None  # noqa: N815

    @property
    def group(self) -> str:
        return self.apiVersion.rpartition("/")[0]


class Metadata(msgspec.Struct, frozen=True):
    """What the collector needs to know of an object."""

    uid: str = ""
    deletionTimestamp: str | None = None  # noqa: N815
    finalizers: tuple[str, ...] | None = None
    ownerReferences: tuple[Reference, ...] | None = None  # noqa: N815

    def awaits(self, finalizer: str) -> bool:
        """Whether it is being deleted and this finalizer is not done yet."""
        return bool(self.deletionTimestamp) and finalizer in (self.finalizers or ())


class _Object(msgspec.Struct, frozen=True):
    metadata: Metadata


_decode = msgspec.json.Decoder(_Object).decode
_NOTHING = Metadata()


def metadata(entry: CachedObject | None) -> Metadata:
    """An entry's metadata; that of bytes which others garbled says nothing, and so does that of no entry."""
    if entry is None:
        return _NOTHING
    try:
        return _decode(entry.raw).metadata
    except msgspec.MsgspecError:
        return _NOTHING


class Ownership:
    """The index, kept up to date one object at a time."""

    def __init__(self) -> None:
        self._dependents: dict[str, dict[Place, bool]] = {}
        self._references: dict[Place, tuple[Reference, ...]] = {}

    def __bool__(self) -> bool:
        return bool(self._references)

    def __contains__(self, place: Place) -> bool:
        return place in self._references

    def record(self, place: Place, references: tuple[Reference, ...]) -> tuple[Reference, ...]:
        """An object has these owners now; those that it had."""
        before = self._references.pop(place, ())
        for reference in before:
            dependents = self._dependents.get(reference.uid)
            if dependents is not None:
                dependents.pop(place, None)
                if not dependents:
                    del self._dependents[reference.uid]
        if references:
            self._references[place] = references
        for reference in references:
            dependents = self._dependents.setdefault(reference.uid, {})
            dependents[place] = dependents.get(place, False) or bool(reference.blockOwnerDeletion)
        return before

    def dependents(self, uid: str) -> list[Place]:
        return list(self._dependents.get(uid, ()))

    def blocked(self, uid: str, owner: Place) -> bool:
        """Whether a dependent, other than the owner itself, wants to be gone before its owner goes."""
        return any(blocks and place != owner for place, blocks in self._dependents.get(uid, {}).items())

    def owned(self, group: str, plural: str) -> list[Place]:
        """The objects of a resource that have owners."""
        return [place for place in self._references if place.plural == plural and place.group == group]
