"""Migrations are worked on: by the leader, one at a time for each resource.

Few servers ever see one: what does the work is imported when the first comes.
"""

from __future__ import annotations

import logging
from functools import cached_property
from typing import TYPE_CHECKING

from polykind import errors
from polykind.apis.apiextensions.strategy import CRDResource, outline
from polykind.apis.storagemigration.strategy import MigrationResource
from polykind.cache.cached_object import CachedObject
from polykind.cache.resource_cache import ObjectChange
from polykind.contract import JsonObject, Leadership
from polykind.controllers.informer import Informer
from polykind.controllers.stored_version_report import StoredVersionReport
from polykind.migration.order import GroupResource, resource_of, unfinished
from polykind.migration.state import STORAGE_MIGRATING, holds
from polykind.verbs.context import Backend

if TYPE_CHECKING:
    from polykind.migration.migrator import Migrator

log = logging.getLogger("polykind.migrations")

_TAIL = 65536
"""How much of a definition's end is searched for what its status says."""
_MARK = f'"{STORAGE_MIGRATING}"'.encode()


class MigrationController:
    """Follows the migrations in the store, and sees to those that are not over."""

    def __init__(self, api: Backend, kind: MigrationResource, definitions: CRDResource, leadership: Leadership) -> None:
        self._api = api
        self._kind = kind
        self._definitions = definitions
        self._leadership = leadership
        self._following = Informer(api, kind, self._look_at_all, self._take)
        self._leftovers = StoredVersionReport(api)
        definitions.blocked = self._leftovers.tell
        self.patience = 60.0
        """Seconds that a migration waits for its resource to be defined."""

    @cached_property
    def _migrator(self) -> Migrator:
        from polykind.migration.migrator import Migrator

        return Migrator(self._api, self._kind, self._definitions, lambda: self.patience)

    @property
    def _working(self) -> bool:
        """Whether there has ever been something to do."""
        return "_migrator" in self.__dict__

    async def start(self) -> None:
        await self._following.start()
        self._leadership.subscribe(self._lead)

    async def close(self) -> None:
        await self._following.close()
        await self._leftovers.close()
        if self._working:
            await self._migrator.close()

    def _lead(self, leading: bool) -> None:
        """Whoever leads takes up what another has left."""
        if self._working:
            self._migrator.pause()
        self._look_at_all()

    def _look_at_all(self) -> None:
        if not self._leadership.leading:
            return
        for entry in self._kind.cache.snapshot(None):
            self._look(entry, gone=False)
        for entry in self._definitions.cache.scan(None):
            if entry.raw.find(_MARK, max(0, len(entry.raw) - _TAIL)) >= 0:
                self._look_at_definition(entry)

    def _look_at_definition(self, entry: CachedObject) -> None:
        """One that says that a migration runs may have outlived it."""
        try:
            running = holds(outline(entry)["status"], STORAGE_MIGRATING)
        except errors.APIError:
            return
        if running:
            plural, _, group = entry.name.partition(".")
            self._migrator.see_to(GroupResource(group, plural))

    def _take(self, occurrences: list[ObjectChange]) -> None:
        if self._leadership.leading:
            for occurrence in occurrences:
                self._look(occurrence.cached, gone=occurrence.new is None)

    def _look(self, entry: CachedObject, *, gone: bool) -> None:
        """Have a migration seen to, unless it is over; after one that has gone the next may come."""
        try:
            migration: JsonObject = self._kind.read(entry)
        except errors.APIError as error:
            log.error("the migration %s in the store cannot be read: %s", entry.name, error.message)
            return
        if (gone and self._working) or (not gone and unfinished(migration)):
            self._migrator.see_to(resource_of(migration))
