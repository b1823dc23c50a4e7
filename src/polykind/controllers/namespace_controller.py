"""The namespace controller: creates the initial namespaces and finalizes those that are being deleted."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable

from polykind import errors
from polykind.apply import field_manager
from polykind.cache.cached_object import CachedObject, Encoded
from polykind.cache.resource_cache import ObjectChange
from polykind.contract import JsonObject, Leadership
from polykind.controllers.controller_runtime import Controller
from polykind.controllers.namespace_conditions import ContentReport
from polykind.controllers.namespace_content import NamespaceContent
from polykind.controllers.object_client import ObjectClient
from polykind.controllers.workqueue import UnfinishedError
from polykind.operations.backend import Backend
from polykind.strategies.core.namespace_strategy import INITIAL_NAMESPACES, NAMESPACE_FINALIZER, NamespaceResource

log = logging.getLogger("polykind.namespaces")

_MANAGER = "kube-controller-manager"
_MAX_DELAY = 2.0
"""Maximum number of seconds between two attempts to delete the content of a namespace."""


class NamespaceController:
    """Watches namespaces, deletes the content of those that are being deleted, and removes their finalizer.

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
        self._client = ObjectClient(backend, manager=_MANAGER)
        self._content = NamespaceContent(backend, resource)
        self._controller: Controller[str] = Controller(
            leadership, self._reconcile, keys=self._terminating, max_delay=_MAX_DELAY
        )
        self.attempt = self._controller.attempt
        self._controller.follow(backend.cache, resource.cache, _terminating)

    async def start(self) -> None:
        cache = self._resource.cache
        await self._backend.cache.load(cache)
        await asyncio.gather(*(self._create(name) for name in INITIAL_NAMESPACES if cache.get(name) is None))
        if self._finalizes:
            await self._controller.start()

    async def close(self) -> None:
        await self._controller.close()

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
        if not await self._client.add_stored(self._resource.cache.prefix + name, Encoded(obj).stored()):
            log.debug("namespace controller: another replica created namespace %s, keeping it", name)

    def _terminating(self) -> Iterable[str]:
        return [cached.name for cached in self._resource.cache.snapshot(None) if cached.terminating()]

    async def _reconcile(self, name: str) -> None:
        """Delete all objects in a terminating namespace. If none is left, remove the finalizer."""
        namespace = await self._client.read(self._resource, name)
        if namespace is None or not namespace.terminating():
            return
        obj = namespace.decode()
        finalizers = (obj.get("spec") or {}).get("finalizers") or []
        if not finalizers:
            return
        report = await self._content.delete(namespace)
        try:
            await self._write_conditions(namespace, obj, report)
            if report.empty and NAMESPACE_FINALIZER in finalizers:
                version = self._resource.storage_version()
                await self._client.change(version, namespace, _remove_finalizer, subresource="finalize")
        except errors.NotFoundError:
            return
        if not report.empty:
            raise UnfinishedError

    async def _write_conditions(self, namespace: CachedObject, obj: JsonObject, report: ContentReport) -> None:
        now = self._now()
        before = (obj.get("status") or {}).get("conditions") or []
        if report.conditions(before, now) == before:
            return
        if report.failures:
            failures = ", ".join(report.failures)
            log.warning("namespace controller: cannot delete the content of %s, retrying: %s", namespace.name, failures)

        def set_conditions(new: JsonObject) -> None:
            status = new.get("status") or {}
            new["status"] = {**status, "conditions": report.conditions(status.get("conditions") or [], now)}

        await self._client.change(self._resource.storage_version(), namespace, set_conditions, subresource="status")


def _terminating(change: ObjectChange) -> Iterable[str]:
    return (change.new.name,) if change.new is not None and change.new.terminating() else ()


def _remove_finalizer(namespace: JsonObject) -> None:
    spec = dict(namespace.get("spec") or {})
    remaining = [finalizer for finalizer in spec.pop("finalizers", None) or [] if finalizer != NAMESPACE_FINALIZER]
    namespace["spec"] = {**spec, "finalizers": remaining} if remaining else spec
