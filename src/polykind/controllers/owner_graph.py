"""The owner graph: the owner references of all stored objects, indexed by the owner's uid."""

from __future__ import annotations

from typing import NamedTuple

from polykind.controllers.object_metadata import OwnerReference


class ObjectRef(NamedTuple):
    """A reference to a stored object: its resource, and its key in the cache of this resource."""

    group: str
    plural: str
    key: str

    def __str__(self) -> str:
        return f"{self.plural}.{self.group} {self.key}" if self.group else f"{self.plural} {self.key}"


class OwnerGraph:
    """The dependents of each owner, by the owner's uid."""

    def __init__(self) -> None:
        self._dependents: dict[str, dict[ObjectRef, bool]] = {}
        self._references: dict[ObjectRef, tuple[OwnerReference, ...]] = {}

    def __bool__(self) -> bool:
        return bool(self._references)

    def record(self, ref: ObjectRef, references: tuple[OwnerReference, ...]) -> tuple[OwnerReference, ...]:
        """Set an object's owner references in the graph and return the previous ones."""
        previous = self._references.pop(ref, ())
        for reference in previous:
            dependents = self._dependents.get(reference.uid)
            if dependents is not None:
                dependents.pop(ref, None)
                if not dependents:
                    del self._dependents[reference.uid]
        if references:
            self._references[ref] = references
        for reference in references:
            dependents = self._dependents.setdefault(reference.uid, {})
            dependents[ref] = dependents.get(ref, False) or bool(reference.blockOwnerDeletion)
        return previous

    def dependents(self, uid: str) -> list[ObjectRef]:
        return list(self._dependents.get(uid, ()))

    def is_blocked(self, uid: str, owner: ObjectRef) -> bool:
        """True if a dependent of the owner with this uid has blockOwnerDeletion. The owner itself does not count."""
        return any(blocks and ref != owner for ref, blocks in self._dependents.get(uid, {}).items())

    def dependents_in(self, group: str, plural: str) -> list[ObjectRef]:
        """Return the objects of a resource that have owner references."""
        return [ref for ref in self._references if ref.plural == plural and ref.group == group]
