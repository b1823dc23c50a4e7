"""The CRD finalizer: deletes a CRD's instances before the CRD itself is removed."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence

from polykind import errors
from polykind.cache.cached_object import CachedObject
from polykind.contract import JsonObject, RevisionConflictError, StoreError
from polykind.controllers.bulk_delete import delete_all
from polykind.controllers.crd_status import CRDStatusWriter
from polykind.controllers.object_client import ObjectClient
from polykind.crd import conditions
from polykind.crd.conditions import ESTABLISHED
from polykind.crd.status import terminating_condition
from polykind.crd.summary import CRDSummary
from polykind.operations.backend import Backend
from polykind.resources.custom import CustomResource
from polykind.strategies.apiextensions.strategy import FINALIZER, CRDResource

log = logging.getLogger("polykind.crds")

_RETRY_DELAY = 0.1
"""Seconds between two passes over the remaining instances of a CRD, if no deletion fails."""
_MAX_RETRY_DELAY = 2.0
"""Maximum delay in seconds between two passes. The delay doubles after each failed pass."""
_BATCH_SIZE = 500


class _DeletionError(Exception):
    """The instances cannot be listed or deleted. The Terminating condition shows the message of this error."""


class CRDFinalizer:
    """Deletes the instances of CRDs that are being deleted, then removes the finalizer of these CRDs."""

    def __init__(
        self,
        backend: Backend,
        resource: CRDResource,
        crds: Mapping[str, CRDSummary],
        statuses: CRDStatusWriter,
        now: Callable[[], str],
    ) -> None:
        self._backend = backend
        self._resource = resource
        self._crds = crds
        self._statuses = statuses
        self._now = now
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def pause(self) -> None:
        """Cancel all work because this replica is no longer the leader."""
        for task in self._tasks.values():
            task.cancel()

    async def close(self) -> None:
        self.pause()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    def start(self, name: str) -> None:
        """Start to delete the instances of a CRD, unless the deletion is already running."""
        if name not in self._tasks:
            task = asyncio.get_running_loop().create_task(self._finalize(name))
            self._tasks[name] = task
            task.add_done_callback(lambda _: self._tasks.pop(name, None))

    async def _finalize(self, name: str) -> None:
        """Delete a CRD's instances in passes until none is left, then remove the finalizer."""
        delay, failing = _RETRY_DELAY, False
        while True:
            crd = self._crds.get(name)
            if crd is None or FINALIZER not in (crd["metadata"].get("finalizers") or []):
                return
            try:
                if await self._delete_instances(crd, failing):
                    await self._remove_finalizer(name)
                    return
                delay, failing = _RETRY_DELAY, False
            except _DeletionError as error:
                log.warning("CRD finalizer: cannot delete the instances of %s, retrying: %s", name, error.__cause__)
                await self._write_condition(name, "InstanceDeletionFailed", str(error))
                delay, failing = min(delay * 2, _MAX_RETRY_DELAY), True
            await asyncio.sleep(delay)

    async def _delete_instances(self, crd: JsonObject, failing: bool) -> bool:
        """Delete every instance of a CRD and return True if none is left. Raise _DeletionError if this fails.

        `failing` is true if the previous pass failed. Its Terminating condition stays until a pass succeeds.
        """
        resource = self._backend.registry.resource(crd["spec"]["group"], crd["spec"]["names"]["plural"])
        if not isinstance(resource, CustomResource) or resource.crd["metadata"]["name"] != crd["metadata"]["name"]:
            return True
        cache = resource.cache
        await self._backend.cache.wait_until_fresh(cache)
        if not len(cache):
            return True
        if not failing:
            await self._write_condition(crd["metadata"]["name"], "InstanceDeletionInProgress")
        objects = cache.snapshot(None)
        try:
            await _check_readable(resource, objects)
        except (errors.APIError, StoreError) as error:
            raise _DeletionError(f"could not list instances: {_message(error)}") from error
        try:
            await delete_all(ObjectClient(self._backend), resource, objects, lambda: True)
        except (errors.APIError, StoreError) as error:
            raise _DeletionError(f"could not issue all deletes: {_message(error)}") from error
        return not len(cache)

    async def _write_condition(self, name: str, reason: str, message: str = "") -> None:
        cached, crd = self._resource.cache.get(name), self._crds.get(name)
        if cached is None or crd is None:
            return
        status = conditions.set_condition(crd["status"], terminating_condition(reason, message), self._now())
        if status != crd["status"]:
            await self._statuses.write(name, cached, crd, status)

    async def _remove_finalizer(self, name: str) -> None:
        """Remove the finalizer of a CRD. If the CRD has no other finalizer, delete it."""
        while True:
            cached, crd = self._resource.cache.get(name), self._crds.get(name)
            if cached is None or crd is None:
                return
            meta = dict(crd["metadata"])
            remaining = [f for f in meta.get("finalizers") or [] if f != FINALIZER]
            try:
                if not remaining:
                    await self._backend.store.delete(self._resource.cache.prefix + name, expect=cached.revision)
                    return
                meta["finalizers"] = remaining
                established = conditions.is_true(crd, ESTABLISHED)
                condition = terminating_condition("InstanceDeletionCompleted" if established else "NeverEstablished")
                status = conditions.set_condition(crd["status"], condition, self._now())
                if await self._statuses.write(name, cached, {**crd, "metadata": meta}, status):
                    return
            except RevisionConflictError:
                continue


async def _check_readable(resource: CustomResource, objects: Sequence[CachedObject]) -> None:
    """Raise APIError if an instance cannot be converted to the storage version. Then no instance is deleted."""
    version = resource.storage_version()
    old = [cached for cached in objects if cached.version != resource.storage]
    for start in range(0, len(old), _BATCH_SIZE):
        await version.representer.view_many(old[start : start + _BATCH_SIZE])


def _message(error: errors.APIError | StoreError) -> str:
    return error.upstream_message if isinstance(error, errors.APIError) else str(error)
