"""The end of definitions: their instances go first."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence

from polykind import errors
from polykind.apis.apiextensions.strategy import FINALIZER, CRDResource
from polykind.cache.cached_object import CachedObject
from polykind.contract import JsonObject, RevisionConflictError, StoreError
from polykind.controllers.bulk_delete import delete_all
from polykind.controllers.crd_status import Statuses
from polykind.crd import conditions
from polykind.crd.conditions import ESTABLISHED
from polykind.crd.status import terminating_condition
from polykind.crd.summary import CRDSummary
from polykind.resources.custom import CustomResource
from polykind.verbs.context import Backend

log = logging.getLogger("polykind.definitions")

_PAUSE = 0.1
"""Seconds between two looks at what is left."""
_LONGEST_PAUSE = 2.0
"""What they grow to while deletions fail."""
_SLICE = 500


class _Failed(Exception):
    """Why instances cannot be deleted yet."""


class Retirement:
    """Empties definitions that are being deleted, and lets them go. `crds` are those that there are."""

    def __init__(
        self,
        api: Backend,
        kind: CRDResource,
        crds: Mapping[str, CRDSummary],
        statuses: Statuses,
        stamp: Callable[[], str],
    ) -> None:
        self._api = api
        self._kind = kind
        self._crds = crds
        self._statuses = statuses
        self._stamp = stamp
        self._cleaning: dict[str, asyncio.Task[None]] = {}

    def pause(self) -> None:
        """Another does the work from now on."""
        for task in self._cleaning.values():
            task.cancel()

    async def close(self) -> None:
        self.pause()
        await asyncio.gather(*self._cleaning.values(), return_exceptions=True)

    def begin(self, name: str) -> None:
        """See to one whose deletion was asked for."""
        if name not in self._cleaning:
            task = asyncio.get_running_loop().create_task(self._clean(name))
            self._cleaning[name] = task
            task.add_done_callback(lambda _: self._cleaning.pop(name, None))

    async def _clean(self, name: str) -> None:
        """Delete a definition's instances, then let it go."""
        pause, failing = _PAUSE, False
        while True:
            crd = self._crds.get(name)
            if crd is None or FINALIZER not in (crd["metadata"].get("finalizers") or []):
                return
            try:
                if await self._empty(crd, failing):
                    await self._release(name)
                    return
                pause, failing = _PAUSE, False
            except _Failed as failure:
                log.warning("the instances of %s could not be deleted yet: %s", name, failure.__cause__)
                await self._condition(name, "InstanceDeletionFailed", str(failure))
                pause, failing = min(pause * 2, _LONGEST_PAUSE), True
            await asyncio.sleep(pause)

    async def _empty(self, crd: JsonObject, failing: bool) -> bool:
        """Ask for the deletion of every instance; whether none is left. Raises _Failed.

        `failing`: it has failed before, which is told until it does not.
        """
        kind = self._api.registry.kind(crd["spec"]["group"], crd["spec"]["names"]["plural"])
        if not isinstance(kind, CustomResource) or kind.crd["metadata"]["name"] != crd["metadata"]["name"]:
            return True
        cache = kind.cache
        await self._api.cache.wait_until_fresh(cache)
        if not len(cache):
            return True
        if not failing:
            await self._condition(crd["metadata"]["name"], "InstanceDeletionInProgress")
        entries = cache.snapshot(None)
        try:
            await _read(kind, entries)
        except (errors.APIError, StoreError) as error:
            raise _Failed(f"could not list instances: {_said(error)}") from error
        try:
            await delete_all(self._api, kind, entries)
        except (errors.APIError, StoreError) as error:
            raise _Failed(f"could not issue all deletes: {_said(error)}") from error
        return not len(cache)

    async def _condition(self, name: str, reason: str, why: str = "") -> None:
        entry, crd = self._kind.cache.get(name), self._crds.get(name)
        if entry is None or crd is None:
            return
        status = conditions.set_condition(crd["status"], terminating_condition(reason, why), self._stamp())
        if status != crd["status"]:
            await self._statuses.write(name, entry, crd, status)

    async def _release(self, name: str) -> None:
        """Remove our finalizer; without another one the definition goes."""
        while True:
            entry, crd = self._kind.cache.get(name), self._crds.get(name)
            if entry is None or crd is None:
                return
            meta = dict(crd["metadata"])
            left = [f for f in meta.get("finalizers") or [] if f != FINALIZER]
            try:
                if not left:
                    await self._api.store.delete(self._kind.cache.prefix + name, expect=entry.revision)
                    return
                meta["finalizers"] = left
                established = conditions.is_true(crd, ESTABLISHED)
                done = terminating_condition("InstanceDeletionCompleted" if established else "NeverEstablished")
                status = conditions.set_condition(crd["status"], done, self._stamp())
                if await self._statuses.write(name, entry, {**crd, "metadata": meta}, status):
                    return
            except RevisionConflictError:
                continue


async def _read(kind: CustomResource, entries: Sequence[CachedObject]) -> None:
    """See that all can be read, before the first goes; what is stored as it is served can."""
    version = kind.storage_version()
    old = [entry for entry in entries if entry.version != kind.storage]
    for start in range(0, len(old), _SLICE):
        await version.representer.view_many(old[start : start + _SLICE])


def _said(error: errors.APIError | StoreError) -> str:
    return error.upstream_message if isinstance(error, errors.APIError) else str(error)
