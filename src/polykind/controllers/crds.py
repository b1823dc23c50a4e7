"""Definitions come to life: what is served follows them, and their status follows what is served."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from polykind import errors
from polykind.apis.apiextensions.strategy import CRDResource, outline
from polykind.cache.cached_object import CachedObject
from polykind.cache.resource_cache import ObjectChange
from polykind.contract import JsonObject, Leadership, StoreError
from polykind.controllers.crd_converters import CRDConverters
from polykind.controllers.crd_finalizer import Retirement
from polykind.controllers.crd_status import Statuses
from polykind.conversion.health import TYPE as CONVERSION_HEALTHY
from polykind.crd import conditions
from polykind.crd.conditions import ESTABLISHED, NAMES_ACCEPTED
from polykind.crd.naming import AcceptedNames
from polykind.crd.status import nonstructural_condition, reconcile
from polykind.crd.summary import CRDSummary, load_full
from polykind.discovery import CrdEntries, Discovery, GroupVersionEntry, from_crd
from polykind.resources.custom import CustomResource
from polykind.taskless import in_task
from polykind.verbs.context import Backend

log = logging.getLogger("polykind.definitions")

_API_VERSION = "apiextensions.k8s.io/v1"
_RETRY = 1.0
_LEISURE = 0.02
_LEADER = 2.0
"""How long a write of a definition waits for the leader to settle it; if none leads now, it is settled later."""


class CRDController:
    """Follows the definitions in the store."""

    def __init__(
        self,
        api: Backend,
        kind: CRDResource,
        builtins: tuple[GroupVersionEntry, ...],
        converters: CRDConverters,
        keep: bool,
        stamp: Callable[[], str],
        leadership: Leadership,
    ) -> None:
        self._api = api
        self._kind = kind
        self._converters = converters
        converters.write = self._tell_health
        self._keep = keep
        self._stamp = stamp
        self._leadership = leadership
        self._changed = asyncio.Event()
        self._builtins = builtins
        self._crds: dict[str, CRDSummary] = {}
        self._taken = AcceptedNames()
        self._entries: dict[str, CrdEntries] = {}
        self._discovery = Discovery((), builtins)
        self._stale = False
        self._statuses = Statuses(api, kind, stamp)
        self._retirement = Retirement(api, kind, self._crds, self._statuses, stamp)
        self._settling: dict[str, asyncio.Task[None]] = {}
        self._flaws: dict[str, tuple[bytes, JsonObject | None]] = {}
        """By name, the mark of a spec that was judged and the condition it deserves: judging takes a walk of it."""
        self._reviewing: asyncio.Task[None] | None = None
        self._reloading: asyncio.Task[None] | None = None

    async def start(self) -> None:
        await self._api.cache.load(self._kind.cache)
        entries = self._kind.cache.snapshot(None)
        for index, entry in enumerate(entries):
            self._take(entry)
            if index % 50 == 49:
                await asyncio.sleep(0)
        self._kind.cache.observers.append(self)
        self._kind.settle = self.settle
        self._leadership.subscribe(self._lead)
        self._lead(self._leadership.leading)

    async def close(self) -> None:
        tasks = [*self._settling.values()]
        tasks += [task for task in (self._reviewing, self._reloading) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._retirement.close()

    def _lead(self, leading: bool) -> None:
        """Only the leader writes statuses and empties what is deleted; it takes up whatever was left undone."""
        self._retirement.pause()
        if self._reviewing is not None:
            self._reviewing.cancel()
        if leading:
            for name, crd in self._crds.items():
                if not _looks_settled(crd):
                    self._soon(name)
            self._reviewing = asyncio.get_running_loop().create_task(self._review(list(self._crds)))

    async def _review(self, names: list[str]) -> None:
        """Look at the others too, in no hurry: whoever wrote them may have ended before their status was right."""
        for name in names:
            await asyncio.sleep(_LEISURE)
            if name in self._crds and name not in self._flaws:
                await self._later(name)

    def discovery(self) -> Discovery:
        if self._stale:
            self._discovery = Discovery(self._entries.values(), self._builtins, previous=self._discovery)
            self._stale = False
        return self._discovery

    # ------------------------------------------------------------------ what is served follows the definitions

    def on_changes(self, occurrences: list[ObjectChange]) -> None:
        for occurrence in occurrences:
            if occurrence.new is not None:
                self._take(occurrence.new)
                self._soon(occurrence.new.name)
            else:
                self._drop(occurrence.cached.name)
        self._changed.set()

    def on_reset(self) -> None:
        """The definitions are read anew: whatever changed meanwhile is taken in then."""
        self._reloading = asyncio.get_running_loop().create_task(self._reload())

    async def _reload(self) -> None:
        cache = self._kind.cache
        await self._api.cache.reload(cache, _RETRY)
        present = set()
        for entry in cache.snapshot(None):
            present.add(entry.name)
            self._take(entry)
        for name in [n for n in self._crds if n not in present]:
            self._drop(name)

    def _take(self, entry: CachedObject) -> None:
        """Serve what a definition says now. One that others have stored and nobody can serve harms itself alone."""
        try:
            self._take_in(entry)
        except errors.APIError as error:
            log.error("the definition %s in the store cannot be read and is not served: %s", entry.name, error.message)
        except Exception:
            log.exception("the definition %s in the store makes no sense and is not served", entry.name)
            self._drop(entry.name)

    def _take_in(self, entry: CachedObject) -> None:
        crd = outline(entry)
        before = self._crds.get(entry.name)
        self._crds[entry.name] = crd
        if before is not None:
            self._taken.remove(before)
        self._taken.add(crd)
        if before is not None and before["status"]["acceptedNames"] != crd["status"]["acceptedNames"]:
            # What was taken from it, it may have back before others.
            self._soon(entry.name)
            self._reconsider(crd["spec"]["group"])
        self._entries[entry.name] = from_crd(crd).prepare()
        self._stale = True
        served = conditions.is_true(crd, NAMES_ACCEPTED) or conditions.is_true(crd, ESTABLISHED)
        if not served:
            self._unserve(crd)
            return
        kind = self._api.registry.kind(crd["spec"]["group"], crd["spec"]["names"]["plural"])
        creatable = not conditions.is_true(crd, "Terminating")
        if isinstance(kind, CustomResource) and before is not None and _same(before, crd):
            kind.crd = crd
            kind.creatable = creatable
            self._converters.noted(crd)
            return
        self._serve(crd, kind if isinstance(kind, CustomResource) else None, creatable, entry.revision)

    def _serve(self, crd: JsonObject, before: CustomResource | None, creatable: bool, revision: int) -> None:
        cache = self._api.cache.resource(crd["spec"]["group"], crd["spec"]["names"]["plural"])
        if before is not None and before.crd["metadata"]["uid"] != crd["metadata"]["uid"]:
            self._unserve(before.crd)
            cache = self._api.cache.resource(crd["spec"]["group"], crd["spec"]["names"]["plural"])
        cache.schema_generation += 1
        kind = CustomResource(crd, cache, self._converters.take(crd), self._keep)
        kind.creatable, kind.watchable_since = creatable, revision
        self._api.registry.put(kind)
        if before is not None:
            before.end_watches()

    def _drop(self, name: str) -> None:
        crd = self._crds.pop(name, None)
        self._flaws.pop(name, None)
        self._entries.pop(name, None)
        self._stale = True
        if crd is not None:
            self._taken.remove(crd)
            self._unserve(crd)
            self._converters.forget(name)
            self._api.metrics.forget_crd(name)
            self._api.metrics.forget_resource(crd["spec"]["group"], crd["spec"]["names"]["plural"])
            self._reconsider(crd["spec"]["group"])

    def _reconsider(self, group: str) -> None:
        """Names may have become free: look again at those who wait for one. The reference does so in no order."""
        for other in reversed(self._crds.values()):
            if other["spec"]["group"] == group and not conditions.is_true(other, NAMES_ACCEPTED):
                self._soon(other["metadata"]["name"])

    def _unserve(self, crd: JsonObject) -> None:
        group, plural = crd["spec"]["group"], crd["spec"]["names"]["plural"]
        kind = self._api.registry.kind(group, plural)
        if isinstance(kind, CustomResource) and kind.crd["metadata"]["name"] == crd["metadata"]["name"]:
            self._api.registry.remove(group, plural)
            kind.end_watches()
            self._api.cache.remove(kind.cache)
            self._converters.drop(crd["metadata"]["name"])

    # ------------------------------------------------------------------ their status follows

    def _soon(self, name: str) -> None:
        if self._leadership.leading:
            self._later(name)

    def _later(self, name: str) -> asyncio.Task[None]:
        """See to a definition's status; whoever asks meanwhile shares the work."""
        task = self._settling.get(name)
        if task is None:
            task = self._settling[name] = asyncio.get_running_loop().create_task(self._settle(name))
            task.add_done_callback(lambda _: self._settling.pop(name, None))
        return task

    async def settle(self, name: str) -> None:
        """Bring a definition's status up to date, at once: a client that created it may use it now."""
        if self._leadership.leading:
            await asyncio.shield(self._later(name))
        else:
            await in_task(self._await_leader(name))

    async def _await_leader(self, name: str) -> None:
        try:
            async with asyncio.timeout(_LEADER):
                while self._due(name) is not None:
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            log.info("the status of %s waits for a leader", name)

    async def _settle(self, name: str) -> None:
        try:
            await self._reconcile(name)
        except StoreError as error:
            log.warning("the status of %s could not be written, it is tried again: %s", name, error)
            asyncio.get_running_loop().call_later(_RETRY, self._soon, name)
        except errors.APIError as error:
            # Only now have its schemas been read.
            log.error("the definition %s in the store cannot be read and is not served: %s", name, error.message)
            if name in self._crds:
                self._unserve(self._crds[name])

    async def _reconcile(self, name: str) -> None:
        while (due := self._due(name)) is not None:
            _, crd, status = due
            # Its names are spoken for while they are on their way to the store.
            promised: JsonObject = {"spec": crd["spec"], "status": status}
            self._taken.add(promised)
            written = False
            try:
                written = await self._statuses.write(name, *due)
            finally:
                self._taken.remove(promised)
                if not written:
                    self._reconsider(crd["spec"]["group"])
            if written and self._kind.cache.get(name) is due[0]:
                # It is looked at again when the store tells of it: a name it has now may be in its own way, or out.
                break
        now = self._crds.get(name)
        if now is not None and now["metadata"].get("deletionTimestamp"):
            self._retirement.begin(name)

    def _due(self, name: str) -> tuple[CachedObject, JsonObject, JsonObject] | None:
        """A definition and the status that it should have, if it has another."""
        entry, crd = self._kind.cache.get(name), self._crds.get(name)
        if entry is None or crd is None:
            return None
        status = reconcile(crd, self._taken, self._stamp(), flaw=self._flaw(name, crd))
        return None if status == crd["status"] else (entry, crd, status)

    def _flaw(self, name: str, crd: CRDSummary) -> JsonObject | None:
        judged = self._flaws.get(name)
        if judged is None or judged[0] != crd.spec_digest:
            meta = crd["metadata"]
            sound = meta.get("generation") == 1 and self._kind.was_structural(meta["uid"])
            judged = self._flaws[name] = (crd.spec_digest, None if sound else nonstructural_condition(load_full(crd)))
        return judged[1]

    async def _tell_health(self, name: str, condition: JsonObject | None) -> None:
        entry, crd = self._kind.cache.get(name), self._crds.get(name)
        if entry is None or crd is None:
            return
        if condition is not None:
            status = conditions.set_condition(crd["status"], condition, self._stamp())
        else:
            status = conditions.remove_condition(crd["status"], CONVERSION_HEALTHY)
        await self._statuses.restate(name, entry, crd["metadata"], status)


def _same(before: CRDSummary, after: CRDSummary) -> bool:
    """Whether two states of a definition serve the same."""
    return bool(
        before["metadata"]["uid"] == after["metadata"]["uid"]
        and before["status"].get("acceptedNames") == after["status"].get("acceptedNames")
        and (before.spec_digest == after.spec_digest or load_full(before)["spec"] == load_full(after)["spec"])
    )


def _looks_settled(crd: JsonObject) -> bool:
    """Whether a definition bears the status of one that has been seen to, and is to stay."""
    named = crd["status"]["acceptedNames"] == crd["spec"]["names"]
    return named and conditions.is_true(crd, ESTABLISHED) and not crd["metadata"].get("deletionTimestamp")
