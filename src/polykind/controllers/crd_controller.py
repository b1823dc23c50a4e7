"""The CRD controller: serves the resources that stored CRDs declare, and updates the CRDs' names and conditions."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from functools import partial

from polykind import errors
from polykind.cache.cached_object import CachedObject
from polykind.cache.resource_cache import ObjectChange
from polykind.contract import JsonObject, Leadership, StoreError
from polykind.controllers.crd_converters import BuildConverter, CRDConverters
from polykind.controllers.crd_fallbacks import CRDFallbacks
from polykind.controllers.crd_finalizer import CRDFinalizer
from polykind.controllers.crd_status import CRDStatusWriter, FirstStatus
from polykind.controllers.webhook_addresses import WebhookAddresses
from polykind.conversion.converter_health import TYPE as CONVERSION_HEALTHY
from polykind.crd import conditions
from polykind.crd.conditions import ESTABLISHED, NAMES_ACCEPTED
from polykind.crd.naming import AcceptedNames
from polykind.crd.status import nonstructural_condition, reconcile
from polykind.crd.summary import CRDSummary, load_full
from polykind.discovery.resource_entries import CrdEntries, GroupVersionEntry, from_crd
from polykind.discovery.snapshot import Discovery
from polykind.operations.backend import Backend
from polykind.resources.conversion_cache import ConversionCaches
from polykind.resources.custom import CustomResource
from polykind.resources.schema_digests import schema_digests
from polykind.strategies.apiextensions.strategy import CRDResource, replace_encoded_status, summarize_stored_crd

log = logging.getLogger("polykind.crds")

_RETRY_DELAY = 1.0
_AUDIT_INTERVAL = 0.02
_LEADER_TIMEOUT = 2.0
"""Seconds that a CRD write waits until the leader has updated the status. Then the server responds anyway."""


class CRDController:
    """Watches CRDs and serves their resources. On the leader, also updates the status of CRDs."""

    def __init__(
        self,
        backend: Backend,
        resource: CRDResource,
        builtins: tuple[GroupVersionEntry, ...],
        build_converter: BuildConverter,
        conversion_caches: ConversionCaches,
        conversion_fallback: bool,
        now: Callable[[], str],
        leadership: Leadership,
    ) -> None:
        self._backend = backend
        self._resource = resource
        self._addresses = WebhookAddresses(backend, lambda services: self.converters.moved(services))
        self.converters = CRDConverters(build_converter, backend.clock, self._write_health, self._addresses.start)
        self._conversion_caches = conversion_caches
        self._fallbacks = CRDFallbacks(backend, self._write_condition) if conversion_fallback else None
        self._now = now
        self._leadership = leadership
        self._crds_changed = asyncio.Event()
        self._builtins = builtins
        self._crds: dict[str, CRDSummary] = {}
        self._names_in_use = AcceptedNames()
        self._waiting: dict[str, str] = {}
        """The groups of the CRDs that wait for a name, by the name of the CRD."""
        self._discovery_entries: dict[str, CrdEntries] = {}
        self._discovery = Discovery((), builtins)
        self._discovery_stale = False
        self._statuses = CRDStatusWriter(backend, resource, now)
        self._finalizer = CRDFinalizer(backend, resource, self._crds, self._statuses, now)
        self._reconciling: dict[str, asyncio.Task[None]] = {}
        self._structural_conditions: dict[str, tuple[bytes, JsonObject | None]] = {}
        """By CRD name: the hash of the spec that was checked last, and its NonStructuralSchema condition."""
        self._audit_task: asyncio.Task[None] | None = None
        self._relist_task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        await self._backend.cache.load(self._resource.cache)
        entries = self._resource.cache.snapshot(None)
        for index, cached in enumerate(entries):
            self._update(cached)
            if index % 50 == 49:
                await asyncio.sleep(0)
        self._resource.cache.observers.append(self)
        self._leadership.subscribe(self._on_leadership)
        self._on_leadership(self._leadership.leading)

    async def close(self) -> None:
        tasks = [*self._reconciling.values()]
        tasks += [task for task in (self._audit_task, self._relist_task) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._finalizer.close()
        if self._fallbacks is not None:
            self._fallbacks.close_all()
        await self._conversion_caches.close()
        await self._addresses.close()
        await self.converters.close()

    def _on_leadership(self, leading: bool) -> None:
        """If this replica is now the leader, reconcile all CRDs. Otherwise stop reconciling."""
        self._finalizer.pause()
        if self._audit_task is not None:
            self._audit_task.cancel()
        if leading:
            for name, crd in self._crds.items():
                if not _is_settled(crd):
                    self._enqueue(name)
            self._audit_task = asyncio.get_running_loop().create_task(self._audit(list(self._crds)))

    async def _audit(self, names: list[str]) -> None:
        """Reconcile these CRDs slowly, because the previous leader may have stopped before it updated their status."""
        for name in names:
            await asyncio.sleep(_AUDIT_INTERVAL)
            if name in self._crds and name not in self._structural_conditions:
                await self._reconcile_shared(name)

    def discovery(self) -> Discovery:
        """Return the current discovery documents."""
        if self._discovery_stale:
            self._discovery = Discovery(self._discovery_entries.values(), self._builtins, previous=self._discovery)
            self._discovery_stale = False
        return self._discovery

    # ------------------------------------------------------------------ serving what the CRDs declare

    def on_changes(self, changes: list[ObjectChange]) -> None:
        latest = {change.new.name: change.new for change in changes if change.new is not None}
        for change in changes:
            if change.new is None:
                self._remove(change.cached.name)
            elif latest[change.new.name] is change.new:
                self._update(change.new)
                if not self._is_reconciled(change.new.name):
                    self._enqueue(change.new.name)
        self._crds_changed.set()

    def on_reset(self) -> None:
        """List again because changes may have been missed."""
        self._relist_task = asyncio.get_running_loop().create_task(self._relist())

    async def _relist(self) -> None:
        cache = self._resource.cache
        await self._backend.cache.reload(cache, _RETRY_DELAY)
        present = set()
        for cached in cache.snapshot(None):
            present.add(cached.name)
            self._update(cached)
        for name in [n for n in self._crds if n not in present]:
            self._remove(name)

    def _update(self, cached: CachedObject) -> None:
        """Serve the API of a stored CRD. If that fails, skip the CRD, so that others are not affected."""
        try:
            self._serve_or_skip(cached)
        except errors.APIError as error:
            log.error("CRD controller: cannot decode stored CRD %s, not serving it: %s", cached.name, error.message)
        except Exception:
            log.exception("CRD controller: cannot serve stored CRD %s, skipping it", cached.name)
            self._remove(cached.name)

    def _serve_or_skip(self, cached: CachedObject) -> None:
        crd = summarize_stored_crd(cached)
        previous = self._crds.get(cached.name)
        self._crds[cached.name] = crd
        if previous is not None:
            self._names_in_use.remove(previous)
        self._names_in_use.add(crd)
        if not conditions.is_true(crd, NAMES_ACCEPTED):
            self._waiting[cached.name] = crd["spec"]["group"]
        else:
            self._waiting.pop(cached.name, None)
        if previous is not None and previous["status"]["acceptedNames"] != crd["status"]["acceptedNames"]:
            # Enqueue this CRD before others that wait for a name, so that it can get back a name that it has lost.
            self._enqueue(cached.name)
            self._reconcile_waiting(crd["spec"]["group"])
        entries = from_crd(crd).reuse(self._discovery_entries.get(cached.name))
        self._discovery_entries[cached.name] = entries.prepare()
        self._discovery_stale = True
        served = conditions.is_true(crd, NAMES_ACCEPTED) or conditions.is_true(crd, ESTABLISHED)
        if self._backend.registry.has_builtin(crd["spec"]["group"], crd["spec"]["names"]["plural"]):
            if previous is None:
                log.warning(
                    "CRD controller: not serving %s, because it has the name of a built-in resource", cached.name
                )
            return
        if not served:
            self._unregister(crd)
            return
        resource = self._backend.registry.resource(crd["spec"]["group"], crd["spec"]["names"]["plural"])
        if isinstance(resource, CustomResource) and previous is not None and _serves_same_api(previous, crd):
            if previous["metadata"].get("annotations") != crd["metadata"].get("annotations"):
                resource.drop_conversions()
            resource.update_status(crd)
            self.converters.update_status(crd)
            return
        self._register(crd, resource if isinstance(resource, CustomResource) else None, cached.revision)

    def _register(self, crd: JsonObject, previous: CustomResource | None, revision: int) -> None:
        cache = self._backend.cache.resource(crd["spec"]["group"], crd["spec"]["names"]["plural"])
        if previous is not None and previous.crd["metadata"].get("uid") != crd["metadata"].get("uid"):
            self._unregister(previous.crd)
            cache = self._backend.cache.resource(crd["spec"]["group"], crd["spec"]["names"]["plural"])
        cache.change_schema(partial(schema_digests, crd))
        converter = self.converters.replace(crd)
        fallback = self._fallbacks.replace(crd) if self._fallbacks is not None else None
        resource = CustomResource(crd, cache, converter, self._conversion_caches, revision, fallback)
        self._backend.registry.put(resource)
        if previous is not None:
            previous.end_watches()

    def _remove(self, name: str) -> None:
        crd = self._crds.pop(name, None)
        self._waiting.pop(name, None)
        self._structural_conditions.pop(name, None)
        self._discovery_entries.pop(name, None)
        self._discovery_stale = True
        if crd is not None:
            self._names_in_use.remove(crd)
            self._unregister(crd)
            self.converters.forget(name)
            if self._fallbacks is not None:
                self._fallbacks.forget(name)
            self._backend.metrics.forget_crd(name)
            self._backend.metrics.forget_resource(crd["spec"]["group"], crd["spec"]["names"]["plural"])
            self._reconcile_waiting(crd["spec"]["group"])

    def _reconcile_waiting(self, group: str) -> None:
        """Reconcile all CRDs of a group that wait for a name, because a name may be free now."""
        for name, waiting_group in reversed(self._waiting.items()):
            if waiting_group == group:
                self._enqueue(name)

    def _unregister(self, crd: JsonObject) -> None:
        group, plural = crd["spec"]["group"], crd["spec"]["names"]["plural"]
        resource = self._backend.registry.resource(group, plural)
        if isinstance(resource, CustomResource) and resource.crd["metadata"]["name"] == crd["metadata"]["name"]:
            self._backend.registry.remove(group, plural)
            resource.end_watches()
            self._backend.cache.remove(resource.cache)
            self.converters.remove(crd["metadata"]["name"])
            if self._fallbacks is not None:
                self._fallbacks.close(crd["metadata"]["name"])

    # ------------------------------------------------------------------ reconciling the status of CRDs

    def _enqueue(self, name: str) -> None:
        """Reconcile a CRD in the background if this replica is the leader."""
        if self._leadership.leading:
            self._reconcile_shared(name)

    def _reconcile_shared(self, name: str) -> asyncio.Task[None]:
        """Start to reconcile a CRD and return the task. Callers share the task until it is done."""
        task = self._reconciling.get(name)
        if task is None:
            task = self._reconciling[name] = asyncio.get_running_loop().create_task(self._try_reconcile(name))
            task.add_done_callback(lambda _: self._reconciling.pop(name, None))
        return task

    async def reconcile_now(self, name: str) -> None:
        """Update a CRD's status before the server responds to the CRD's write, so that clients can use it at once."""
        if self._leadership.leading:
            if name in self._reconciling or not self._is_reconciled(name):
                await asyncio.shield(self._reconcile_shared(name))
        else:
            await self._wait_for_leader(name)

    async def _wait_for_leader(self, name: str) -> None:
        try:
            async with asyncio.timeout(_LEADER_TIMEOUT):
                while self._pending_status(name) is not None:
                    self._crds_changed.clear()
                    await self._crds_changed.wait()
        except TimeoutError:
            log.info("CRD controller: no leader, the status of %s will be updated later", name)

    async def _try_reconcile(self, name: str) -> None:
        try:
            await self._reconcile(name)
        except StoreError as error:
            log.warning("CRD controller: cannot write status of %s, retrying in %.0f s: %s", name, _RETRY_DELAY, error)
            asyncio.get_running_loop().call_later(_RETRY_DELAY, self._enqueue, name)
        except errors.APIError as error:
            # The schemas of a stored CRD are decoded here for the first time, so errors in them appear only now.
            log.error("CRD controller: cannot decode stored CRD %s, not serving it: %s", name, error.message)
            if name in self._crds:
                self._unregister(self._crds[name])

    async def _reconcile(self, name: str) -> None:
        while (pending := self._pending_status(name)) is not None:
            _, crd, status = pending
            # Reserve the accepted names until the watch cache contains the new status.
            reserved: JsonObject = {"spec": crd["spec"], "status": status}
            self._names_in_use.add(reserved)
            written = False
            try:
                written = await self._statuses.write(name, *pending)
            finally:
                self._names_in_use.remove(reserved)
                if not written:
                    self._reconcile_waiting(crd["spec"]["group"])
            if written and self._resource.cache.get(name) is pending[0]:
                # The watch event of this write triggers the next reconciliation, which may find further name conflicts.
                break
        current = self._crds.get(name)
        if current is not None and current["metadata"].get("deletionTimestamp"):
            self._finalizer.start(name)

    def _is_reconciled(self, name: str) -> bool:
        """True if the status of a CRD is up to date. Return False if its schemas would have to be decoded first."""
        crd = self._crds.get(name)
        if crd is None:
            return True
        meta, checked = crd["metadata"], self._structural_conditions.get(name)
        known = checked is not None and checked[0] == crd.spec_digest
        known = known or (meta.get("generation") == 1 and self._resource.is_structural(meta.get("uid", "")))
        return known and not meta.get("deletionTimestamp") and self._pending_status(name) is None

    async def first_status(self, crd: JsonObject, value: bytes) -> FirstStatus | None:
        """Return the status of a new CRD, to be written together with the CRD. Only the leader writes statuses."""
        if not self._leadership.leading or not self._resource.is_structural(crd["metadata"]["uid"]):
            return None
        status = reconcile(crd, self._names_in_use, self._now(), non_structural=None)
        encoded = replace_encoded_status(value, await self._statuses.track_first(crd, status), status)
        reserved: JsonObject = {"spec": crd["spec"], "status": status}
        return FirstStatus(self._backend.store, self._names_in_use, reserved, encoded, self._reconcile_waiting)

    def _pending_status(self, name: str) -> tuple[CachedObject, JsonObject, JsonObject] | None:
        """Return a CRD and its new status, or None if its status is up to date."""
        cached, crd = self._resource.cache.get(name), self._crds.get(name)
        if cached is None or crd is None:
            return None
        status = reconcile(
            crd, self._names_in_use, self._now(), non_structural=self._nonstructural_condition(name, crd)
        )
        return None if status == crd["status"] else (cached, crd, status)

    def _nonstructural_condition(self, name: str, crd: CRDSummary) -> JsonObject | None:
        """Return the NonStructuralSchema condition of a CRD, or None if its schemas are structural."""
        checked = self._structural_conditions.get(name)
        if checked is None or checked[0] != crd.spec_digest:
            meta = crd["metadata"]
            structural = meta.get("generation") == 1 and self._resource.pop_structural(meta.get("uid", ""))
            condition = None if structural else nonstructural_condition(load_full(crd))
            checked = self._structural_conditions[name] = (crd.spec_digest, condition)
        return checked[1]

    async def _write_health(self, name: str, condition: JsonObject | None) -> None:
        if condition is not None:
            await self._write_condition(name, condition)
            return
        cached, crd = self._resource.cache.get(name), self._crds.get(name)
        if cached is not None and crd is not None:
            status = conditions.remove_condition(crd["status"], CONVERSION_HEALTHY)
            await self._statuses.write_untracked(name, cached, crd["metadata"], status)

    async def _write_condition(self, name: str, condition: JsonObject) -> bool:
        """Write a condition into a CRD's status. Return False if the CRD has changed meanwhile."""
        cached, crd = self._resource.cache.get(name), self._crds.get(name)
        if cached is None or crd is None:
            return True
        status = conditions.set_condition(crd["status"], condition, self._now())
        return await self._statuses.write_untracked(name, cached, crd["metadata"], status)


def _serves_same_api(previous: CRDSummary, after: CRDSummary) -> bool:
    """True if a change of a CRD leaves its names and its spec unchanged, so that its API stays the same."""
    return bool(
        previous["metadata"].get("uid") == after["metadata"].get("uid")
        and previous["status"].get("acceptedNames") == after["status"].get("acceptedNames")
        and (previous.spec_digest == after.spec_digest or load_full(previous)["spec"] == load_full(after)["spec"])
    )


def _is_settled(crd: JsonObject) -> bool:
    """True if a CRD is established with all names that its spec requests, and is not being deleted."""
    named = crd["status"]["acceptedNames"] == crd["spec"]["names"]
    return named and conditions.is_true(crd, ESTABLISHED) and not crd["metadata"].get("deletionTimestamp")
