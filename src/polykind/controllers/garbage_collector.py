"""Garbage collection: what is owned goes when its owners have gone, before them, or is let free.

Deleting in the background, an owner goes at once and its dependents follow. In the foreground it stays, with a
finalizer, until those dependents that block it are gone. Orphaning, it stays until no dependent refers to it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from enum import Enum

from polykind import errors
from polykind.auth.user import service_account
from polykind.cache.cached_object import CachedObject
from polykind.cache.resource_cache import ObjectChange, ResourceCache
from polykind.codec import json_codec
from polykind.contract import JsonObject, Leadership, StoreError
from polykind.controllers.owner_graph import DELETION, OWNERS, Metadata, Ownership, Place, Reference, metadata
from polykind.controllers.workqueue import WorkQueue
from polykind.http.messages import Request
from polykind.http.options import DeleteOptions, UpdateOptions
from polykind.resources.resource import Resource
from polykind.verbs.context import Backend, RequestContext
from polykind.verbs.delete import FOREGROUND, ORPHAN, delete_object
from polykind.verbs.update import change_object

log = logging.getLogger("polykind.garbage")

_MANAGER = "garbage-collector"
_USER = service_account("generic-garbage-collector")
_SLICE = 500
_PAGE = 2000
_REMEMBERED = 1024
_RETRY = 0.5


class Owner(Enum):
    """What a reference leads to."""

    SOLID = "there"
    WAITING = "being deleted in the foreground"
    DANGLING = "gone"
    UNKNOWN = "of a kind that is not served, or out of the dependent's reach"


class GarbageCollector:
    """Follows every resource that is served."""

    def __init__(self, api: Backend, leadership: Leadership, *, alone: bool) -> None:
        """`alone`: nobody but this server writes to the store."""
        self._api = api
        self._leadership = leadership
        self._alone = alone
        self._ownership = Ownership()
        self._queue: WorkQueue[Place] = WorkQueue(self._look)
        self._followed: dict[tuple[str, str], Following] = {}
        self._unread: dict[Following, None] = {}
        self._reading: asyncio.Task[None] | None = None
        self._complete = asyncio.Event()
        """Set while every resource has been read: only then is it known who has no dependents."""
        self._gone: dict[str, tuple[str, str, str, str]] = {}
        """Owners seen to go: their kinds may have gone with them."""
        self._doubted: dict[Place, float] = {}
        """Dependents of owners that nobody has seen, and when they were first looked at."""
        self.patience = 15.0
        """Seconds until an owner that nobody has seen is believed to be none: what is new is left alone for a while."""
        self._unknown: dict[tuple[str, str], set[Place]] = {}
        """Dependents of kinds that are not served, to be looked at again if they come to be."""

    def start(self) -> None:
        self._leadership.subscribe(self._lead)
        if self._leadership.leading:
            self._lead(True)

    def _lead(self, leading: bool) -> None:
        """Only the leader collects: it reads what there is, beside what else is done, and follows it from then on."""
        self._stop()
        if leading:
            self._api.registry.followers.append(self._follow)
            for kind in self._api.registry.kinds():
                self._follow(kind)
            self._queue.open()

    def _stop(self) -> None:
        if self._follow in self._api.registry.followers:
            self._api.registry.followers.remove(self._follow)
        for following in self._followed.values():
            if following in following.cache.observers:
                following.cache.observers.remove(following)
        self._followed, self._unread, self._ownership = {}, {}, Ownership()
        if self._reading is not None:
            self._reading.cancel()
        self._queue.pause()

    async def close(self) -> None:
        self._stop()
        if self._reading is not None:
            await asyncio.gather(self._reading, return_exceptions=True)
        await self._queue.close()

    # ------------------------------------------------------------------ knowing who owns whom

    def _follow(self, kind: Resource) -> None:
        """A resource is served from now on, perhaps in another form than before."""
        following = self._followed.get((kind.group, kind.plural))
        if following is None or following.cache is not kind.cache:
            following = Following(self, kind)
            self._followed[kind.group, kind.plural] = following
            kind.cache.observers.append(following)
            self.read(following)
        for place in self._unknown.pop((kind.group, kind.kind), ()):
            self._queue.add(place)

    def read(self, following: Following) -> None:
        """Read a resource, again if it has been read before."""
        self._unread[following] = None
        self._complete.clear()
        if self._reading is None or self._reading.done() or self._reading.cancelling():
            self._reading = asyncio.get_running_loop().create_task(self._read_all())

    async def _read_all(self) -> None:
        while self._unread:
            following = next(iter(self._unread))
            try:
                await self._read(following)
            except StoreError as error:
                log.warning("who owns whom of %s could not be read yet: %s", following, error)
                await asyncio.sleep(_RETRY)
                continue
            self._unread.pop(following, None)
            # Others come first: nobody waits for this.
            await asyncio.sleep(0)
        self._complete.set()

    async def _read(self, following: Following) -> None:
        cache = following.cache
        if self._alone and not cache.loaded and not await self._concerned(cache):
            # Whoever writes to it will have read it into the cache first, so that nothing is missed.
            return
        await self._api.cache.load(cache)
        for place in self._ownership.owned(following.group, following.plural):
            if cache.get(place.key) is None:
                self._ownership.record(place, ())
        for index, entry in enumerate(cache.snapshot(None)):
            if OWNERS in entry.raw or DELETION in entry.raw:
                self.changed(following.place(entry), None, entry)
                self._queue.add(following.place(entry))
            if index % _SLICE == _SLICE - 1:
                await asyncio.sleep(0)

    async def _concerned(self, cache: ResourceCache) -> bool:
        """Whether a resource that nobody has asked for has objects with owners, or on their way out."""
        after = ""
        while True:
            page = await self._api.store.range(cache.prefix, after=after, limit=_PAGE)
            if any(OWNERS in item.value or DELETION in item.value for item in page.items):
                return True
            if not page.remaining:
                return False
            after = page.items[-1].key

    def saw(self, following: Following, occurrence: ObjectChange) -> None:
        """An object was written or has gone."""
        old, new = occurrence.old, occurrence.new
        if new is None:
            if old is not None and self._ownership:
                self._went(following, old)
        elif OWNERS in new.raw or DELETION in new.raw or (old is not None and OWNERS in old.raw):
            self.changed(following.place(new), old, new)

    def changed(self, place: Place, old: CachedObject | None, new: CachedObject) -> None:
        now = metadata(new)
        owners = now.ownerReferences or ()
        before = self._ownership.record(place, owners)
        if owners != before:
            if owners:
                self._queue.add(place)
            self._look_at_owners(place, before)
        if now.awaits(ORPHAN):
            self._queue.add(place)
        if now.awaits(FOREGROUND) and not metadata(old).awaits(FOREGROUND):
            self._queue.add(place)
            for dependent in self._ownership.dependents(now.uid):
                self._queue.add(dependent)

    def _went(self, following: Following, old: CachedObject) -> None:
        place, before = following.place(old), metadata(old)
        dependents = self._ownership.dependents(before.uid)
        if dependents:
            self._gone[before.uid] = (following.group, following.kind, old.namespace, old.name)
            while len(self._gone) > _REMEMBERED:
                del self._gone[next(iter(self._gone))]
        for dependent in dependents:
            self._queue.add(dependent)
        self._look_at_owners(place, self._ownership.record(place, ()))

    def _look_at_owners(self, place: Place, owners: tuple[Reference, ...]) -> None:
        """An owner may have been waiting for this dependent."""
        namespace = place.key.rpartition("/")[0]
        for owner in owners:
            kind = self._api.registry.named(owner.group, owner.kind)
            if kind is not None:
                self._queue.add(Place(kind.group, kind.plural, kind.key(namespace, owner.name)))

    # ------------------------------------------------------------------ looking at one object

    async def _look(self, place: Place) -> None:
        await self._complete.wait()
        kind = self._api.registry.kind(place.group, place.plural)
        if kind is None:
            self._ownership.record(place, ())
            return
        await self._api.cache.wait_until_fresh(kind.cache)
        entry = kind.cache.get(place.key)
        if entry is None:
            self._ownership.record(place, ())
            self._doubted.pop(place, None)
            return
        meta = metadata(entry)
        try:
            if meta.awaits(ORPHAN):
                await self._orphan(place, meta)
            elif meta.awaits(FOREGROUND):
                if not self._ownership.blocked(meta.uid, place):
                    await self._change(place, meta.uid, lambda m: _without_finalizer(m, FOREGROUND))
            elif meta.ownerReferences and not meta.deletionTimestamp:
                await self._judge(kind, place, entry, meta)
        except errors.NotFoundError:
            log.debug("%s went by itself", place)

    async def _judge(self, kind: Resource, place: Place, entry: CachedObject, meta: Metadata) -> None:
        """Keep an object while one of its owners stays; else delete it."""
        owners = meta.ownerReferences or ()
        states = [await self._state(kind, place, entry.namespace, owner) for owner in owners]
        if Owner.UNKNOWN in states:
            return
        lost = {o.uid for o, state in zip(owners, states, strict=True) if state is Owner.DANGLING}
        if not lost <= self._gone.keys() and self._doubts(place):
            return
        if Owner.SOLID in states:
            lost = {o.uid for o, state in zip(owners, states, strict=True) if state is not Owner.SOLID}
            if lost:
                await self._change(place, meta.uid, lambda m: _without_owners(m, lost))
            return
        policy = "Background"
        dependents = self._ownership.dependents(meta.uid)
        if Owner.WAITING in states and dependents:
            if any(self._metadata(dependent).awaits(FOREGROUND) for dependent in dependents):
                # A circle: each would wait for the other for ever.
                await self._change(place, meta.uid, _unblocked)
                entry = kind.cache.get(place.key) or entry
            policy = "Foreground"
        finalizers = meta.finalizers or ()
        if ORPHAN in finalizers or FOREGROUND in finalizers:
            policy = "Orphan" if ORPHAN in finalizers else "Foreground"
        log.debug("%s is deleted: its owners are %s", place, ", ".join(state.value for state in states))
        revision = str(entry.revision)
        await delete_object(
            self._call(place), DeleteOptions(propagation_policy=policy, uid=meta.uid, resource_version=revision)
        )

    def _doubts(self, place: Place) -> bool:
        now = asyncio.get_running_loop().time()
        wait = self._doubted.setdefault(place, now) + self.patience - now
        if wait > 0:
            self._queue.later(place, wait)
            return True
        del self._doubted[place]
        return False

    async def _state(self, dependent: Resource, place: Place, namespace: str, owner: Reference) -> Owner:
        """What has become of an owner: it must be in the dependent's namespace, or in none."""
        gone = self._gone.get(owner.uid)
        if gone is not None and gone[:2] == (owner.group, owner.kind) and (dependent.namespaced or not gone[2]):
            return Owner.DANGLING
        kind = self._api.registry.named(owner.group, owner.kind)
        if kind is None:
            self._unknown.setdefault((owner.group, owner.kind), set()).add(place)
            return Owner.UNKNOWN
        if kind.namespaced and not dependent.namespaced:
            return Owner.UNKNOWN
        await self._api.cache.wait_until_fresh(kind.cache)
        meta = metadata(kind.cache.get(kind.key(namespace, owner.name)))
        if not meta.uid or meta.uid != owner.uid:
            return Owner.DANGLING
        return Owner.WAITING if meta.awaits(FOREGROUND) else Owner.SOLID

    async def _orphan(self, place: Place, meta: Metadata) -> None:
        """Take the owner out of its dependents' references, then let it go."""
        dependents = self._ownership.dependents(meta.uid)
        for start in range(0, len(dependents), _SLICE):
            part = dependents[start : start + _SLICE]
            await asyncio.gather(*(self._disown(dependent, meta.uid) for dependent in part))
        await self._change(place, meta.uid, lambda m: _without_finalizer(m, ORPHAN))

    async def _disown(self, dependent: Place, owner: str) -> None:
        uid = self._metadata(dependent).uid
        if uid:
            try:
                await self._change(dependent, uid, lambda m: _without_owners(m, {owner}))
            except errors.NotFoundError:
                log.debug("%s went by itself", dependent)

    def _metadata(self, place: Place) -> Metadata:
        kind = self._api.registry.kind(place.group, place.plural)
        return metadata(kind.cache.get(place.key) if kind else None)

    async def _change(self, place: Place, uid: str, edit: Callable[[JsonObject], None]) -> None:
        """Edit an object's metadata, if it is still the same object."""
        call = self._call(place)

        async def edited(old: JsonObject) -> JsonObject:
            if old["metadata"].get("uid") != uid:
                raise call.resource.not_found(call.name)
            new: JsonObject = json_codec.decode(json_codec.encode(old))
            edit(new["metadata"])
            return new

        await change_object(call, edited, UpdateOptions(field_manager=_MANAGER), whole=False)

    def _call(self, place: Place) -> RequestContext:
        kind = self._api.registry.kind(place.group, place.plural)
        if kind is None:
            raise errors.NotFoundError(place.plural, place.group, place.key)
        namespace, _, name = place.key.rpartition("/")
        request = Request("PATCH", "", "", {}, b"")
        request.user = _USER
        return RequestContext(
            self._api, request, kind.storage_version(), namespace if kind.namespaced else None, name, ""
        )


