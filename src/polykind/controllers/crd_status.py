"""The writers of CRD statuses: of a new CRD together with the CRD, and of a stored CRD."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import NamedTuple

from polykind.apply import field_manager, managed_fields
from polykind.cache.cached_object import CachedObject
from polykind.contract import JsonObject, RevisionConflictError
from polykind.controllers.object_client import ObjectClient
from polykind.crd.naming import AcceptedNames
from polykind.crd.summary import CRDSummary
from polykind.strategies.apiextensions.strategy import CRDResource, replace_stored_status

_API_VERSION = "apiextensions.k8s.io/v1"
_CANCELLED_SECONDS = 5.0
"""Seconds within which the store has completed a write whose request was cancelled."""


class SeenCRD(NamedTuple):
    """A CRD as a controller has read it: the stored object, and its summary."""

    cached: CachedObject
    crd: CRDSummary


class FirstStatus:
    """The first status of a new CRD, which is written together with the CRD."""

    def __init__(
        self,
        client: ObjectClient,
        names_in_use: AcceptedNames,
        crd: JsonObject,
        value: bytes,
        reconcile_waiting: Callable[[str], None],
    ) -> None:
        """`crd` has the spec and the new status, and `value` is the encoded CRD with this status.

        If the CRD is not written, `reconcile_waiting` is called with its group, because its names are free again.
        """
        self._client = client
        self._names_in_use = names_in_use
        self._crd = crd
        self.value = value
        self._reconcile_waiting = reconcile_waiting

    async def put(self, key: str, value: bytes) -> int:
        """Write the CRD and its status in one transaction. Return the revision of the CRD without status."""
        # Reserve the accepted names until the watch cache contains the CRD.
        self._names_in_use.add(self._crd)
        try:
            revision = await self._client.add_twice(key, value, self.value)
        except asyncio.CancelledError:
            # The store may still write the CRD.
            asyncio.get_running_loop().call_later(_CANCELLED_SECONDS, self._release_names)
            raise
        except BaseException:
            self._release_names()
            raise
        self._names_in_use.remove(self._crd)
        return revision

    def _release_names(self) -> None:
        self._names_in_use.remove(self._crd)
        self._reconcile_waiting(self._crd["spec"]["group"])


class CRDStatusWriter:
    """Writes the status of a CRD only if the CRD is still at the revision that the status was computed from."""

    def __init__(self, client: ObjectClient, resource: CRDResource, now: Callable[[], str]) -> None:
        self._client = client
        self._resource = resource
        self._now = now
        self._first_entries: dict[tuple[object, ...], JsonObject] = {}
        """The entries of managedFields for first statuses, by the fields of the status."""

    async def write(self, seen: SeenCRD, status: JsonObject) -> bool:
        """Write the status as field manager kube-apiserver. Return False if the CRD has changed meanwhile."""
        return await self.write_untracked(seen, await self.track(seen.crd, status), status)

    async def track(self, crd: JsonObject, status: JsonObject) -> JsonObject:
        """Return the metadata of a CRD after field manager kube-apiserver has written the status."""
        metadata = dict(crd["metadata"])
        live = {"apiVersion": _API_VERSION, "metadata": metadata, "status": crd["status"]}
        fields = await field_manager.update(
            live,
            {"apiVersion": _API_VERSION, "metadata": metadata, "status": status},
            manager="kube-apiserver",
            api_version=_API_VERSION,
            subresource="status",
            now=self._now(),
            models=self._resource.models,
            convert=self._resource.versions["v1"].representer.convert,
            validated=True,
        )
        if fields:
            metadata["managedFields"] = fields
        return metadata

    async def track_first(self, crd: JsonObject, status: JsonObject) -> JsonObject:
        """Return the metadata of a new CRD as `track` does, but compute each set of fields only once.

        The fields that kube-apiserver owns depend only on the fields that the status has.
        """
        listed: list[JsonObject] = crd["metadata"].get("managedFields") or []
        if len(listed) != 1 or not _is_plain_creator(listed[0]):
            return await self.track(crd, status)
        names = status["acceptedNames"]
        shape = (*((key, bool(name)) for key, name in names.items()), *(item["type"] for item in status["conditions"]))
        entry = self._first_entries.get(shape)
        if entry is None:
            metadata = await self.track(crd, status)
            self._first_entries[shape] = next(e for e in metadata["managedFields"] if e.get("subresource"))
            return metadata
        entries = managed_fields.decode([listed[0], {**entry, "time": self._now()}], trusted=True) or {}
        return {**crd["metadata"], "managedFields": managed_fields.encode(entries, ordered=True)}

    async def write_untracked(self, seen: SeenCRD, metadata: JsonObject, status: JsonObject) -> bool:
        """Write metadata and status without tracking field managers. Return False if the CRD has changed meanwhile."""
        cache = self._resource.cache
        value = replace_stored_status(seen.cached, metadata, status)
        try:
            await self._client.replace_cached(cache, seen.cached, value, generation=cache.schema_generation)
        except RevisionConflictError:
            return False
        return True


def _is_plain_creator(entry: JsonObject) -> bool:
    """True if an entry of managedFields is that of a CRD's creator at v1, who owns no field of the status."""
    fields = entry.get("fieldsV1") or {}
    return entry.get("apiVersion") == _API_VERSION and not entry.get("subresource") and "f:status" not in fields
