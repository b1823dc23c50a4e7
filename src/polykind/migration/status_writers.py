"""Writers of the two statuses that a migration changes: its own and its CRD's."""

from __future__ import annotations

from collections.abc import Callable

from polykind import errors
from polykind.apis.apiextensions.strategy import CRDResource, summarize_stored_crd
from polykind.contract import JsonObject
from polykind.crd import versions
from polykind.crd.summary import CRDSummary
from polykind.http.messages import Request
from polykind.http.options import PatchOptions, UpdateOptions
from polykind.migration import state
from polykind.migration.state import GroupResource
from polykind.resources.builtin import BuiltinResource
from polykind.verbs.apply import AppliedConfiguration, apply_change
from polykind.verbs.context import Backend, RequestContext
from polykind.verbs.update import change_object
from polykind.verbs.write import APPLY, PATCH, Write

_AGENT = {b"user-agent": b"kube-controller-manager"}
_MANAGER = "migration-runner-controller"
"""The field manager of the migration's fields in a CRD's status."""


class MigrationDeletedError(Exception):
    """The migration was deleted, or replaced by another of the same name."""


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
        """Write `change(status, now)` as the new status. Raise MigrationDeletedError if the migration was deleted
        meanwhile.
        """
        ctx = RequestContext(
            self._backend,
            Request("PUT", "", "", dict(_AGENT), b""),
            self._resource.storage_version(),
            None,
            self._name,
            "status",
        )

        async def updated(old: JsonObject, _: Write) -> JsonObject:
            if old["metadata"].get("uid") != self._uid:
                raise MigrationDeletedError
            new = change(old.get("status") or {}, ctx.now())
            return {**old, "metadata": dict(old["metadata"]), "status": new}

        try:
            await change_object(ctx, updated, UpdateOptions(), PATCH)
        except errors.NotFoundError:
            raise MigrationDeletedError from None


class CRDMigrationStatus:
    """The StorageMigrating condition and storedVersions of a CRD. A built-in resource has no CRD."""

    def __init__(self, backend: Backend, crds: CRDResource, resource: GroupResource) -> None:
        self._backend = backend
        self._crds = crds
        self._name = str(resource)

    def _crd(self) -> CRDSummary | None:
        cached = self._crds.cache.get(self._name)
        return summarize_stored_crd(cached) if cached is not None else None

    def is_marked(self) -> bool:
        """True if the CRD's condition says that a migration runs, or if there is no CRD."""
        crd = self._crd()
        return crd is None or state.is_true(crd["status"], state.STORAGE_MIGRATING)

    async def begin(self, migration: str) -> None:
        """Set the condition to running, with the CRD's current generation."""
        await self._write(lambda crd, now: (state.running_condition(migration, _generation(crd), now), None))

    async def finish(self, *, success: bool) -> None:
        """Set the condition to succeeded or failed. On success, reset storedVersions unless the CRD has changed."""

        def end(crd: CRDSummary, now: str) -> tuple[JsonObject, list[str] | None]:
            if not success:
                return state.failed_condition(_generation(crd), now), None
            updated = state.same_generation(crd)
            condition = state.succeeded_condition(_generation(crd), now, updated=updated)
            return condition, [versions.storage_version(crd)] if updated else None

        await self._write(end)

    async def clear(self) -> None:
        """Set the condition to deleted if it still says that a migration runs."""
        crd = self._crd()
        if crd is not None and state.is_true(crd["status"], state.STORAGE_MIGRATING):
            await self._write(lambda crd, now: (state.deleted_condition(_generation(crd), now), None))

    async def _write(self, compute: Callable[[CRDSummary, str], tuple[JsonObject, list[str] | None]]) -> None:
        """Apply the condition and storedVersions that `compute(crd, now)` returns. If storedVersions is None, keep it
        unchanged.
        """
        version = self._crds.versions["v1"]
        while True:
            await self._backend.cache.wait_until_fresh(self._crds.cache)
            cached = self._crds.cache.get(self._name)
            if cached is None:
                return
            crd = summarize_stored_crd(cached)
            ctx = RequestContext(self._backend, Request("PATCH", "", "", {}, b""), version, None, self._name, "status")
            condition, stored = compute(crd, ctx.now())
            status: JsonObject = {"conditions": [condition]}
            if stored is None and _owns_stored_versions(crd):
                # Server-side apply would remove storedVersions if this manager owned them and did not send them again.
                stored = crd["status"]["storedVersions"]
            if stored is not None:
                status["storedVersions"] = stored
            applied: JsonObject = {
                "apiVersion": version.api_version,
                "kind": self._crds.kind,
                # Reject the apply if the CRD is not the one that the status was computed from.
                "metadata": {"name": self._name, "resourceVersion": str(cached.revision)},
                "status": status,
            }
            options = PatchOptions(field_manager=_MANAGER, force=True)
            try:
                await change_object(ctx, apply_change(ctx, AppliedConfiguration(applied, []), options), options, APPLY)
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
