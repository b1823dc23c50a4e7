"""The controller of StorageVersionMigrations. On the leader, it passes unfinished migrations to the migrator.

The migrator is imported when the first migration exists, because most servers never have a migration.
"""

from __future__ import annotations

import logging
from functools import cached_property
from typing import TYPE_CHECKING

from polykind import errors
from polykind.apis.storagemigration.state import STORAGE_MIGRATING, GroupResource, is_true, is_unfinished, target
from polykind.cache.cached_object import CachedObject
from polykind.cache.resource_cache import ObjectChange
from polykind.contract import JsonObject, Leadership
from polykind.controllers.informer import Informer
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
_CONDITION_TYPE = f'"{STORAGE_MIGRATING}"'.encode()


class MigrationController:
    """Watches StorageVersionMigrations and lets the migrator process their resources."""

    def __init__(self, backend: Backend, resource: BuiltinResource, crds: CRDResource, leadership: Leadership) -> None:
        self._backend = backend
        self._resource = resource
        self._crds = crds
        self._leadership = leadership
        self._informer: Informer[None] = Informer(backend.cache, resource.cache, self._process_all, self._on_changes)
        self.resource_timeout = 60.0
        """The age in seconds at which a migration fails if its resource is still not served."""

    @cached_property
    def _migrator(self) -> Migrator:
        from polykind.migration.migrator import Migrator

        return Migrator(self._backend, self._resource, self._crds, lambda: self.resource_timeout)

    @property
    def _has_migrator(self) -> bool:
        """True if the migrator has been created. The first migration creates it."""
        return "_migrator" in self.__dict__

    async def start(self) -> None:
        await self._informer.start()
        self._leadership.subscribe(self._on_leadership)

    async def close(self) -> None:
        await self._informer.close()
        if self._has_migrator:
            await self._migrator.close()

    def _on_leadership(self, leading: bool) -> None:
        """Cancel all work when the leader changes. If this replica is now the leader, process unfinished migrations."""
        if self._has_migrator:
            self._migrator.pause()
        self._process_all()

    def _process_all(self) -> None:
        if not self._leadership.leading:
            return
        for cached in self._resource.cache.snapshot(None):
            self._process(cached, deleted=False)
        for cached in self._crds.cache.snapshot(None):
            if cached.raw.find(_CONDITION_TYPE, max(0, len(cached.raw) - _STATUS_BYTES)) >= 0:
                self._process_crd(cached)

    def _process_crd(self, cached: CachedObject) -> None:
        """Process a CRD's resource if its StorageMigrating condition is true.

        If the migration has been deleted, the migrator then sets the condition to false.
        """
        try:
            running = is_true(summarize_stored_crd(cached)["status"], STORAGE_MIGRATING)
        except errors.APIError:
            return
        if running:
            plural, _, group = cached.name.partition(".")
            self._migrator.process(GroupResource(group, plural))

    def _on_changes(self, changes: list[ObjectChange]) -> None:
        if self._leadership.leading:
            for change in changes:
                self._process(change.cached, deleted=change.new is None)

    def _process(self, cached: CachedObject, *, deleted: bool) -> None:
        """Pass the resource of a migration to the migrator if the migration is unfinished or was deleted.

        After a deletion, other migrations of the same resource may start.
        """
        try:
            migration: JsonObject = self._resource.read(cached)
        except errors.APIError as error:
            log.error(
                "migration controller: cannot decode stored migration %s, ignoring it: %s", cached.name, error.message
            )
            return
        if (deleted and self._has_migrator) or (not deleted and is_unfinished(migration)):
            self._migrator.process(target(migration))
