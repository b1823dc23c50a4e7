"""The RBAC bootstrap: creates and reconciles the default roles and bindings at every start."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable

from polykind import errors
from polykind.auth.rbac.default_roles import (
    GROUP,
    default_bindings,
    default_roles,
    is_protected,
    reconcile_binding,
    reconcile_role,
)
from polykind.cache.cached_object import CachedObject
from polykind.codec import json_codec
from polykind.contract import JsonObject, Leadership, StoreError
from polykind.http.messages import Request
from polykind.http.options import CreateOptions, DeleteOptions, UpdateOptions
from polykind.resources.resource import Resource
from polykind.verbs.context import Backend, RequestContext
from polykind.verbs.create import create_object
from polykind.verbs.delete import delete_object
from polykind.verbs.update import change_object
from polykind.verbs.write import POST, PUT, Write

log = logging.getLogger("polykind.rbac")

_RETRY_DELAY = 1.0
"""Seconds between two attempts to reconcile the default roles and bindings."""
_HEADERS = {b"user-agent": b"kube-apiserver"}


class RBACBootstrap:
    """Reconciles the default roles and bindings on the leader."""

    def __init__(self, backend: Backend, leadership: Leadership) -> None:
        self._backend = backend
        self._leadership = leadership
        self._task: asyncio.Task[None] | None = None
        self._finished = False

    def check(self) -> str:
        """Return "" if healthy. The check fails while this replica is the leader and has not finished reconciling."""
        return "" if self._finished or not self._leadership.leading else "not finished"

    async def start(self) -> None:
        """If this replica is the leader, reconcile first, so that the server starts with all default roles."""
        self._leadership.subscribe(self._on_leadership)
        if self._leadership.leading and not await self._reconcile_all():
            self._on_leadership(True)

    async def close(self) -> None:
        self._on_leadership(False)
        if self._task is not None:
            await asyncio.gather(self._task, return_exceptions=True)

    def _on_leadership(self, leading: bool) -> None:
        if self._task is not None:
            self._task.cancel()
        if leading:
            self._task = asyncio.get_running_loop().create_task(self._retry())

    async def _retry(self) -> None:
        while True:
            if await self._reconcile_all():
                return
            await asyncio.sleep(_RETRY_DELAY)

    async def _reconcile_all(self) -> bool:
        """Reconcile all default roles and bindings. Return True if nothing failed."""
        failures = await self._reconcile_each(default_roles()) + await self._reconcile_each(default_bindings())
        if failures:
            log.warning("RBAC bootstrap: cannot reconcile all defaults, retrying: %s", "; ".join(failures))
        self._finished = not failures
        return self._finished

    async def _reconcile_each(self, expected: Iterable[JsonObject]) -> list[str]:
        """Reconcile each object and return the failures as text."""
        expected = list(expected)
        results = await asyncio.gather(*map(self._reconcile, expected), return_exceptions=True)
        failures: list[str] = []
        for obj, failure in zip(expected, results, strict=True):
            if isinstance(failure, errors.APIError | StoreError):
                failures.append(f"{obj['kind']} {obj['metadata']['name']}: {failure}")
            elif failure is not None:
                raise failure
        return failures

    async def _reconcile(self, expected: JsonObject) -> None:
        resource = self._backend.registry.resource_of_kind(GROUP, expected["kind"])
        if resource is None:
            raise AssertionError("roles and bindings are always served")
        await self._backend.cache.wait_until_fresh(resource.cache)
        cached = resource.cache.get(expected["metadata"]["name"])
        if cached is None:
            await create_object(self._context(resource, "POST", expected), Write(expected, POST, CreateOptions()))
        elif not is_protected(existing := await self._read(resource, cached)):
            if "roleRef" in expected and reconcile_binding(existing, expected) is None:
                await delete_object(
                    self._context(resource, "DELETE", expected), DeleteOptions(uid=existing["metadata"]["uid"])
                )
                await create_object(self._context(resource, "POST", expected), Write(expected, POST, CreateOptions()))
            else:
                await self._update(resource, expected)

    @staticmethod
    async def _read(resource: Resource, cached: CachedObject) -> JsonObject:
        read: JsonObject = json_codec.decode((await resource.versions["v1"].representer.view(cached)).data)
        return read

    async def _update(self, resource: Resource, expected: JsonObject) -> None:
        async def reconciled(old: JsonObject, _: Write) -> JsonObject:
            if "roleRef" in expected:
                return reconcile_binding(old, expected) or old
            return reconcile_role(old, expected)

        await change_object(self._context(resource, "PUT", expected), reconciled, UpdateOptions(), PUT)

    def _context(self, resource: Resource, method: str, obj: JsonObject) -> RequestContext:
        """Return a request of the server itself. Such a request skips admission and authorization."""
        request = Request(method, "", "", dict(_HEADERS), b"")
        return RequestContext(self._backend, request, resource.versions["v1"], None, obj["metadata"]["name"], "")
