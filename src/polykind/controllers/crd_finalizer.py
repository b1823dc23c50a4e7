"""The CRD finalizer: deletes a CRD's instances before the CRD itself is removed."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from polykind import errors
from polykind.cache.cached_object import CachedObject
from polykind.contract import Leadership, RevisionConflictError, StoreError
from polykind.controllers.bulk_delete import delete_all
from polykind.controllers.controller_runtime import Controller
from polykind.controllers.crd_status import CRDStatusWriter, SeenCRD
from polykind.controllers.object_client import ObjectClient
from polykind.controllers.object_metadata import is_same_object
from polykind.controllers.workqueue import UnfinishedError
from polykind.crd import conditions
from polykind.crd.conditions import ESTABLISHED
from polykind.crd.status import terminating_condition
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
    """Deletes the instances of CRDs that are being deleted, then removes the finalizer of these CRDs.

    As for namespaces, the instances are listed in the step of the event loop in which the CRD is known to be the one
    that is being deleted. The instances of a CRD that is created later with the same name are kept.
    """

    def __init__(
        self,
        backend: Backend,
        resource: CRDResource,
        find: Callable[[str], SeenCRD | None],
        statuses: CRDStatusWriter,
        leadership: Leadership,
        now: Callable[[], str],
    ) -> None:
        """`find` returns the newest state of a CRD."""
        self._backend = backend
        self._resource = resource
        self._find = find
        self._statuses = statuses
        self._now = now
        self._client = ObjectClient(backend)
        self._failing: set[str] = set()
        """The CRDs whose last pass failed. Their Terminating condition stays until a pass succeeds."""
        self._controller: Controller[str] = Controller(
            leadership, self._reconcile, end=self._failing.clear, max_delay=_MAX_RETRY_DELAY
        )
        self.start, self.close = self._controller.start, self._controller.close
        self.add, self.attempt = self._controller.add, self._controller.attempt

    async def _reconcile(self, name: str) -> float | None:
        """Delete the instances of a CRD. If none is left, remove the finalizer, otherwise return the delay to retry."""
        seen = self._find(name)
        if seen is None or not _is_finalizing(seen):
            self._failing.discard(name)
            return None
        try:
            emptied = await self._delete_instances(seen)
        except _DeletionError as error:
            log.warning("CRD finalizer: cannot delete the instances of %s, retrying: %s", name, error.__cause__)
            self._failing.add(name)
            await self._write_condition(seen, "InstanceDeletionFailed", str(error))
            raise UnfinishedError from None
        self._failing.discard(name)
        if not emptied:
            return _RETRY_DELAY
        await self._remove_finalizer(seen)
        return None

    async def _delete_instances(self, seen: SeenCRD) -> bool:
        """Delete every instance of a CRD and return True if none is left. Raise _DeletionError if this fails."""
        resource = self._backend.registry.resource(seen.crd["spec"]["group"], seen.crd["spec"]["names"]["plural"])
        if (
            not isinstance(resource, CustomResource)
            or resource.crd["metadata"].get("uid") != seen.crd["metadata"]["uid"]
        ):
            return True
        cache = resource.cache
        await self._backend.cache.load(cache)
        # A load may read newer objects than the cache of CRDs has, which now catches up.
        await self._backend.cache.wait_until_fresh(self._resource.cache)
        if not cache.loaded or self._current(seen) is None:
            raise UnfinishedError
        objects = cache.snapshot(None)
        if not objects:
            return True
        if seen.cached.name not in self._failing:
            await self._write_condition(seen, "InstanceDeletionInProgress")
        try:
            await _check_readable(resource, objects)
        except (errors.APIError, StoreError) as error:
            raise _DeletionError(f"could not list instances: {_message(error)}") from error
        try:
            await delete_all(self._client, resource, objects, lambda: self._current(seen) is not None)
        except (errors.APIError, StoreError) as error:
            raise _DeletionError(f"could not issue all deletes: {_message(error)}") from error
        return not len(cache)

    def _current(self, seen: SeenCRD) -> SeenCRD | None:
        """Return the newest state of a CRD, or None if it was replaced or needs no finalizer any more."""
        current = self._find(seen.cached.name)
        if current is None or not is_same_object(current.cached, seen.cached) or not _is_finalizing(current):
            return None
        return current

    async def _write_condition(self, seen: SeenCRD, reason: str, message: str = "") -> None:
        current = self._current(seen)
        if current is not None:
            status = conditions.set_condition(
                current.crd["status"], terminating_condition(reason, message), self._now()
            )
            if status != current.crd["status"]:
                await self._statuses.write(current, status)

    async def _remove_finalizer(self, seen: SeenCRD) -> None:
        """Remove the finalizer of a CRD. If the CRD has no other finalizer, delete it."""
        while (current := self._current(seen)) is not None:
            meta = dict(current.crd["metadata"])
            meta["finalizers"] = [f for f in meta["finalizers"] if f != FINALIZER]
            try:
                if not meta["finalizers"]:
                    await self._client.remove_cached(self._resource.cache, current.cached)
                    return
                established = conditions.is_true(current.crd, ESTABLISHED)
                condition = terminating_condition("InstanceDeletionCompleted" if established else "NeverEstablished")
                status = conditions.set_condition(current.crd["status"], condition, self._now())
                tracked = await self._statuses.track({**current.crd, "metadata": meta}, status)
                if await self._statuses.write_untracked(current, tracked, status):
                    return
            except RevisionConflictError:
                continue


def _is_finalizing(seen: SeenCRD) -> bool:
    """True if a CRD is being deleted and still has the finalizer of this controller."""
    meta = seen.crd["metadata"]
    return bool(meta.get("deletionTimestamp")) and FINALIZER in (meta.get("finalizers") or [])


async def _check_readable(resource: CustomResource, objects: Sequence[CachedObject]) -> None:
    """Raise APIError if an instance cannot be converted to the storage version. Then no instance is deleted."""
    version = resource.storage_version()
    old = [cached for cached in objects if cached.version != resource.storage]
    for start in range(0, len(old), _BATCH_SIZE):
        await version.representer.view_many(old[start : start + _BATCH_SIZE])


def _message(error: errors.APIError | StoreError) -> str:
    return error.upstream_message if isinstance(error, errors.APIError) else str(error)
