"""The builder of the owner graph: watches every served resource for owner references, deletions and finalizers."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from polykind import errors
from polykind.cache.cached_object import CachedObject
from polykind.cache.resource_cache import ObjectChange, ResourceCache
from polykind.contract import StoreError, StoreEvent
from polykind.controllers.object_metadata import DELETION_TIMESTAMP, OWNER_REFERENCES, OwnerReference, metadata
from polykind.controllers.owner_graph import ObjectRef, OwnerGraph
from polykind.operations.backend import Backend
from polykind.resources.registry import DeclaredResource
from polykind.resources.resource import FOREGROUND, ORPHAN, Resource

log = logging.getLogger("polykind.garbage")

_BATCH_SIZE = 500
_MAX_DELETED_OWNERS = 1024
_RETRY = 0.5


class GraphBuilder:
    """Keeps the owner graph up to date, and enqueues the objects whose owners or deletion state change."""

    def __init__(self, backend: Backend, enqueue: Callable[[ObjectRef], None], *, sole_writer: bool) -> None:
        """`sole_writer` is true if no other process writes to the store."""
        self._backend = backend
        self._enqueue = enqueue
        self._sole_writer = sole_writer
        self.graph = OwnerGraph()
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
        self.synced = asyncio.Event()
        """Set while the owner references of all objects are known. Otherwise an owner may have unknown dependents."""
        self.deleted_owners: dict[str, tuple[str, str, str, str]] = {}
        """The group, kind, namespace and name of deleted owners, by uid. Their resources may no longer be served."""
        self._unserved_dependents: dict[tuple[str, str], set[ObjectRef]] = {}
        """The dependents of owners whose kind is not served, by group and kind, to process when it is served."""

    def start(self) -> None:
        """Read all resources and watch them."""
        self._backend.registry.observers.append(self._monitor_resource)
        self._backend.registry.removal_observers.append(self._forget_resource)
        self._backend.cache.unused_observers.append(self._on_unused_resource)
        self._declared = list(self._backend.registry.declared())
        for resource in self._backend.registry.resources():
            self._monitor_resource(resource)

    def stop(self) -> None:
        if self._monitor_resource in self._backend.registry.observers:
            self._backend.registry.observers.remove(self._monitor_resource)
            self._backend.registry.removal_observers.remove(self._forget_resource)
            self._backend.cache.unused_observers.remove(self._on_unused_resource)
        for monitor in self._monitors.values():
            if monitor in monitor.cache.observers:
                monitor.cache.observers.remove(monitor)
        self._monitors, self._pending, self.graph = {}, {}, OwnerGraph()
        self._started, self._stored_resources = False, {}
        if self._read_task is not None:
            self._read_task.cancel()

    async def close(self) -> None:
        if self._read_task is not None:
            await asyncio.gather(self._read_task, return_exceptions=True)

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
            self._enqueue(ref)

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
        self.synced.clear()
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
        self.synced.set()

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
        for ref in self.graph.dependents_in(monitor.group, monitor.plural):
            if cache.get(ref.key) is None:
                self.graph.record(ref, ())
        for index, cached in enumerate(cache.snapshot(None)):
            if OWNER_REFERENCES in cached.raw or DELETION_TIMESTAMP in cached.raw:
                self.on_written(monitor.ref(cached), None, cached)
                self._enqueue(monitor.ref(cached))
            if index % _BATCH_SIZE == _BATCH_SIZE - 1:
                await asyncio.sleep(0)

    def on_change(self, monitor: _ResourceMonitor, change: ObjectChange) -> None:
        """Update the owner graph and the queue after a write or a deletion of one object."""
        old, new = change.old, change.new
        if new is None:
            if old is not None and self.graph:
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
        before = self.graph.record(ref, owners)
        if owners != before:
            if owners:
                self._enqueue(ref)
            self._enqueue_owners(ref, before)
        if meta.is_waiting_for(ORPHAN):
            self._enqueue(ref)
        if meta.is_waiting_for(FOREGROUND) and not metadata(old).is_waiting_for(FOREGROUND):
            self._enqueue(ref)
            for dependent in self.graph.dependents(meta.uid):
                self._enqueue(dependent)

    def _on_deleted(self, monitor: _ResourceMonitor, old: CachedObject) -> None:
        ref, before = monitor.ref(old), metadata(old)
        dependents = self.graph.dependents(before.uid)
        if dependents:
            self.deleted_owners[before.uid] = (monitor.group, monitor.kind, old.namespace, old.name)
            while len(self.deleted_owners) > _MAX_DELETED_OWNERS:
                del self.deleted_owners[next(iter(self.deleted_owners))]
        for dependent in dependents:
            self._enqueue(dependent)
        self._enqueue_owners(ref, self.graph.record(ref, ()))

    def await_served(self, ref: ObjectRef, kind: tuple[str, str]) -> None:
        """Enqueue a dependent when the kind of its owner is served."""
        self._unserved_dependents.setdefault(kind, set()).add(ref)

    def _enqueue_owners(self, ref: ObjectRef, owners: tuple[OwnerReference, ...]) -> None:
        """Enqueue the owners of a deleted dependent, because their deletion may have waited for it."""
        namespace = ref.key.rpartition("/")[0]
        for owner in owners:
            resource = self._backend.registry.resource_of_kind(owner.group, owner.kind)
            if resource is not None:
                self._enqueue(ObjectRef(resource.group, resource.plural, resource.key(namespace, owner.name)))
            else:
                self._forget_unserved(ref, (owner.group, owner.kind))

    def _forget_unserved(self, ref: ObjectRef, kind: tuple[str, str]) -> None:
        refs = self._unserved_dependents.get(kind, set())
        refs.discard(ref)
        if not refs:
            self._unserved_dependents.pop(kind, None)


class _ResourceMonitor:
    """A cache observer that reports the changes of one resource to the graph builder."""

    def __init__(self, builder: GraphBuilder, resource: Resource, *, first: bool) -> None:
        self._builder = builder
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
            self._builder.on_change(self, change)

    def on_reset(self) -> None:
        self.first = False
        self._builder.forget_stored(self.group)
        self._builder.read(self)
