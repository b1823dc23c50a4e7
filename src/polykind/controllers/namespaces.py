"""Namespaces: the first ones are made, and those that are deleted are emptied before they go."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from polykind import errors
from polykind.cache.resource import Occurrence
from polykind.contract import Conflict, JsonObject, Leadership, StoreError
from polykind.registry.encoding import Encoded
from polykind.registry.kind import Kind
from polykind.registry.namespaces import FINALIZER, INITIAL, NamespaceKind
from polykind.verbs.call import Api, Call
from polykind.verbs.delete import delete_object
from polykind.wire.options import DeleteOptions
from polykind.wire.request import Request

log = logging.getLogger("polykind.namespaces")

_RETRY = 0.1


class Namespaces:
    """Follows the namespaces in the store."""

    def __init__(self, api: Api, kind: NamespaceKind, stamp: Callable[[], str], leadership: Leadership) -> None:
        self._api = api
        self._kind = kind
        self._stamp = stamp
        self._leadership = leadership
        self._emptying: dict[str, asyncio.Task[None]] = {}

    async def start(self) -> None:
        cache = self._kind.cache
        await self._api.cache.load(cache)
        await asyncio.gather(*(self._make(name) for name in INITIAL if cache.get(name) is None))
        cache.observers.append(self)
        self._leadership.follow(self._lead)
        self._lead(self._leadership.leading)

    def _lead(self, leading: bool) -> None:
        """Only the leader empties namespaces; it takes up what another has left."""
        for task in self._emptying.values():
            task.cancel()
        if leading:
            for entry in self._kind.cache.snapshot(None):
                self._look(entry.name, entry.value())

    async def close(self) -> None:
        tasks = list(self._emptying.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _make(self, name: str) -> None:
        obj: JsonObject = {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {
                "name": name,
                "uid": self._api.chance.uid(),
                "creationTimestamp": self._stamp(),
                "labels": {"kubernetes.io/metadata.name": name},
            },
            "spec": {"finalizers": [FINALIZER]},
            "status": {"phase": "Active"},
        }
        try:
            await self._api.store.put(self._kind.cache.prefix + name, Encoded(obj).stored(), expect=0)
        except Conflict:
            log.debug("namespace %s was made by someone else", name)

    def on_occurrences(self, occurrences: list[Occurrence]) -> None:
        for occurrence in occurrences:
            if occurrence.new is not None and b'"deletionTimestamp"' in occurrence.new.raw:
                self._look(occurrence.new.name, occurrence.new.value())

    def on_reset(self) -> None:
        """Nothing is kept here that could be missed: a namespace that is still there is looked at again on start."""

    def _look(self, name: str, obj: JsonObject) -> None:
        if not self._leadership.leading:
            return
        if obj["metadata"].get("deletionTimestamp") and name not in self._emptying:
            task = asyncio.get_running_loop().create_task(self._empty(name))
            self._emptying[name] = task
            task.add_done_callback(lambda _: self._emptying.pop(name, None))

    async def _empty(self, name: str) -> None:
        """Delete what is in a namespace, wait until it is gone, then let the namespace go."""
        while True:
            try:
                left = 0
                for kind in self._api.registry.kinds():
                    if kind.namespaced:
                        left += await self._clear(kind, name)
                if not left:
                    await self._release(name)
                    return
            except (errors.APIError, StoreError) as error:
                log.warning("namespace %s could not be emptied yet: %s", name, error)
            await asyncio.sleep(_RETRY)

    async def _clear(self, kind: Kind, namespace: str) -> int:
        """Ask for the deletion of a resource's objects in the namespace; how many are left."""
        cache = kind.cache
        await self._api.cache.fresh(cache)
        version = kind.version_for_deletion()
        for entry in cache.snapshot(namespace):
            if b'"deletionTimestamp"' in entry.raw and entry.value()["metadata"].get("deletionTimestamp"):
                continue
            call = Call(self._api, Request("DELETE", "", "", {}, b""), version, namespace, entry.name, "")
            try:
                await delete_object(call, DeleteOptions())
            except errors.NotFound:
                continue
        return cache.count(namespace)

    async def _release(self, name: str) -> None:
        """Remove our finalizer; without any other the namespace goes."""
        cache = self._kind.cache
        while True:
            entry = cache.get(name)
            if entry is None:
                return
            obj = entry.value()
            obj["metadata"].pop("resourceVersion", None)
            spec = obj.setdefault("spec", {})
            spec["finalizers"] = [f for f in spec.get("finalizers") or [] if f != FINALIZER]
            try:
                if not spec["finalizers"] and not obj["metadata"].get("finalizers"):
                    await self._api.store.delete(cache.prefix + name, expect=entry.revision)
                elif not spec["finalizers"]:
                    del spec["finalizers"]
                    await self._api.store.put(cache.prefix + name, Encoded(obj).stored(), expect=entry.revision)
                return
            except Conflict:
                continue
