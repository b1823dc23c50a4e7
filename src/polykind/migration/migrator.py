"""What is done about the migrations of a resource, from the first to the last."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Callable, Iterator
from datetime import datetime

from polykind import errors
from polykind.apis.apiextensions.strategy import CRDResource
from polykind.apis.storagemigration.strategy import MigrationResource
from polykind.contract import JsonObject
from polykind.controllers.workqueue import WorkQueue
from polykind.migration import state
from polykind.migration.failures import unhandled
from polykind.migration.order import GroupResource, following, resource_of
from polykind.migration.rewriter import Rewriting, Vanished
from polykind.migration.status import DefinitionStatus, Deleted, MigrationStatus
from polykind.resources.resource import Resource
from polykind.verbs.context import Backend

log = logging.getLogger("polykind.migrations")

_AT_ONCE = 2
"""Resources that are migrated at the same time."""


class _NotYet(Exception):
    """The resource may still come to be."""

    def __init__(self, seconds: float) -> None:
        super().__init__(seconds)
        self.seconds = seconds


class Migrator:
    """Works on migrations, resource by resource; a resource that fails for want of the store is tried again."""

    def __init__(
        self, api: Backend, kind: MigrationResource, definitions: CRDResource, patience: Callable[[], float]
    ) -> None:
        self._api = api
        self._kind = kind
        self._definitions = definitions
        self._patience = patience
        self._awaited: set[GroupResource] = set()
        self._queue: WorkQueue[GroupResource] = WorkQueue(self._look, _AT_ONCE)
        api.registry.followers.append(self._served)

    def see_to(self, resource: GroupResource) -> None:
        """Look at the migrations of a resource."""
        self._queue.add(resource)
        self._queue.open()

    def pause(self) -> None:
        """Another does the work from now on."""
        self._awaited.clear()
        self._queue.pause()

    async def close(self) -> None:
        await self._queue.close()

    def _served(self, kind: Resource) -> None:
        resource = GroupResource(kind.group, kind.plural)
        if resource in self._awaited:
            self._awaited.discard(resource)
            self._queue.add(resource)

    def _migrations(self, resource: GroupResource) -> Iterator[JsonObject]:
        for entry in self._kind.cache.snapshot(None):
            try:
                migration = self._kind.read(entry)
            except errors.APIError:
                continue
            if resource_of(migration) == resource:
                yield migration

    async def _look(self, resource: GroupResource) -> None:
        await self._api.cache.wait_until_fresh(self._kind.cache)
        definition = DefinitionStatus(self._api, self._definitions, resource)
        while migration := following(self._migrations(resource)):
            try:
                await self._see_through(migration, definition)
            except Deleted:
                log.info("the migration %s of %s was deleted while it ran", migration["metadata"]["name"], resource)
            except _NotYet as wait:
                self._awaited.add(resource)
                self._queue.later(resource, wait.seconds)
                return
        await definition.let_go()

    async def _see_through(self, migration: JsonObject, definition: DefinitionStatus) -> None:
        status = MigrationStatus(self._api, self._kind, migration)
        before = migration.get("status") or {}
        if state.ended(before):
            # Who ended it has not lived to tell the definition.
            await definition.finish(success=state.holds(before, state.SUCCEEDED))
            await status.change(state.completed)
            return
        if not (state.holds(before, state.RUNNING) and definition.marked()):
            await definition.begin(migration["metadata"]["name"])
        try:
            why = await self._work(migration, status)
        except Vanished:
            why = unhandled("unable to obtain GVR from discovery")
        await definition.finish(success=not why)
        await status.change(lambda old, now: state.failed(old, why, now) if why else state.succeeded(old, now))

    async def _work(self, migration: JsonObject, status: MigrationStatus) -> str:
        """Rewrite the objects; why it failed, if it did."""
        resource, name = resource_of(migration), migration["metadata"]["name"]
        if self._api.registry.kind(*resource) is None:
            await status.change(state.begun)
            if version := self._api.registry.answered(*resource):
                gvr = f"{resource.group}/{version.version}, Resource={resource.plural}"
                return f'resource "{gvr}" does not support discovery operations: [update patch list]'
            left = self._patience() - self._age(migration)
            if left > 0:
                raise _NotYet(left)
            return state.NO_SUCH_RESOURCE
        revision = await self._api.store.revision()
        await status.change(lambda old, now: state.begun(old, now, revision))
        log.info("the migration %s of %s begins", name, resource)
        started = asyncio.get_running_loop().time()
        rewriting = Rewriting(self._api, resource, status.check)
        failures = await rewriting.run()
        seconds = asyncio.get_running_loop().time() - started
        log.info(
            "the migration %s of %s has rewritten %d objects in %.1f s", name, resource, rewriting.written, seconds
        )
        if not failures.count:
            return ""
        log.warning("the migration %s of %s has failed: %s", name, resource, failures.message())
        return failures.message()

    def _age(self, migration: JsonObject) -> float:
        """Seconds since a migration was created; others may have stored one without a time."""
        created = migration["metadata"].get("creationTimestamp")
        return (self._api.clock.now() - datetime.fromisoformat(created)).total_seconds() if created else math.inf
