"""The garbage collector: deletes the dependents of deleted owners, or removes their owner references.

Background deletion removes the owner first, then its dependents. Foreground deletion keeps the owner, with a
finalizer, until all dependents with blockOwnerDeletion are gone. Orphan deletion keeps the owner until no dependent
refers to it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from enum import Enum

from polykind import errors
from polykind.auth.user import service_account
from polykind.cache.cached_object import CachedObject
from polykind.cache.resource_cache import ObjectChange, ResourceCache
from polykind.codec import json_codec
from polykind.contract import JsonObject, Leadership, StoreError, StoreEvent
from polykind.controllers.object_metadata import (
    DELETION_TIMESTAMP,
    OWNER_REFERENCES,
    Metadata,
    OwnerReference,
    metadata,
)
from polykind.controllers.owner_graph import ObjectRef, OwnerGraph
from polykind.controllers.workqueue import WorkQueue
from polykind.operations.backend import Backend
from polykind.operations.operation import Operation
from polykind.operations.options import DeleteOptions, UpdateOptions
from polykind.resources.registry import DeclaredResource
from polykind.resources.resource import Resource
from polykind.verbs.delete import FOREGROUND, ORPHAN, delete_object
from polykind.verbs.update import change_object
from polykind.verbs.write import PATCH, Write

log = logging.getLogger("polykind.garbage")

_MANAGER = "garbage-collector"
_USER = service_account("generic-garbage-collector")
_BATCH_SIZE = 500
_MAX_DELETED_OWNERS = 1024
_RETRY = 0.5


class OwnerState(Enum):
    """The state of the object to which an owner reference refers. Log messages show the value."""

    SOLID = "present"
    WAITING_FOR_DEPENDENTS = "being deleted in the foreground"
    DANGLING = "absent"
    UNKNOWN = "of a kind that is not served, or namespaced while the dependent is not"


class GarbageCollector:
    """Watches every served resource and processes the objects whose owners or deletion state change."""

    absent_owner_delay = 15.0
    """Seconds until an owner that was never observed is treated as deleted. Its creation may be observed late."""

    def __init__(self, backend: Backend, leadership: Leadership, *, sole_writer: bool) -> None:
        """`sole_writer` is true if no other process writes to the store."""
        self._backend = backend
        self._leadership = leadership
        self._sole_writer = sole_writer
        self._graph = OwnerGraph()
        self._queue: WorkQueue[ObjectRef] = WorkQueue(self._process)
        self._monitors: dict[tuple[str, str], _ResourceMonitor] = {}
        self._pending: dict[_ResourceMonitor, None] = {}
        self._stored_resources: dict[str, set[str] | None] = {}
        """By group: the custom resources with objects when the group was read, or None if it has too many objects.

        If no other process writes to the store, a resource gets no objects before it is served for the first time.
        """
        self._declared: list[DeclaredResource] = []
        """The built-in resources that no request has used and that are still to be searched for objects with owners."""
        self._read_task: asyncio.Task[None] | None = None
        self._started = False
        """True if all resources have been read since this replica became the leader."""
        self._synced = asyncio.Event()
        """Set while the owner references of all objects are known. Otherwise an owner may have unknown dependents."""
        self._deleted_owners: dict[str, tuple[str, str, str, str]] = {}
        """The group, kind, namespace and name of deleted owners, by uid. Their resources may no longer be served."""
        self._absent_since: dict[ObjectRef, float] = {}
        """For each dependent whose owner was never observed: the time at which the owner was first looked up."""
        self._unserved_dependents: dict[tuple[str, str], set[ObjectRef]] = {}
        """The dependents of owners whose kind is not served, by group and kind, to process when it is served."""

    def start(self) -> None:
        self._leadership.subscribe(self._on_leadership)
        if self._leadership.leading:
            self._on_leadership(True)

    def _on_leadership(self, leading: bool) -> None:
        """If this replica is now the leader, read all resources and start to collect garbage. Otherwise stop."""
        self._stop()
        if leading:
            self._backend.registry.observers.append(self._monitor_resource)
            self._backend.registry.removal_observers.append(self._forget_resource)
            self._backend.cache.unused_observers.append(self._on_unused_resource)
            self._declared = list(self._backend.registry.declared())
            for resource in self._backend.registry.resources():
                self._monitor_resource(resource)
            self._queue.open()

    def _stop(self) -> None:
        if self._monitor_resource in self._backend.registry.observers:
            self._backend.registry.observers.remove(self._monitor_resource)
            self._backend.registry.removal_observers.remove(self._forget_resource)
            self._backend.cache.unused_observers.remove(self._on_unused_resource)
        for monitor in self._monitors.values():
            if monitor in monitor.cache.observers:
                monitor.cache.observers.remove(monitor)
        self._monitors, self._pending, self._graph = {}, {}, OwnerGraph()
        self._started, self._stored_resources = False, {}
        if self._read_task is not None:
            self._read_task.cancel()
        self._queue.pause()

    async def close(self) -> None:
        self._stop()
        if self._read_task is not None:
            await asyncio.gather(self._read_task, return_exceptions=True)
        await self._queue.close()

    # ------------------------------------------------------------------ building the owner graph

    def _monitor_resource(self, resource: Resource) -> None:
        """Watch a resource that has just become served or whose CRD has changed."""
        if resource.plural == "events" and resource.group in ("", "events.k8s.io"):
            # kube-apiserver's garbage collector ignores Events, which may be numerous and never have dependents.
            return
        previous = self._monitors.get((resource.group, resource.plural))
        if previous is None or previous.cache is not resource.cache:
            monitor = _ResourceMonitor(self, resource, first=previous is None and self._started)
            self._monitors[resource.group, resource.plural] = monitor
            resource.cache.observers.append(monitor)
            if not self._is_known_empty(monitor):
                self.read(monitor)
        for ref in self._unserved_dependents.pop((resource.group, resource.kind), ()):
            self._queue.add(ref)

    def _forget_resource(self, resource: Resource) -> None:
        """Stop to watch a resource that is no longer served. If it is served again, read its group again."""
        monitor = self._monitors.pop((resource.group, resource.plural), None)
        if monitor is not None:
            self._pending.pop(monitor, None)
            self.forget_stored(resource.group)

    def _is_known_empty(self, monitor: _ResourceMonitor) -> bool:
        """True if the store has no objects of a resource that is served for the first time."""
        stored = self._stored_resources.get(monitor.group)
        return monitor.first and stored is not None and monitor.plural not in stored

    async def _read_group(self, group: str) -> None:
        """Find the custom resources of a group that have objects, unless the group has many objects."""
        if group not in self._stored_resources:
            prefix = f"{self._backend.cache.prefix}{group}/"
            page = await self._backend.store.scan(prefix)
            names = {item.key[len(prefix) :].partition("/")[0] for item in page.items}
            self._stored_resources[group] = names if page.last else None

    def _on_unused_resource(self, event: StoreEvent) -> None:
        """Watch a built-in resource that only other replicas use, if `event` writes an object with owners."""
        if event.value is not None and (OWNER_REFERENCES in event.value or DELETION_TIMESTAMP in event.value):
            self._backend.registry.build_for_key(event.key)

    def forget_stored(self, group: str) -> None:
        """Read a group again before the next resource of it is served, because changes may have been missed."""
        self._stored_resources.pop(group, None)

    def read(self, monitor: _ResourceMonitor) -> None:
        """Read all objects of a resource in the background, even if they have been read before."""
        self._pending[monitor] = None
        self._synced.clear()
        if self._read_task is None or self._read_task.done() or self._read_task.cancelling():
            self._read_task = asyncio.get_running_loop().create_task(self._read_all())

    async def _read_all(self) -> None:
        while self._declared or self._pending:
            step: DeclaredResource | _ResourceMonitor = (
                self._declared[-1] if self._declared else next(iter(self._pending))
            )
            try:
                if isinstance(step, DeclaredResource):
                    await self._build_if_relevant(step)
                    self._declared.pop()
                else:
                    await self._read(step)
                    self._pending.pop(step, None)
            except StoreError as error:
                log.warning("garbage collector: cannot list %s, retrying in %.1f s: %s", step, _RETRY, error)
                await asyncio.sleep(_RETRY)
                continue
            # Let other tasks of the event loop run, because clients wait for these but not for this task.
            await asyncio.sleep(0)
        self._started = True
        self._synced.set()

    async def _build_if_relevant(self, declared: DeclaredResource) -> None:
        """Watch a built-in resource that no request has used yet, if objects of it have owners or are being deleted."""
        if declared.prefix and await self._backend.cache.has_owners_under(declared.prefix):
            self._backend.registry.resource(declared.group, declared.plural)

    async def _read(self, monitor: _ResourceMonitor) -> None:
        cache = monitor.cache
        if self._sole_writer and not cache.loaded:
            if monitor.first:
                await self._read_group(monitor.group)
            # Any later write loads the resource into the cache first, so that the monitor observes the write.
            if self._is_known_empty(monitor) or not await self._backend.cache.may_have_owners(cache):
                return
        await self._backend.cache.load(cache)
        for ref in self._graph.dependents_in(monitor.group, monitor.plural):
            if cache.get(ref.key) is None:
                self._graph.record(ref, ())
        for index, cached in enumerate(cache.snapshot(None)):
            if OWNER_REFERENCES in cached.raw or DELETION_TIMESTAMP in cached.raw:
                self.on_written(monitor.ref(cached), None, cached)
                self._queue.add(monitor.ref(cached))
            if index % _BATCH_SIZE == _BATCH_SIZE - 1:
                await asyncio.sleep(0)

    def on_change(self, monitor: _ResourceMonitor, change: ObjectChange) -> None:
        """Update the owner graph and the queue after a write or a deletion of one object."""
        old, new = change.old, change.new
        if new is None:
            if old is not None and self._graph:
                self._on_deleted(monitor, old)
        elif (
            OWNER_REFERENCES in new.raw
            or DELETION_TIMESTAMP in new.raw
            or (old is not None and OWNER_REFERENCES in old.raw)
        ):
            self.on_written(monitor.ref(new), old, new)

    def on_written(self, ref: ObjectRef, old: CachedObject | None, new: CachedObject) -> None:
        meta = metadata(new)
        owners = meta.ownerReferences or ()
        before = self._graph.record(ref, owners)
        if owners != before:
            if owners:
                self._queue.add(ref)
            self._enqueue_owners(ref, before)
        if meta.is_waiting_for(ORPHAN):
            self._queue.add(ref)
        if meta.is_waiting_for(FOREGROUND) and not metadata(old).is_waiting_for(FOREGROUND):
            self._queue.add(ref)
            for dependent in self._graph.dependents(meta.uid):
                self._queue.add(dependent)

    def _on_deleted(self, monitor: _ResourceMonitor, old: CachedObject) -> None:
        ref, before = monitor.ref(old), metadata(old)
        dependents = self._graph.dependents(before.uid)
        if dependents:
            self._deleted_owners[before.uid] = (monitor.group, monitor.kind, old.namespace, old.name)
            while len(self._deleted_owners) > _MAX_DELETED_OWNERS:
                del self._deleted_owners[next(iter(self._deleted_owners))]
        for dependent in dependents:
            self._queue.add(dependent)
        self._enqueue_owners(ref, self._graph.record(ref, ()))

    def _enqueue_owners(self, ref: ObjectRef, owners: tuple[OwnerReference, ...]) -> None:
        """Enqueue the owners of a deleted dependent, because their deletion may have waited for it."""
        namespace = ref.key.rpartition("/")[0]
        for owner in owners:
            resource = self._backend.registry.resource_of_kind(owner.group, owner.kind)
            if resource is not None:
                self._queue.add(ObjectRef(resource.group, resource.plural, resource.key(namespace, owner.name)))
            else:
                self._forget_unserved(ref, (owner.group, owner.kind))

    def _forget_unserved(self, ref: ObjectRef, kind: tuple[str, str]) -> None:
        refs = self._unserved_dependents.get(kind, set())
        refs.discard(ref)
        if not refs:
            self._unserved_dependents.pop(kind, None)

    # ------------------------------------------------------------------ processing one object

    async def _process(self, ref: ObjectRef) -> None:
        await self._synced.wait()
        resource = self._backend.registry.resource(ref.group, ref.plural)
        if resource is None:
            self._graph.record(ref, ())
            self._absent_since.pop(ref, None)
            return
        await self._backend.cache.wait_until_fresh(resource.cache)
        cached = resource.cache.get(ref.key)
        if cached is None:
            self._graph.record(ref, ())
            self._absent_since.pop(ref, None)
            return
        meta = metadata(cached)
        try:
            if meta.is_waiting_for(ORPHAN):
                await self._attempt_to_orphan(ref, meta)
            elif meta.is_waiting_for(FOREGROUND):
                if not self._graph.is_blocked(meta.uid, ref):
                    await self._change(ref, meta.uid, lambda m: _without_finalizer(m, FOREGROUND))
            elif meta.ownerReferences and not meta.deletionTimestamp:
                await self._attempt_to_delete(resource, ref, cached, meta)
        except errors.NotFoundError:
            log.debug("garbage collector: %s is already gone, nothing to do", ref)

    async def _attempt_to_delete(
        self, resource: Resource, ref: ObjectRef, cached: CachedObject, meta: Metadata
    ) -> None:
        """Delete an object unless one of its owners still exists."""
        owners = meta.ownerReferences or ()
        states = [await self._owner_state(resource, ref, cached.namespace, owner) for owner in owners]
        if OwnerState.UNKNOWN in states:
            return
        lost_uids = {o.uid for o, state in zip(owners, states, strict=True) if state is OwnerState.DANGLING}
        if not lost_uids <= self._deleted_owners.keys() and self._awaits_owner(ref):
            return
        if OwnerState.SOLID in states:
            lost_uids = {o.uid for o, state in zip(owners, states, strict=True) if state is not OwnerState.SOLID}
            if lost_uids:
                await self._change(ref, meta.uid, lambda m: _without_owners(m, lost_uids))
            return
        policy = "Background"
        dependents = self._graph.dependents(meta.uid)
        if OwnerState.WAITING_FOR_DEPENDENTS in states and dependents:
            if any(self._read_metadata(dependent).is_waiting_for(FOREGROUND) for dependent in dependents):
                # Unblock a cycle of foreground deletions, in which each object would wait for the other.
                await self._change(ref, meta.uid, _unblocked)
                cached = resource.cache.get(ref.key) or cached
            policy = "Foreground"
        finalizers = meta.finalizers or ()
        if ORPHAN in finalizers or FOREGROUND in finalizers:
            policy = "Orphan" if ORPHAN in finalizers else "Foreground"
        log.debug("garbage collector: deleting %s, its owners are %s", ref, ", ".join(state.value for state in states))
        revision = str(cached.revision)
        await delete_object(
            self._operation(ref), DeleteOptions(propagation_policy=policy, uid=meta.uid, resource_version=revision)
        )

    def _awaits_owner(self, ref: ObjectRef) -> bool:
        """True if a missing owner of the object may still appear. Then process the object again later."""
        now = asyncio.get_running_loop().time()
        wait = self._absent_since.setdefault(ref, now) + self.absent_owner_delay - now
        if wait > 0:
            self._queue.add_after(ref, wait)
            return True
        del self._absent_since[ref]
        return False

    async def _owner_state(
        self, dependent: Resource, ref: ObjectRef, namespace: str, owner: OwnerReference
    ) -> OwnerState:
        """Return the state of an owner. A valid owner is cluster-scoped or in the namespace of its dependent."""
        deleted = self._deleted_owners.get(owner.uid)
        if (
            deleted is not None
            and deleted[:2] == (owner.group, owner.kind)
            and (dependent.namespaced or not deleted[2])
        ):
            return OwnerState.DANGLING
        resource = self._backend.registry.resource_of_kind(owner.group, owner.kind)
        if resource is None:
            self._unserved_dependents.setdefault((owner.group, owner.kind), set()).add(ref)
            return OwnerState.UNKNOWN
        if resource.namespaced and not dependent.namespaced:
            return OwnerState.UNKNOWN
        await self._backend.cache.wait_until_fresh(resource.cache)
        meta = metadata(resource.cache.get(resource.key(namespace, owner.name)))
        if not meta.uid or meta.uid != owner.uid:
            return OwnerState.DANGLING
        return OwnerState.WAITING_FOR_DEPENDENTS if meta.is_waiting_for(FOREGROUND) else OwnerState.SOLID

    async def _attempt_to_orphan(self, ref: ObjectRef, meta: Metadata) -> None:
        """Remove the owner from the owner references of its dependents, then remove the owner's orphan finalizer."""
        dependents = self._graph.dependents(meta.uid)
        for start in range(0, len(dependents), _BATCH_SIZE):
            batch = dependents[start : start + _BATCH_SIZE]
            await asyncio.gather(*(self._remove_owner(dependent, meta.uid) for dependent in batch))
        await self._change(ref, meta.uid, lambda m: _without_finalizer(m, ORPHAN))

    async def _remove_owner(self, dependent: ObjectRef, owner: str) -> None:
        uid = self._read_metadata(dependent).uid
        if uid:
            try:
                await self._change(dependent, uid, lambda m: _without_owners(m, {owner}))
            except errors.NotFoundError:
                log.debug("garbage collector: %s is already gone, nothing to do", dependent)

    def _read_metadata(self, ref: ObjectRef) -> Metadata:
        resource = self._backend.registry.resource(ref.group, ref.plural)
        return metadata(resource.cache.get(ref.key) if resource else None)

    async def _change(self, ref: ObjectRef, uid: str, edit: Callable[[JsonObject], None]) -> None:
        """Edit an object's metadata. Raise NotFoundError if the object's uid is no longer `uid`."""
        op = self._operation(ref)

        async def edited(old: JsonObject, _: Write) -> JsonObject:
            if old["metadata"].get("uid") != uid:
                raise op.resource.not_found(op.name)
            new: JsonObject = json_codec.decode(json_codec.encode(old))
            edit(new["metadata"])
            return new

        await change_object(op, edited, UpdateOptions(field_manager=_MANAGER), PATCH)

    def _operation(self, ref: ObjectRef) -> Operation:
        resource = self._backend.registry.resource(ref.group, ref.plural)
        if resource is None:
            raise errors.NotFoundError(ref.plural, ref.group, ref.key)
        namespace, _, name = ref.key.rpartition("/")
        return Operation.by_server(
            self._backend,
            "patch",
            resource.storage_version(),
            name,
            namespace=namespace if resource.namespaced else None,
            user=_USER,
        )


