"""What is written of definitions by the server itself."""

from __future__ import annotations

from collections.abc import Callable

from polykind.apis.apiextensions.strategy import CRDResource, restated
from polykind.apply import managed
from polykind.cache.cached_object import CachedObject
from polykind.contract import JsonObject, RevisionConflictError
from polykind.verbs.context import Backend

_API_VERSION = "apiextensions.k8s.io/v1"


class Statuses:
    """Writes the statuses of definitions, each over the state that was looked at."""

    def __init__(self, api: Backend, kind: CRDResource, stamp: Callable[[], str]) -> None:
        self._api = api
        self._kind = kind
        self._stamp = stamp

    async def write(self, name: str, entry: CachedObject, crd: JsonObject, status: JsonObject) -> bool:
        """Whether the status was written; False if the definition has changed meanwhile."""
        metadata = dict(crd["metadata"])
        live = {"apiVersion": _API_VERSION, "metadata": metadata, "status": crd["status"]}
        fields = await managed.update(
            live,
            {"apiVersion": _API_VERSION, "metadata": metadata, "status": status},
            manager="kube-apiserver",
            api_version=_API_VERSION,
            subresource="status",
            now=self._stamp(),
            models=self._kind.models,
            convert=self._kind.versions["v1"].representer.convert,
        )
        if fields:
            metadata["managedFields"] = fields
        return await self.restate(name, entry, metadata, status)

    async def restate(self, name: str, entry: CachedObject, metadata: JsonObject, status: JsonObject) -> bool:
        """The same, without a look at who owns what."""
        cache = self._kind.cache
        value = restated(entry, metadata, status)
        cache.expect_write(name, value, cache.schema_generation)
        try:
            await self._api.store.put(cache.prefix + name, value, expect=entry.revision)
        except BaseException as error:
            cache.cancel_expected_write(name)
            if isinstance(error, RevisionConflictError):
                return False
            raise
        return True
