"""The informer of the addresses of Services that conversion webhooks are reached through."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from polykind.cache.cached_object import CachedObject
from polykind.cache.resource_cache import ObjectChange
from polykind.contract import StoreError
from polykind.controllers.informer import Informer
from polykind.operations.backend import Backend
from polykind.resources.builtin import find_builtin

log = logging.getLogger("polykind.converters")

_SERVICE_LABEL = "kubernetes.io/service-name"
_SOURCES = (("", "services"), ("", "endpoints"), ("discovery.k8s.io", "endpointslices"))


class WebhookAddresses:
    """Reports the Services that have changed, or whose endpoints have, once a webhook is reached through a Service."""

    def __init__(self, backend: Backend, on_moved: Callable[[set[str]], None]) -> None:
        """`on_moved` is called with the keys (namespace/name) of Services."""
        self._backend = backend
        self._on_moved = on_moved
        self._informers: list[Informer[None]] = []
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Start to watch, unless this has been done."""
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._start())

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        for informer in self._informers:
            await informer.close()

    async def _start(self) -> None:
        for group, plural in _SOURCES:
            objects = find_builtin(self._backend.registry, group, plural).cache
            informer: Informer[None] = Informer(self._backend.cache, objects, lambda: None, self._on_changes)
            self._informers.append(informer)
            try:
                await informer.start()
            except StoreError as error:
                log.warning("webhook addresses: cannot list %s, its changes are not noticed: %s", plural, error)

    def _on_changes(self, changes: list[ObjectChange]) -> None:
        self._on_moved({_service(state) for change in changes for state in (change.old, change.new) if state})


def _service(cached: CachedObject) -> str:
    """Return the key of the Service that an object belongs to: a Service, its Endpoints or one of its slices."""
    name = cached.label(_SERVICE_LABEL)
    return f"{cached.namespace}/{name}" if name else cached.key
