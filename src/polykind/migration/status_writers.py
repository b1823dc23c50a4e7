"""Writers of the two statuses that a migration changes: the status of the migration, and the status of the CRD."""

from __future__ import annotations

from collections.abc import Callable

from polykind import errors
from polykind.apis.storagemigration import state
from polykind.apis.storagemigration.state import GroupResource
from polykind.cache.cached_object import CachedObject
from polykind.contract import JsonObject
from polykind.controllers.object_client import ObjectClient
from polykind.controllers.object_metadata import is_same_object
from polykind.controllers.workqueue import UnfinishedError
from polykind.crd import versions
from polykind.crd.summary import CRDSummary
from polykind.operations.backend import Backend
from polykind.operations.operation import timestamp
from polykind.resources.builtin import BuiltinResource
from polykind.strategies.apiextensions.strategy import CRDResource, summarize_stored_crd

_STATUS_MANAGER = "kube-controller-manager"
_MANAGER = "migration-runner-controller"
"""The field manager of the migration's fields in a CRD's status."""


class MigrationDeletedError(Exception):
    """The migration was deleted, or deleted and created again with the same name."""


class CRDReplacedError(UnfinishedError):
    """The CRD was deleted and created again during the migration. The objects of the new CRD must be migrated too."""


class MigrationStatus:
    """Reads and writes the status of one migration."""

    def __init__(self, backend: Backend, resource: BuiltinResource, migration: JsonObject) -> None:
        self._backend = backend
        self._client = ObjectClient(backend, manager=_STATUS_MANAGER)
        self._resource = resource
        seen = resource.cache.get(migration["metadata"]["name"])
        if seen is None:
            raise MigrationDeletedError
        self._seen: CachedObject = seen

    def check(self) -> None:
        """Raise MigrationDeletedError if the migration was deleted."""
        current = self._resource.cache.get(self._seen.name)
        # While the cache is being reloaded, assume that the migration still exists.
        if self._resource.cache.loaded and (current is None or not is_same_object(current, self._seen)):
            raise MigrationDeletedError

    async def change(self, change: Callable[[JsonObject, str], JsonObject]) -> None:
        """Write the result of `change(status, now)` as the migration's new status.

        Raise MigrationDeletedError if the migration has been deleted.
        """
        now = _now(self._backend)

        def updated(obj: JsonObject) -> None:
            obj["status"] = change(obj.get("status") or {}, now)

        version = self._resource.storage_version()
        try:
            await self._client.change(version, self._seen, updated, subresource="status")
        except (errors.NotFoundError, errors.ConflictError):
            raise MigrationDeletedError from None


class CRDMigrationStatus:
    """Reads and writes the StorageMigrating condition and the storedVersions of a resource's CRD.

    For a built-in resource, which has no CRD, all methods that write do nothing. All methods raise CRDReplacedError if
    the CRD is no longer the one that existed when this object was made.
    """

    def __init__(self, backend: Backend, crds: CRDResource, resource: GroupResource) -> None:
        self._backend = backend
        self._client = ObjectClient(backend, manager=_MANAGER)
        self._crds = crds
        self._name = str(resource)
        self._seen = crds.cache.get(self._name)

    def check(self) -> None:
        """Raise CRDReplacedError if the CRD was created again."""
        self._current()

    def _current(self) -> CachedObject | None:
        """Return the CRD, or None if it does not exist."""
        current = self._crds.cache.get(self._name)
        if current is not None and (self._seen is None or not is_same_object(current, self._seen)):
            raise CRDReplacedError
        return current

    def _crd(self) -> CRDSummary | None:
        cached = self._current()
        return summarize_stored_crd(cached) if cached is not None else None

    def is_marked(self) -> bool:
        """True if the CRD's StorageMigrating condition is True, or if there is no CRD."""
        crd = self._crd()
        return crd is None or state.is_true(crd["status"], state.STORAGE_MIGRATING)

    async def begin(self, migration: str) -> None:
        """Set the condition to "running" for the migration with this name, with the CRD's current generation."""
        await self._write(lambda crd, now: (state.running_condition(migration, _generation(crd), now), None))

    async def finish(self, *, success: bool) -> None:
        """Set the condition to "succeeded" or "failed".

        On success, also reset storedVersions, unless the CRD's spec has changed since the migration started.
        """

        def end(crd: CRDSummary, now: str) -> tuple[JsonObject, list[str] | None]:
            if not success:
                return state.failed_condition(_generation(crd), now), None
            updated = state.same_generation(crd)
            condition = state.succeeded_condition(_generation(crd), now, updated=updated)
            return condition, [versions.storage_version(crd)] if updated else None

        await self._write(end)

    async def clear(self) -> None:
        """If the condition is still True although no migration is left, set it to "deleted"."""
        crd = self._crd()
        if crd is not None and state.is_true(crd["status"], state.STORAGE_MIGRATING):
            await self._write(lambda crd, now: (state.deleted_condition(_generation(crd), now), None))

    async def _write(self, compute: Callable[[CRDSummary, str], tuple[JsonObject, list[str] | None]]) -> None:
        """Write the condition and the storedVersions that `compute(crd, now)` returns to the CRD's status.

        If the returned storedVersions is None, the CRD keeps its storedVersions.
        """
        version = self._crds.versions["v1"]
        while True:
            await self._backend.cache.wait_until_fresh(self._crds.cache)
            cached = self._current()
            if cached is None:
                return
            crd = summarize_stored_crd(cached)
            condition, stored = compute(crd, _now(self._backend))
            status: JsonObject = {"conditions": [condition]}
            if stored is None and _owns_stored_versions(crd):
                # If this field manager owns storedVersions, server-side apply removes them unless they are sent again.
                stored = crd["status"]["storedVersions"]
            if stored is not None:
                status["storedVersions"] = stored
            try:
                await self._client.apply(version, cached, {"status": status}, subresource="status")
                return
            except errors.ConflictError:
                continue
            except errors.NotFoundError:
                return


def _now(backend: Backend) -> str:
    return timestamp(int(backend.clock.now().timestamp()))


def _generation(crd: CRDSummary) -> int:
    generation: int = crd["metadata"].get("generation", 0)
    return generation


def _owns_stored_versions(crd: CRDSummary) -> bool:
    return any(
        cached.get("manager") == _MANAGER and "f:storedVersions" in (cached.get("fieldsV1") or {}).get("f:status", {})
        for cached in crd["metadata"].get("managedFields") or ()
    )
