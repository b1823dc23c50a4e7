"""The migrator: runs the migrations of each resource one after the other."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Callable, Iterator
from datetime import datetime

from polykind import errors
from polykind.apis.storagemigration import state
from polykind.apis.storagemigration.state import GroupResource, next_migration, target, unhandled
from polykind.contract import JsonObject
from polykind.migration.rewriter import NotServedError, Rewriter
from polykind.migration.status_writers import (
    CRDMigrationStatus,
    CRDReplacedError,
    MigrationDeletedError,
    MigrationStatus,
)
from polykind.operations.backend import Backend
from polykind.resources.builtin import BuiltinResource
from polykind.resources.resource import Resource
from polykind.strategies.apiextensions.strategy import CRDResource

log = logging.getLogger("polykind.migrations")


class _NotServedYetError(Exception):
    """The resource is not served, but its CRD may still be created. `seconds` is the time until the next attempt."""

    def __init__(self, seconds: float) -> None:
        super().__init__(seconds)
        self.seconds = seconds


class Migrator:
    """Runs the migrations of each resource in order. If the store fails, the migrations of the resource are retried."""

    def __init__(
        self,
        backend: Backend,
        served: BuiltinResource,
        crds: CRDResource,
        resource_timeout: Callable[[], float],
        add: Callable[[GroupResource], None],
    ) -> None:
        """`add` is called with a resource whose migrations can go on."""
        self._backend = backend
        self._add = add
        self._resource = served
        self._crds = crds
        self._resource_timeout = resource_timeout
        self._waiting: set[GroupResource] = set()
        backend.registry.observers.append(self._on_served)

    def forget_waiting(self) -> None:
        """Do not resume migrations that wait for their resource, because this replica is no longer the leader."""
        self._waiting.clear()

    def _on_served(self, served: Resource) -> None:
        """Resume the migrations that waited for this resource. Called when the server starts to serve a resource."""
        resource = GroupResource(served.group, served.plural)
        if resource in self._waiting:
            self._waiting.discard(resource)
            self._add(resource)

    def _migrations(self, resource: GroupResource) -> Iterator[JsonObject]:
        for cached in self._resource.cache.snapshot(None):
            try:
                migration = self._resource.read(cached)
            except errors.APIError:
                continue
            if target(migration) == resource:
                yield migration

    async def migrate(self, resource: GroupResource) -> float | None:
        """Run the unfinished migrations of a resource.

        If the resource is not served, return the seconds after which to try again.
        """
        await self._backend.cache.wait_until_fresh(self._resource.cache)
        while migration := next_migration(self._migrations(resource)):
            name = migration["metadata"]["name"]
            try:
                await self._run(migration, CRDMigrationStatus(self._backend, self._crds, resource))
            except MigrationDeletedError:
                log.info("migrator: migration %s of %s was deleted, stopping it", name, resource)
            except CRDReplacedError:
                log.info("migrator: %s was created again, starting migration %s again", resource, name)
                raise
            except _NotServedYetError as wait:
                self._waiting.add(resource)
                return wait.seconds
        await CRDMigrationStatus(self._backend, self._crds, resource).clear()
        return None

    async def _run(self, migration: JsonObject, crd_status: CRDMigrationStatus) -> None:
        status = MigrationStatus(self._backend, self._resource, migration)
        previous = migration.get("status") or {}
        if state.is_finished(previous):
            # The migration has finished, but its Running condition is still true. Its previous leader may have stopped
            # before it wrote the CRD's status, so write both now.
            await crd_status.finish(success=state.is_true(previous, state.SUCCEEDED))
            await status.change(state.completed)
            return
        if not (state.is_true(previous, state.RUNNING) and crd_status.is_marked()):
            await crd_status.begin(migration["metadata"]["name"])
        try:
            message = await self._migrate(migration, status, crd_status)
        except NotServedError:
            message = unhandled("unable to obtain GVR from discovery")
        await crd_status.finish(success=not message)
        await status.change(lambda old, now: state.failed(old, message, now) if message else state.succeeded(old, now))

    async def _migrate(self, migration: JsonObject, status: MigrationStatus, crd_status: CRDMigrationStatus) -> str:
        """Rewrite all objects of a migration. Return the failure message, or "" if the migration succeeds."""
        resource, name = target(migration), migration["metadata"]["name"]
        if self._backend.registry.resource(*resource) is None:
            await status.change(state.begun)
            if version := self._backend.registry.find_review(*resource):
                gvr = f"{resource.group}/{version.version}, Resource={resource.plural}"
                return f'resource "{gvr}" does not support discovery operations: [update patch list]'
            remaining = self._resource_timeout() - self._age(migration)
            if remaining > 0:
                raise _NotServedYetError(remaining)
            return state.NO_SUCH_RESOURCE
        revision = await self._backend.store.revision()
        await status.change(lambda old, now: state.begun(old, now, revision))
        log.info("migrator: starting migration %s of %s", name, resource)
        started = asyncio.get_running_loop().time()

        def check() -> None:
            status.check()
            crd_status.check()

        rewriter = Rewriter(self._backend, resource, check)
        failures = await rewriter.run()
        seconds = asyncio.get_running_loop().time() - started
        log.info("migrator: migration %s of %s rewrote %d objects in %.1f s", name, resource, rewriter.written, seconds)
        if not failures.count:
            return ""
        log.warning("migrator: migration %s of %s failed: %s", name, resource, failures.message())
        return failures.message()

    def _age(self, migration: JsonObject) -> float:
        """Return the number of seconds since a migration was created, infinity if it has no creationTimestamp."""
        created = migration["metadata"].get("creationTimestamp")
        return (self._backend.clock.now() - datetime.fromisoformat(created)).total_seconds() if created else math.inf
