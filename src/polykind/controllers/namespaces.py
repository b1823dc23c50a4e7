"""Namespaces: the first ones are made, and those that are deleted are emptied before they go."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from polykind import errors
from polykind.apis.core.namespaces import FINALIZER, INITIAL, NamespaceResource
from polykind.apply import managed
from polykind.auth.user import service_account
from polykind.cache.cached_object import CachedObject
from polykind.cache.resource_cache import ObjectChange
from polykind.contract import JsonObject, Leadership, RevisionConflictError, StoreError
from polykind.controllers.bulk_delete import delete_all
from polykind.resources.encoding import Encoded
from polykind.resources.resource import Resource
from polykind.verbs.context import Backend

log = logging.getLogger("polykind.namespaces")

_USER = service_account("namespace-controller")
_RETRY, _LONGEST = 0.1, 2.0
"""Seconds between two looks at what is left in a namespace: from the first to the last."""


class NamespaceController:
    """Follows the namespaces in the store."""

    def __init__(self, api: Backend, kind: NamespaceResource, stamp: Callable[[], str], leadership: Leadership) -> None:
        self._api = api
        self._kind = kind
        self._stamp = stamp
        self._leadership = leadership
        self._emptying: dict[str, asyncio.Task[None]] = {}
        self._reloading: asyncio.Task[None] | None = None

    async def start(self) -> None:
        cache = self._kind.cache
        await self._api.cache.load(cache)
        await asyncio.gather(*(self._make(name) for name in INITIAL if cache.get(name) is None))
        cache.observers.append(self)
        self._leadership.subscribe(self._lead)
        self._lead(self._leadership.leading)

    def _lead(self, leading: bool) -> None:
        """Only the leader empties namespaces; it takes up what another has left."""
        for task in self._emptying.values():
            task.cancel()
        self._emptying = {}
        if leading:
            self._look_at_all()

    def _look_at_all(self) -> None:
        for entry in self._kind.cache.snapshot(None):
            self._look(entry)

    async def close(self) -> None:
        tasks = list(self._emptying.values())
        if self._reloading is not None:
            tasks.append(self._reloading)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _make(self, name: str) -> None:
        obj: JsonObject = {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {
                "name": name,
                "uid": self._api.ids.uid(),
                "creationTimestamp": self._stamp(),
                "labels": {"kubernetes.io/metadata.name": name},
            },
        }
        obj["metadata"]["managedFields"] = await managed.update(
            None,
            obj,
            manager="kube-apiserver",
            api_version="v1",
            subresource="",
            now=self._stamp(),
            models=self._kind.models,
            convert=self._kind.versions["v1"].representer.convert,
        )
        obj |= {"spec": {"finalizers": [FINALIZER]}, "status": {"phase": "Active"}}
        try:
            await self._api.store.put(self._kind.cache.prefix + name, Encoded(obj).stored(), expect=0)
        except RevisionConflictError:
            log.debug("namespace %s was made by someone else", name)

    def on_changes(self, occurrences: list[ObjectChange]) -> None:
        for occurrence in occurrences:
            if occurrence.new is not None:
                self._look(occurrence.new)

    def on_reset(self) -> None:
        """The namespaces are read anew: a deletion may have begun meanwhile."""
        self._reloading = asyncio.get_running_loop().create_task(self._reload())

    async def _reload(self) -> None:
        await self._api.cache.reload(self._kind.cache, _LONGEST)
        self._look_at_all()

    def _look(self, entry: CachedObject) -> None:
        name = entry.name
        if self._leadership.leading and name not in self._emptying and entry.terminating():
            task = asyncio.get_running_loop().create_task(self._empty(name))
            self._emptying[name] = task
            task.add_done_callback(lambda _: self._forget(name, task))

    def _forget(self, name: str, task: asyncio.Task[None]) -> None:
        if self._emptying.get(name) is task:
            del self._emptying[name]

    async def _empty(self, name: str) -> None:
        """Delete what is in a namespace, wait until it is gone, then let the namespace go."""
        delay, told = _RETRY, ""
        while True:
            left, trouble = 0, ""
            for kind in self._api.registry.kinds():
                if kind.namespaced:
                    try:
                        left += await self._clear(kind, name)
                    except (errors.APIError, StoreError) as error:
                        trouble = f"{kind.qualified}: {error}"
            if not left and not trouble:
                await self._release(name)
                return
            if trouble and trouble != told:
                log.warning("namespace %s could not be emptied yet: %s", name, trouble)
            told = trouble
            await asyncio.sleep(delay)
            delay = min(delay * 1.5, _LONGEST)

    async def _clear(self, kind: Resource, namespace: str) -> int:
        """Ask for the deletion of a resource's objects in the namespace; how many are left."""
        cache = kind.cache
        # What nobody has asked for yet is not read into memory only to find it empty.
        if not cache.loaded and not (await self._api.store.range(f"{cache.prefix}{namespace}/", limit=1)).items:
            return 0
        await self._api.cache.wait_until_fresh(cache)
        await delete_all(self._api, kind, cache.snapshot(namespace), _USER)
        return cache.count(namespace)

    async def _release(self, name: str) -> None:
        """Remove our finalizer; without any other the namespace goes."""
        cache = self._kind.cache
        while True:
            entry = cache.get(name)
            if entry is None:
                return
            obj = entry.decode()
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
            except RevisionConflictError:
                continue
