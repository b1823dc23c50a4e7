"""The writer of CRD statuses."""

from __future__ import annotations

from collections.abc import Callable

from polykind.apis.apiextensions.strategy import CRDResource, replace_stored_status
from polykind.apply import field_manager
from polykind.cache.cached_object import CachedObject
from polykind.contract import JsonObject, RevisionConflictError
from polykind.verbs.context import Backend

_API_VERSION = "apiextensions.k8s.io/v1"


class CRDStatusWriter:
    """Writes the status of a CRD only if the CRD is still at the revision that the status was computed from."""

    def __init__(self, backend: Backend, resource: CRDResource, now: Callable[[], str]) -> None:
        self._backend = backend
        self._resource = resource
        self._now = now

    async def write(self, name: str, cached: CachedObject, crd: JsonObject, status: JsonObject) -> bool:
        """Write the status as field manager kube-apiserver. Return False if the CRD has changed meanwhile."""
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
        )
        if fields:
            metadata["managedFields"] = fields
        return await self.write_untracked(name, cached, metadata, status)

    async def write_untracked(self, name: str, cached: CachedObject, metadata: JsonObject, status: JsonObject) -> bool:
        """Write metadata and status without tracking field managers. Return False if the CRD has changed meanwhile."""
        cache = self._resource.cache
        value = replace_stored_status(cached, metadata, status)
        cache.expect_write(name, value, cache.schema_generation)
        try:
            await self._backend.store.put(cache.prefix + name, value, expect=cached.revision)
        except BaseException as error:
            cache.cancel_expected_write(name)
            if isinstance(error, RevisionConflictError):
                return False
            raise
        return True
