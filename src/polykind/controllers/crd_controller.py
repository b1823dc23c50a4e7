"""The CRD controller: updates the names and conditions of CRDs, and serves the resources that they declare."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable

from polykind import errors
from polykind.cache.resource_cache import ObjectChange
from polykind.contract import JsonObject, Leadership
from polykind.controllers.controller_runtime import Controller
from polykind.controllers.crd_converters import BuildConverter, CRDConverters
from polykind.controllers.crd_fallbacks import CRDFallbacks
from polykind.controllers.crd_finalizer import CRDFinalizer
from polykind.controllers.crd_registrar import CRDRegistrar
from polykind.controllers.crd_status import CRDStatusWriter, FirstStatus, SeenCRD
from polykind.controllers.informer import Informer
from polykind.controllers.object_client import ObjectClient
from polykind.controllers.webhook_addresses import WebhookAddresses
from polykind.conversion.converter_health import TYPE as CONVERSION_HEALTHY
from polykind.crd import conditions
from polykind.crd.conditions import ESTABLISHED
from polykind.crd.status import nonstructural_condition, reconcile
from polykind.crd.summary import CRDSummary, load_full
from polykind.discovery.resource_entries import GroupVersionEntry
from polykind.operations.backend import Backend
from polykind.resources.conversion_cache import ConversionCaches
from polykind.strategies.apiextensions.strategy import CRDResource, replace_encoded_status

log = logging.getLogger("polykind.crds")

_AUDIT_INTERVAL = 0.02
_LEADER_TIMEOUT = 2.0
"""Seconds that a CRD write waits until the leader has updated the status. Then the server responds anyway."""
_WORKERS = 64
"""The number of CRDs whose status is written at the same time. The writes share the store's commits."""


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
        self._resource = resource
        self._addresses = WebhookAddresses(backend, lambda services: self.converters.moved(services))
        self.converters = CRDConverters(build_converter, backend.clock, self._write_health, self._addresses.start)
        self._conversion_caches = conversion_caches
        self._fallbacks = CRDFallbacks(backend, self._write_outage) if conversion_fallback else None
        self._now = now
        self._crds_changed = asyncio.Event()
        self._client = ObjectClient(backend)
        self._controller: Controller[str] = Controller(
            leadership, self._reconcile, keys=self._unsettled, begin=self._begin, workers=_WORKERS
        )
        self._controller.inform(Informer(backend.cache, resource.cache, self._on_list, self._on_changes))
        self._registrar = CRDRegistrar(
            backend, builtins, self.converters, conversion_caches, self._fallbacks, self._controller.add
        )
        self._crds = self._registrar.crds
        self._names_in_use = self._registrar.names_in_use
        self.discovery = self._registrar.discovery
        self.rebuild_converters = self._registrar.rebuild_converters
        self._statuses = CRDStatusWriter(self._client, resource, now)
        self.finalizer = CRDFinalizer(backend, resource, self._find, self._statuses, leadership, now)
        self._structural_conditions: dict[str, tuple[bytes, JsonObject | None]] = {}
        """By CRD name: the hash of the spec that was checked last, and its NonStructuralSchema condition."""

    async def start(self) -> None:
        await self.finalizer.start()
        await self._controller.start()

    async def close(self) -> None:
        await self._controller.close()
        await self.finalizer.close()
        if self._fallbacks is not None:
            self._fallbacks.close_all()
        await self._conversion_caches.close()
        await self._addresses.close()
        await self.converters.close()

    def _begin(self) -> None:
        """Reconcile all CRDs slowly, because the previous leader may have stopped before it updated their status."""
        for number, name in enumerate(self._crds, 1):
            self._controller.add_after(name, number * _AUDIT_INTERVAL)

    def _unsettled(self) -> Iterable[str]:
        return [name for name, crd in self._crds.items() if not _is_settled(crd)]

    def _on_list(self) -> None:
        present = {cached.name: cached for cached in self._resource.cache.snapshot(None)}
        for cached in present.values():
            self._registrar.update(cached)
        for name in [name for name in self._crds if name not in present]:
            self._remove(name)
        self._controller.add_all()

    def _on_changes(self, changes: list[ObjectChange]) -> None:
        latest = {change.new.name: change.new for change in changes if change.new is not None}
        for change in changes:
            if change.new is None:
                self._remove(change.cached.name)
            elif latest[change.new.name] is change.new:
                self._registrar.update(change.new)
                if not self._is_reconciled(change.new.name):
                    self._controller.add(change.new.name)
        self._crds_changed.set()

    def _remove(self, name: str) -> None:
        self._structural_conditions.pop(name, None)
        self._registrar.remove(name)

    # ------------------------------------------------------------------ reconciling the status of CRDs

    async def reconcile_now(self, name: str) -> None:
        """Update a CRD's status before the server responds to the CRD's write, so that clients can use it at once."""
        if not self._controller.running:
            await self._wait_for_leader(name)
        elif self._controller.is_pending(name) or not self._is_reconciled(name):
            await self._controller.attempt(name)

    async def _wait_for_leader(self, name: str) -> None:
        try:
            async with asyncio.timeout(_LEADER_TIMEOUT):
                while self._pending_status(name) is not None:
                    self._crds_changed.clear()
                    await self._crds_changed.wait()
        except TimeoutError:
            log.info("CRD controller: no leader, the status of %s will be updated later", name)

    async def _reconcile(self, name: str) -> None:
        try:
            await self._write_status(name)
        except errors.APIError as error:
            # The schemas of a stored CRD are decoded here for the first time, so errors in them appear only now.
            log.error("CRD controller: cannot decode stored CRD %s, not serving it: %s", name, error.message)
            if name in self._crds:
                self._registrar.unregister(self._crds[name])
            return
        current = self._crds.get(name)
        if current is not None and current["metadata"].get("deletionTimestamp"):
            self.finalizer.add(name)

    async def _write_status(self, name: str) -> None:
        while (pending := self._pending_status(name)) is not None:
            seen, status = pending
            crd = seen.crd
            # Reserve the accepted names until the watch cache contains the new status.
            reserved: JsonObject = {"spec": crd["spec"], "status": status}
            self._names_in_use.add(reserved)
            written = False
            try:
                written = await self._statuses.write(seen, status)
            finally:
                self._names_in_use.remove(reserved)
                if not written:
                    self._registrar.reconcile_waiting(crd["spec"]["group"])
            if written and self._resource.cache.get(name) is seen.cached:
                # The watch event of this write triggers the next reconciliation, which may find further name conflicts.
                break

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
        if not self._controller.running or not self._resource.is_structural(crd["metadata"]["uid"]):
            return None
        status = reconcile(crd, self._names_in_use, self._now(), non_structural=None)
        encoded = replace_encoded_status(value, await self._statuses.track_first(crd, status), status)
        reserved: JsonObject = {"spec": crd["spec"], "status": status}
        return FirstStatus(self._client, self._names_in_use, reserved, encoded, self._registrar.reconcile_waiting)

    def _pending_status(self, name: str) -> tuple[SeenCRD, JsonObject] | None:
        """Return a CRD and its new status, or None if its status is up to date."""
        seen = self._find(name)
        if seen is None:
            return None
        crd = seen.crd
        status = reconcile(
            crd, self._names_in_use, self._now(), non_structural=self._nonstructural_condition(name, crd)
        )
        return None if status == crd["status"] else (seen, status)

    def _nonstructural_condition(self, name: str, crd: CRDSummary) -> JsonObject | None:
        """Return the NonStructuralSchema condition of a CRD, or None if its schemas are structural."""
        checked = self._structural_conditions.get(name)
        if checked is None or checked[0] != crd.spec_digest:
            meta = crd["metadata"]
            structural = meta.get("generation") == 1 and self._resource.pop_structural(meta.get("uid", ""))
            condition = None if structural else nonstructural_condition(load_full(crd))
            checked = self._structural_conditions[name] = (crd.spec_digest, condition)
        return checked[1]

    def _find(self, name: str) -> SeenCRD | None:
        """Return a CRD and the stored object that it was decoded from, or None if there is none that can be decoded."""
        cached, crd = self._resource.cache.get(name), self._crds.get(name)
        if cached is None or crd is None or crd["metadata"].get("resourceVersion") != str(cached.revision):
            return None
        return SeenCRD(cached, crd)

    async def _write_health(self, name: str, condition: JsonObject | None) -> None:
        """Write the condition of a CRD's converter, or remove it."""
        seen = self._find(name)
        if seen is not None:
            status = seen.crd["status"]
            if condition is not None:
                status = conditions.set_condition(status, condition, self._now())
            else:
                status = conditions.remove_condition(status, CONVERSION_HEALTHY)
            await self._statuses.write_untracked(seen, seen.crd["metadata"], status)

    async def _write_outage(self, name: str, uid: str, condition: JsonObject) -> bool:
        """Write a condition into the status of the CRD with a uid. Return False if the CRD has changed meanwhile."""
        seen = self._find(name)
        if seen is None or seen.crd["metadata"].get("uid") != uid:
            return True
        status = conditions.set_condition(seen.crd["status"], condition, self._now())
        return await self._statuses.write_untracked(seen, seen.crd["metadata"], status)


def _is_settled(crd: JsonObject) -> bool:
    """True if a CRD is established with all names that its spec requests, and is not being deleted."""
    named = crd["status"]["acceptedNames"] == crd["spec"]["names"]
    return named and conditions.is_true(crd, ESTABLISHED) and not crd["metadata"].get("deletionTimestamp")