class Following:
    """The collector's eye on one resource's cache."""

    def __init__(self, garbage: GarbageCollector, kind: Resource) -> None:
        self._garbage = garbage
        self.cache: ResourceCache = kind.cache
        self.group, self.plural, self.kind = kind.group, kind.plural, kind.kind

    def __str__(self) -> str:
        return errors.qualified_resource(self.plural, self.group)

    def place(self, entry: CachedObject) -> Place:
        return Place(self.group, self.plural, entry.key)

    def on_changes(self, occurrences: list[ObjectChange]) -> None:
        for occurrence in occurrences:
            self._garbage.saw(self, occurrence)

    def on_reset(self) -> None:
        self._garbage.read(self)


def _without_finalizer(meta: JsonObject, finalizer: str) -> None:
    meta["finalizers"] = [f for f in meta.get("finalizers") or [] if f != finalizer]
    if not meta["finalizers"]:
        del meta["finalizers"]


def _without_owners(meta: JsonObject, uids: set[str]) -> None:
    meta["ownerReferences"] = [o for o in meta.get("ownerReferences") or [] if o.get("uid") not in uids]
    if not meta["ownerReferences"]:
        del meta["ownerReferences"]


def _unblocked(meta: JsonObject) -> None:
    for owner in meta.get("ownerReferences") or []:
        owner["blockOwnerDeletion"] = False
