"""The namespace controller: creates the initial namespaces and deletes the content of terminating ones."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from polykind import errors
from polykind.apply import field_manager
from polykind.auth.user import service_account
from polykind.cache.cached_object import CachedObject, Encoded
from polykind.cache.resource_cache import ObjectChange
from polykind.contract import JsonObject, Leadership, RevisionConflictError, StoreError
from polykind.controllers.bulk_delete import delete_all
from polykind.controllers.informer import Informer
from polykind.operations.backend import Backend
from polykind.resources.resource import Resource
from polykind.strategies.core.namespace_strategy import INITIAL_NAMESPACES, NAMESPACE_FINALIZER, NamespaceResource

log = logging.getLogger("polykind.namespaces")

_USER = service_account("namespace-controller")
_RETRY_DELAY, _MAX_RETRY_DELAY = 0.1, 2.0
"""Initial and maximum number of seconds between two attempts to delete the content of a namespace."""


class NamespaceController:
    """Watches namespaces and finalizes those that are being deleted.

    If `finalizes` is false, it only creates the initial namespaces, and deleted namespaces remain Terminating.
    """

    def __init__(
        self,
        backend: Backend,
        resource: NamespaceResource,
        now: Callable[[], str],
        leadership: Leadership,
        *,
        finalizes: bool = True,
    ) -> None:
        self._finalizes = finalizes
        self._backend = backend
        self._resource = resource
        self._now = now
        self._leadership = leadership
        self._finalizing: dict[str, asyncio.Task[None]] = {}
        self._informer: Informer[None] = Informer(backend.cache, resource.cache, self._check_all, self._on_changes)

    async def start(self) -> None:
        cache = self._resource.cache
        await self._backend.cache.load(cache)
        await asyncio.gather(*(self._create(name) for name in INITIAL_NAMESPACES if cache.get(name) is None))
        if self._finalizes:
            await self._informer.start()
            self._leadership.subscribe(self._on_leadership)

    def _on_leadership(self, leading: bool) -> None:
        """If this replica is now the leader, finalize all terminating namespaces. Otherwise stop."""
        for task in self._finalizing.values():
            task.cancel()
        self._finalizing = {}
        if leading:
            self._check_all()

    def _check_all(self) -> None:
        for cached in self._resource.cache.snapshot(None):
            self._check(cached)

    async def close(self) -> None:
        await self._informer.close()
        tasks = list(self._finalizing.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _create(self, name: str) -> None:
        obj: JsonObject = {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {
                "name": name,
                "uid": self._backend.ids.uid(),
                "creationTimestamp": self._now(),
                "labels": {"kubernetes.io/metadata.name": name},
            },
        }
        obj["metadata"]["managedFields"] = await field_manager.update(
            None,
            obj,
            manager="kube-apiserver",
            api_version="v1",
            subresource="",
            now=self._now(),
            models=self._resource.models,
            convert=self._resource.versions["v1"].representer.convert,
        )
        obj |= {"spec": {"finalizers": [NAMESPACE_FINALIZER]}, "status": {"phase": "Active"}}
        try:
            await self._backend.store.put(self._resource.cache.prefix + name, Encoded(obj).stored(), expect=0)
        except RevisionConflictError:
            log.debug("namespace controller: another replica created namespace %s, keeping it", name)

    def _on_changes(self, changes: list[ObjectChange]) -> None:
        for change in changes:
            if change.new is not None:
                self._check(change.new)

    def _check(self, cached: CachedObject) -> None:
        name = cached.name
        if self._leadership.leading and name not in self._finalizing and cached.terminating():
            task = asyncio.get_running_loop().create_task(self._finalize(name))
            self._finalizing[name] = task
            task.add_done_callback(lambda _: self._on_finalized(name, task))

    def _on_finalized(self, name: str, task: asyncio.Task[None]) -> None:
        if self._finalizing.get(name) is task:
            del self._finalizing[name]

    async def _finalize(self, name: str) -> None:
        """Delete all objects in a namespace, wait until they are gone, then remove the finalizer."""
        delay, logged = _RETRY_DELAY, ""
        while True:
            remaining, failure = 0, ""
            await self._build_used_resources(name)
            for resource in self._backend.registry.resources():
                if resource.namespaced:
                    try:
                        remaining += await self._delete_objects(resource, name)
                    except (errors.APIError, StoreError) as error:
                        failure = f"{resource.qualified}: {error}"
            if not remaining and not failure:
                await self._remove_finalizer(name)
                return
            if failure and failure != logged:
                log.warning("namespace controller: cannot delete the content of %s, retrying: %s", name, failure)
            logged = failure
            await asyncio.sleep(delay)
            delay = min(delay * 1.5, _MAX_RETRY_DELAY)

    async def _build_used_resources(self, namespace: str) -> None:
        """Build the built-in resources that no request has used yet and that have objects in the namespace."""
        for declared in self._backend.registry.declared():
            if declared.namespaced and declared.prefix and await self._has_keys(f"{declared.prefix}{namespace}/"):
                self._backend.registry.resource(declared.group, declared.plural)

    async def _has_keys(self, prefix: str) -> bool:
        return bool((await self._backend.store.range(prefix, limit=1)).items)

    async def _delete_objects(self, resource: Resource, namespace: str) -> int:
        """Delete a resource's objects in the namespace and return the number of objects that are left."""
        cache = resource.cache
        # Do not load an unused resource into the cache if the namespace has no keys of that resource.
        if not cache.loaded and not await self._has_keys(f"{cache.prefix}{namespace}/"):
            return 0
        await self._backend.cache.wait_until_fresh(cache)
        await delete_all(self._backend, resource, cache.snapshot(namespace), _USER)
        return cache.count(namespace)

    async def _remove_finalizer(self, name: str) -> None:
        """Remove the finalizer of a namespace. If the namespace has no other finalizer, delete it."""
        cache = self._resource.cache
        while True:
            cached = cache.get(name)
            if cached is None:
                return
            obj = cached.decode()
            obj["metadata"].pop("resourceVersion", None)
            spec = obj.setdefault("spec", {})
            spec["finalizers"] = [f for f in spec.get("finalizers") or [] if f != NAMESPACE_FINALIZER]
            try:
                if not spec["finalizers"] and not obj["metadata"].get("finalizers"):
                    await self._backend.store.delete(cache.prefix + name, expect=cached.revision)
                elif not spec["finalizers"]:
                    del spec["finalizers"]
                    await self._backend.store.put(cache.prefix + name, Encoded(obj).stored(), expect=cached.revision)
                return
            except RevisionConflictError:
                continue