class _ResourceMonitor:
    """A cache observer that reports the changes of one resource to the garbage collector."""

    def __init__(self, collector: GarbageCollector, resource: Resource, *, first: bool) -> None:
        self._collector = collector
        self.first = first and not resource.is_builtin
        """True if a custom resource is served for the first time and no changes of it may have been missed."""
        self.cache: ResourceCache = resource.cache
        self.group, self.plural, self.kind = resource.group, resource.plural, resource.kind

    def __str__(self) -> str:
        return errors.qualified_resource(self.plural, self.group)

    def ref(self, cached: CachedObject) -> ObjectRef:
        return ObjectRef(self.group, self.plural, cached.key)

    def on_changes(self, changes: list[ObjectChange]) -> None:
        for change in changes:
            self._collector.on_change(self, change)

    def on_reset(self) -> None:
        self.first = False
        self._collector.forget_stored(self.group)
        self._collector.read(self)


def _without_finalizer(meta: JsonObject, finalizer: str) -> None:
    meta["finalizers"] = [f for f in meta.get("finalizers") or [] if f != finalizer]
    if not meta["finalizers"]:
        del meta["finalizers"]


def _without_owners(meta: JsonObject, uids: set[str]) -> None:
    meta["ownerReferences"] = [o for o in meta.get("ownerReferences") or [] if o.get("uid") not in uids]
    if not meta["ownerReferences"]:
        del meta["ownerReferences"]


def _unblocked(meta: JsonObject) -> None:
    for owner in meta.get("ownerReferences") or []:
        owner["blockOwnerDeletion"] = False
