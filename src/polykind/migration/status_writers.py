"""Writers of the two statuses that a migration changes: the status of the migration, and the status of the CRD."""

from __future__ import annotations

from collections.abc import Callable

from polykind import errors
from polykind.apis.storagemigration import state
from polykind.apis.storagemigration.state import GroupResource
from polykind.contract import JsonObject
from polykind.crd import versions
from polykind.crd.summary import CRDSummary
from polykind.operations.backend import Backend
from polykind.operations.operation import Operation
from polykind.operations.options import PatchOptions, UpdateOptions
from polykind.resources.builtin import BuiltinResource
from polykind.strategies.apiextensions.strategy import CRDResource, summarize_stored_crd
from polykind.verbs.apply import AppliedConfiguration, apply_change
from polykind.verbs.update import change_object
from polykind.verbs.write import APPLY, PATCH, Write

_STATUS_MANAGER = "kube-controller-manager"
_MANAGER = "migration-runner-controller"
"""The field manager of the migration's fields in a CRD's status."""


class MigrationDeletedError(Exception):
    """The migration was deleted, or deleted and created again with the same name."""


class MigrationStatus:
    """Reads and writes the status of one migration."""

    def __init__(self, backend: Backend, resource: BuiltinResource, migration: JsonObject) -> None:
        self._backend = backend
        self._resource = resource
        self._name: str = migration["metadata"]["name"]
        self._uid = migration["metadata"].get("uid")

    def check(self) -> None:
        """Raise MigrationDeletedError if the migration was deleted."""
        cached = self._resource.cache.get(self._name)
        # While the cache is being reloaded, assume that the migration still exists.
        if self._resource.cache.loaded and (
            cached is None or self._resource.read(cached)["metadata"].get("uid") != self._uid
        ):
            raise MigrationDeletedError

    async def change(self, change: Callable[[JsonObject, str], JsonObject]) -> None:
        """Write the result of `change(status, now)` as the migration's new status.

        Raise MigrationDeletedError if the migration has been deleted.
        """
        op = Operation.by_server(
            self._backend,
            "update",
            self._resource.storage_version(),
            self._name,
            subresource="status",
            manager=_STATUS_MANAGER,
        )

        async def updated(old: JsonObject, _: Write) -> JsonObject:
            if old["metadata"].get("uid") != self._uid:
                raise MigrationDeletedError
            new = change(old.get("status") or {}, op.now())
            return {**old, "metadata": dict(old["metadata"]), "status": new}

        try:
            await change_object(op, updated, UpdateOptions(), PATCH)
        except errors.NotFoundError:
            raise MigrationDeletedError from None


class CRDMigrationStatus:
    """Reads and writes the StorageMigrating condition and the storedVersions of a resource's CRD.

    For a built-in resource, which has no CRD, all methods that write do nothing.
    """

    def __init__(self, backend: Backend, crds: CRDResource, resource: GroupResource) -> None:
        self._backend = backend
        self._crds = crds
        self._name = str(resource)

    def _crd(self) -> CRDSummary | None:
        cached = self._crds.cache.get(self._name)
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
            cached = self._crds.cache.get(self._name)
            if cached is None:
                return
            crd = summarize_stored_crd(cached)
            op = Operation.by_server(self._backend, "patch", version, self._name, subresource="status")
            condition, stored = compute(crd, op.now())
            status: JsonObject = {"conditions": [condition]}
            if stored is None and _owns_stored_versions(crd):
                # If this field manager owns storedVersions, server-side apply removes them unless they are sent again.
                stored = crd["status"]["storedVersions"]
            if stored is not None:
                status["storedVersions"] = stored
            applied: JsonObject = {
                "apiVersion": version.api_version,
                "kind": self._crds.kind,
                # With this resourceVersion, the apply fails if the CRD has changed since the status was computed.
                "metadata": {"name": self._name, "resourceVersion": str(cached.revision)},
                "status": status,
            }
            options = PatchOptions(field_manager=_MANAGER, force=True)
            try:
                await change_object(op, apply_change(op, AppliedConfiguration(applied, []), options), options, APPLY)
                return
            except errors.ConflictError:
                continue
            except errors.NotFoundError:
                return


def _generation(crd: CRDSummary) -> int:
    generation: int = crd["metadata"].get("generation", 0)
    return generation


def _owns_stored_versions(crd: CRDSummary) -> bool:
    return any(
        cached.get("manager") == _MANAGER and "f:storedVersions" in (cached.get("fieldsV1") or {}).get("f:status", {})
        for cached in crd["metadata"].get("managedFields") or ()
    )
