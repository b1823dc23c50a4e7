"""The garbage collector: deletes the dependents of deleted owners, or removes their owner references.

Background deletion removes the owner first, then its dependents. Foreground deletion keeps the owner, with a
finalizer, until all dependents with blockOwnerDeletion are gone. Orphan deletion keeps the owner until no dependent
refers to it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from enum import Enum

from polykind import errors
from polykind.auth.user import service_account
from polykind.cache.cached_object import CachedObject
from polykind.contract import JsonObject, Leadership
from polykind.controllers.controller_runtime import Controller
from polykind.controllers.graph_builder import GraphBuilder
from polykind.controllers.object_client import Edit, ObjectClient
from polykind.controllers.object_metadata import Metadata, OwnerReference, is_same_object, metadata
from polykind.controllers.owner_graph import ObjectRef
from polykind.operations.backend import Backend
from polykind.resources.resource import FOREGROUND, ORPHAN, Resource

log = logging.getLogger("polykind.garbage")

_MANAGER = "garbage-collector"
_USER = service_account("generic-garbage-collector")
_BATCH_SIZE = 500


class OwnerState(Enum):
    """The state of the object to which an owner reference refers. Log messages show the value."""

    SOLID = "present"
    WAITING_FOR_DEPENDENTS = "being deleted in the foreground"
    DANGLING = "absent"
    UNKNOWN = "of a kind that is not served, or namespaced while the dependent is not"


class GarbageCollector:
    """Processes the objects whose owners or deletion state change, as the owner graph shows them."""

    absent_owner_delay = 15.0
    """Seconds until an owner that was never observed is treated as deleted. Its creation may be observed late."""

    def __init__(self, backend: Backend, leadership: Leadership, *, sole_writer: bool) -> None:
        """`sole_writer` is true if no other process writes to the store."""
        self._backend = backend
        self._client = ObjectClient(backend, manager=_MANAGER, user=_USER)
        self.builder = GraphBuilder(backend, lambda ref: self._controller.add(ref), sole_writer=sole_writer)
        self._controller: Controller[ObjectRef] = Controller(
            leadership, self._reconcile, begin=self.builder.start, end=self._end
        )
        self.start, self.attempt = self._controller.start, self._controller.attempt
        self._absent_since: dict[ObjectRef, float] = {}
        """For each dependent whose owner was never observed: the time at which the owner was first looked up."""

    def _end(self) -> None:
        self.builder.stop()
        self._absent_since.clear()

    async def close(self) -> None:
        await self._controller.close()
        await self.builder.close()

    async def _reconcile(self, ref: ObjectRef) -> float | None:
        await self.builder.synced.wait()
        resource = self._backend.registry.resource(ref.group, ref.plural)
        seen = await self._client.read(resource, ref.key) if resource is not None else None
        if resource is None or seen is None:
            self.builder.graph.record(ref, ())
            self._absent_since.pop(ref, None)
            return None
        meta = metadata(seen)
        try:
            if meta.is_waiting_for(ORPHAN):
                await self._orphan_dependents(resource, seen)
            elif meta.is_waiting_for(FOREGROUND):
                if not self.builder.graph.is_blocked(meta.uid, ref):
                    await self._change(resource, seen, lambda obj: _remove_finalizer(obj, FOREGROUND))
            elif meta.ownerReferences and not meta.deletionTimestamp:
                return await self._check_owners(resource, ref, seen, meta.ownerReferences)
        except errors.NotFoundError:
            log.debug("garbage collector: %s is already gone, nothing to do", ref)
        return None

    # ------------------------------------------------------------------ an object with owners

    async def _check_owners(
        self, resource: Resource, ref: ObjectRef, seen: CachedObject, owners: Sequence[OwnerReference]
    ) -> float | None:
        """Delete an object unless one of its owners still exists.

        If a missing owner may still appear, return the seconds until the object has to be processed again.
        """
        states = [await self._owner_state(resource, ref, seen.namespace, owner) for owner in owners]
        if OwnerState.UNKNOWN in states:
            return None
        dangling = {owner.uid for owner, state in zip(owners, states, strict=True) if state is OwnerState.DANGLING}
        if not dangling <= self.builder.deleted_owners.keys() and (wait := self._seconds_to_wait(ref)) > 0:
            return wait
        if OwnerState.SOLID in states:
            lost = {owner.uid for owner, state in zip(owners, states, strict=True) if state is not OwnerState.SOLID}
            if lost:
                await self._change(resource, seen, lambda obj: _remove_owners(obj, lost))
            return None
        log.debug("garbage collector: deleting %s, its owners are %s", ref, ", ".join(state.value for state in states))
        await self._delete(resource, seen, in_foreground=OwnerState.WAITING_FOR_DEPENDENTS in states)
        return None

    async def _delete(self, resource: Resource, seen: CachedObject, *, in_foreground: bool) -> None:
        """Delete an object. `in_foreground` is true if an owner waits in its own foreground deletion."""
        meta, policy = metadata(seen), "Background"
        dependents = self.builder.graph.dependents(meta.uid)
        if in_foreground and dependents:
            if any(self._read_metadata(dependent).is_waiting_for(FOREGROUND) for dependent in dependents):
                # Unblock a cycle of foreground deletions, in which each object would wait for the other.
                await self._change(resource, seen, _unblock_owners)
                unblocked = resource.cache.get(seen.key)
                if unblocked is None or not is_same_object(unblocked, seen):
                    return
                seen = unblocked
            policy = "Foreground"
        finalizers = meta.finalizers or ()
        if ORPHAN in finalizers or FOREGROUND in finalizers:
            policy = "Orphan" if ORPHAN in finalizers else "Foreground"
        await self._client.delete(resource.storage_version(), seen, policy=policy, unchanged=True)

    def _seconds_to_wait(self, ref: ObjectRef) -> float:
        """Return for how long a missing owner of the object may still appear."""
        now = asyncio.get_running_loop().time()
        wait = self._absent_since.setdefault(ref, now) + self.absent_owner_delay - now
        if wait <= 0:
            del self._absent_since[ref]
        return wait

    async def _owner_state(
        self, dependent: Resource, ref: ObjectRef, namespace: str, owner: OwnerReference
    ) -> OwnerState:
        """Return the state of an owner. A valid owner is cluster-scoped or in the namespace of its dependent."""
        deleted = self.builder.deleted_owners.get(owner.uid)
        if (
            deleted is not None
            and deleted[:2] == (owner.group, owner.kind)
            and (dependent.namespaced or not deleted[2])
        ):
            return OwnerState.DANGLING
        resource = self._backend.registry.resource_of_kind(owner.group, owner.kind)
        if resource is None:
            self.builder.await_served(ref, (owner.group, owner.kind))
            return OwnerState.UNKNOWN
        if resource.namespaced and not dependent.namespaced:
            return OwnerState.UNKNOWN
        meta = metadata(await self._client.read(resource, resource.key(namespace, owner.name)))
        if not meta.uid or meta.uid != owner.uid:
            return OwnerState.DANGLING
        return OwnerState.WAITING_FOR_DEPENDENTS if meta.is_waiting_for(FOREGROUND) else OwnerState.SOLID

    # ------------------------------------------------------------------ an owner that is being deleted

    async def _orphan_dependents(self, resource: Resource, seen: CachedObject) -> None:
        """Remove the owner from the owner references of its dependents, then remove the owner's orphan finalizer."""
        uid = metadata(seen).uid
        dependents = self.builder.graph.dependents(uid)
        for start in range(0, len(dependents), _BATCH_SIZE):
            batch = dependents[start : start + _BATCH_SIZE]
            await asyncio.gather(*(self._remove_owner(dependent, uid) for dependent in batch))
        await self._change(resource, seen, lambda obj: _remove_finalizer(obj, ORPHAN))

    async def _remove_owner(self, ref: ObjectRef, owner: str) -> None:
        resource = self._backend.registry.resource(ref.group, ref.plural)
        dependent = resource.cache.get(ref.key) if resource is not None else None
        if resource is None or dependent is None:
            return
        try:
            await self._change(resource, dependent, lambda obj: _remove_owners(obj, {owner}))
        except errors.NotFoundError:
            log.debug("garbage collector: %s is already gone, nothing to do", ref)

    def _read_metadata(self, ref: ObjectRef) -> Metadata:
        resource = self._backend.registry.resource(ref.group, ref.plural)
        return metadata(resource.cache.get(ref.key) if resource else None)

    async def _change(self, resource: Resource, seen: CachedObject, edit: Edit) -> None:
        await self._client.change(resource.storage_version(), seen, edit)


def _remove_finalizer(obj: JsonObject, finalizer: str) -> None:
    _set_or_remove(obj, "finalizers", [f for f in obj["metadata"].get("finalizers") or [] if f != finalizer])


def _remove_owners(obj: JsonObject, uids: set[str]) -> None:
    owners = [owner for owner in obj["metadata"].get("ownerReferences") or [] if owner.get("uid") not in uids]
    _set_or_remove(obj, "ownerReferences", owners)


def _unblock_owners(obj: JsonObject) -> None:
    owners = [{**owner, "blockOwnerDeletion": False} for owner in obj["metadata"].get("ownerReferences") or []]
    _set_or_remove(obj, "ownerReferences", owners)


def _set_or_remove(obj: JsonObject, name: str, items: Sequence[object]) -> None:
    """Set a list in the metadata of an object. Remove it if it is empty."""
    obj["metadata"].pop(name, None)
    if items:
        obj["metadata"][name] = items
