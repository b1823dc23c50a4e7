"""What is written of a migration: into its own status, and into that of the definition it is about."""

from __future__ import annotations

from collections.abc import Callable

from polykind import errors
from polykind.apis.apiextensions.strategy import CRDResource, outline
from polykind.apis.storagemigration.strategy import MigrationResource
from polykind.contract import JsonObject
from polykind.crd import versions
from polykind.crd.summary import CRDSummary
from polykind.http.messages import Request
from polykind.http.options import PatchOptions, UpdateOptions
from polykind.migration import state
from polykind.migration.order import GroupResource
from polykind.verbs.apply import Applied, apply_change
from polykind.verbs.context import Backend, RequestContext
from polykind.verbs.update import change_object

_AGENT = {b"user-agent": b"kube-controller-manager"}
_MANAGER = "migration-runner-controller"
"""Whose the fields of a definition are that tell of migrations."""


class Deleted(Exception):
    """The migration is no more, or another has its name."""


class MigrationStatus:
    """The status of one migration."""

    def __init__(self, api: Backend, kind: MigrationResource, migration: JsonObject) -> None:
        self._api = api
        self._kind = kind
        self._name: str = migration["metadata"]["name"]
        self._uid = migration["metadata"].get("uid")

    def check(self) -> None:
        """Raise Deleted if it is no more."""
        entry = self._kind.cache.get(self._name)
        # While the cache is read anew nobody knows.
        if self._kind.cache.loaded and (entry is None or self._kind.read(entry)["metadata"].get("uid") != self._uid):
            raise Deleted

    async def change(self, change: Callable[[JsonObject, str], JsonObject]) -> None:
        """Write what becomes of the status, of the time given. Raises Deleted."""
        call = RequestContext(
            self._api, Request("PUT", "", "", dict(_AGENT), b""), self._kind.version, None, self._name, "status"
        )

        async def changed(old: JsonObject) -> JsonObject:
            if old["metadata"].get("uid") != self._uid:
                raise Deleted
            new = change(old.get("status") or {}, call.now())
            return {**old, "metadata": dict(old["metadata"]), "status": new}

        try:
            await change_object(call, changed, UpdateOptions(), whole=False)
        except errors.NotFoundError:
            raise Deleted from None


class DefinitionStatus:
    """The status of the definition that a resource has; of one that is built in nothing is written."""

    def __init__(self, api: Backend, kind: CRDResource, resource: GroupResource) -> None:
        self._api = api
        self._kind = kind
        self._name = str(resource)

    def _now(self) -> CRDSummary | None:
        entry = self._kind.cache.get(self._name)
        return outline(entry) if entry is not None else None

    def marked(self) -> bool:
        """Whether it says that a migration runs, or there is none that could."""
        crd = self._now()
        return crd is None or state.holds(crd["status"], state.STORAGE_MIGRATING)

    async def begin(self, migration: str) -> None:
        """Say that a migration runs, and since which generation."""
        await self._write(lambda crd, now: (state.running_condition(migration, _generation(crd), now), None))

    async def finish(self, *, success: bool) -> None:
        """Say how it went. What was stored at other versions is so no more if it went well and all is as it was."""

        def end(crd: CRDSummary, now: str) -> tuple[JsonObject, list[str] | None]:
            if not success:
                return state.failed_condition(_generation(crd), now), None
            updated = state.same_generation(crd)
            condition = state.succeeded_condition(_generation(crd), now, updated=updated)
            return condition, [versions.storage_version(crd)] if updated else None

        await self._write(end)

    async def let_go(self) -> None:
        """No migration runs: if this says that one does, it was deleted."""
        crd = self._now()
        if crd is not None and state.holds(crd["status"], state.STORAGE_MIGRATING):
            await self._write(lambda crd, now: (state.deleted_condition(_generation(crd), now), None))

    async def _write(self, said: Callable[[CRDSummary, str], tuple[JsonObject, list[str] | None]]) -> None:
        version = self._kind.versions["v1"]
        while True:
            await self._api.cache.wait_until_fresh(self._kind.cache)
            entry = self._kind.cache.get(self._name)
            if entry is None:
                return
            crd = outline(entry)
            call = RequestContext(self._api, Request("PATCH", "", "", {}, b""), version, None, self._name, "status")
            condition, stored = said(crd, call.now())
            status: JsonObject = {"conditions": [condition]}
            if stored is None and _owns_stored_versions(crd):
                # An apply that does not mention what it set before would take it away.
                stored = crd["status"]["storedVersions"]
            if stored is not None:
                status["storedVersions"] = stored
            applied: JsonObject = {
                "apiVersion": version.api_version,
                "kind": self._kind.kind,
                # The definition must be the one whose generation was looked at.
                "metadata": {"name": self._name, "resourceVersion": str(entry.revision)},
                "status": status,
            }
            options = PatchOptions(field_manager=_MANAGER, force=True)
            try:
                await change_object(
                    call, apply_change(call, Applied(applied, []), options), options, whole=False, applied=True
                )
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
        entry.get("manager") == _MANAGER and "f:storedVersions" in (entry.get("fieldsV1") or {}).get("f:status", {})
        for entry in crd["metadata"].get("managedFields") or ()
    )
