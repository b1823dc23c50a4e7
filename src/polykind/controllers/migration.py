"""Migrations are worked on: by the leader, one at a time for each resource.

Few servers ever see one: what does the work is imported when the first comes.
"""

from __future__ import annotations

import logging
from functools import cached_property
from typing import TYPE_CHECKING

from polykind import errors
from polykind.cache.entry import Entry
from polykind.cache.resource import Occurrence
from polykind.contract import JsonObject, Leadership
from polykind.controllers.following import Following
from polykind.controllers.leftovers import Leftovers
from polykind.migrate.order import Resource, resource_of, unfinished
from polykind.migrate.state import STORAGE_MIGRATING, holds
from polykind.registry.definitions import DefinitionKind, outline
from polykind.registry.migrations import MigrationKind
from polykind.verbs.call import Api

if TYPE_CHECKING:
    from polykind.controllers.migrator import Migrator

log = logging.getLogger("polykind.migrations")

_TAIL = 65536
"""How much of a definition's end is searched for what its status says."""
_MARK = f'"{STORAGE_MIGRATING}"'.encode()


class MigrationControl:
    """Follows the migrations in the store, and sees to those that are not over."""

    def __init__(self, api: Api, kind: MigrationKind, definitions: DefinitionKind, leadership: Leadership) -> None:
        self._api = api
        self._kind = kind
        self._definitions = definitions
        self._leadership = leadership
        self._following = Following(api, kind, self._look_at_all, self._take)
        self._leftovers = Leftovers(api)
        definitions.blocked = self._leftovers.tell
        self.patience = 60.0
        """Seconds that a migration waits for its resource to be defined."""

    @cached_property
    def _migrator(self) -> Migrator:
        from polykind.controllers.migrator import Migrator

        return Migrator(self._api, self._kind, self._definitions, lambda: self.patience)

    @property
    def _working(self) -> bool:
        """Whether there has ever been something to do."""
        return "_migrator" in self.__dict__

    async def start(self) -> None:
        await self._following.start()
        self._leadership.follow(self._lead)

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

    def _look_at_definition(self, entry: Entry) -> None:
        """One that says that a migration runs may have outlived it."""
        try:
            running = holds(outline(entry)["status"], STORAGE_MIGRATING)
        except errors.APIError:
            return
        if running:
            plural, _, group = entry.name.partition(".")
            self._migrator.see_to(Resource(group, plural))

    def _take(self, occurrences: list[Occurrence]) -> None:
        if self._leadership.leading:
            for occurrence in occurrences:
                self._look(occurrence.entry, gone=occurrence.new is None)

    def _look(self, entry: Entry, *, gone: bool) -> None:
        """Have a migration seen to, unless it is over; after one that has gone the next may come."""
        try:
            migration: JsonObject = self._kind.read(entry)
        except errors.APIError as error:
            log.error("the migration %s in the store cannot be read: %s", entry.name, error.message)
            return
        if (gone and self._working) or (not gone and unfinished(migration)):
            self._migrator.see_to(resource_of(migration))
