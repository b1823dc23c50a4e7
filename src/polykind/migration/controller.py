"""The controller of StorageVersionMigrations. On the leader, it passes unfinished migrations to the migrator.

The migrator is imported when the first migration exists, because most servers never have a migration.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING

from polykind import errors
from polykind.apis.storagemigration.state import STORAGE_MIGRATING, GroupResource, is_true, is_unfinished, target
from polykind.cache.cached_object import CachedObject
from polykind.cache.resource_cache import ObjectChange
from polykind.contract import JsonObject, Leadership
from polykind.controllers.controller_runtime import Controller
from polykind.operations.backend import Backend
from polykind.resources.builtin import BuiltinResource
from polykind.strategies.apiextensions.strategy import CRDResource, summarize_stored_crd

if TYPE_CHECKING:
    from polykind.migration.migrator import Migrator

log = logging.getLogger("polykind.migrations")

_STATUS_BYTES = 65536
"""The number of bytes at the end of an encoded CRD in which the StorageMigrating condition is searched.

The status is at the end, and searching the bytes is faster than decoding the CRD.
"""
_WORKERS = 2
"""The number of resources that are migrated at the same time."""
_CONDITION_TYPE = f'"{STORAGE_MIGRATING}"'.encode()


class MigrationController:
    """Watches StorageVersionMigrations and lets the migrator process their resources."""

    def __init__(self, backend: Backend, resource: BuiltinResource, crds: CRDResource, leadership: Leadership) -> None:
        self._backend = backend
        self._resource = resource
        self._crds = crds
        self._controller: Controller[GroupResource] = Controller(
            leadership, self._reconcile, keys=self._unfinished, end=self._end, workers=_WORKERS
        )
        self._controller.follow(backend.cache, resource.cache, self._changed)
        self.start, self.close = self._controller.start, self._controller.close
        self.resource_timeout = 60.0
        """The age in seconds at which a migration fails if its resource is still not served."""

    @cached_property
    def _migrator(self) -> Migrator:
        from polykind.migration.migrator import Migrator

        return Migrator(self._backend, self._resource, self._crds, lambda: self.resource_timeout, self._controller.add)

    @property
    def _has_migrator(self) -> bool:
        """True if the migrator has been created. The first migration creates it."""
        return "_migrator" in self.__dict__

    async def _reconcile(self, resource: GroupResource) -> float | None:
        return await self._migrator.migrate(resource)

    def _end(self) -> None:
        if self._has_migrator:
            self._migrator.forget_waiting()

    def _unfinished(self) -> Iterable[GroupResource]:
        """Return the resources of unfinished migrations, and of CRDs whose StorageMigrating condition is true.

        If the migration of such a CRD has been deleted, the migrator sets the condition to false.
        """
        for cached in self._resource.cache.snapshot(None):
            yield from self._target(cached, deleted=False)
        for cached in self._crds.cache.snapshot(None):
            if cached.raw.find(_CONDITION_TYPE, max(0, len(cached.raw) - _STATUS_BYTES)) >= 0 and _is_migrating(cached):
                plural, _, group = cached.name.partition(".")
                yield GroupResource(group, plural)

    def _changed(self, change: ObjectChange) -> Iterable[GroupResource]:
        return self._target(change.cached, deleted=change.new is None)

    def _target(self, cached: CachedObject, *, deleted: bool) -> Iterable[GroupResource]:
        """Return the resource of a migration if the migration is unfinished or was deleted.

        After a deletion, other migrations of the same resource may start.
        """
        try:
            migration: JsonObject = self._resource.read(cached)
        except errors.APIError as error:
            log.error(
                "migration controller: cannot decode stored migration %s, ignoring it: %s", cached.name, error.message
            )
            return ()
        if (deleted and self._has_migrator) or (not deleted and is_unfinished(migration)):
            return (target(migration),)
        return ()


def _is_migrating(cached: CachedObject) -> bool:
    """True if the StorageMigrating condition of a CRD is true."""
    try:
        return is_true(summarize_stored_crd(cached)["status"], STORAGE_MIGRATING)
    except errors.APIError:
        return False
