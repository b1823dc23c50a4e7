"""The default roles and bindings: made at the first start, and mended at every further one."""

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

log = logging.getLogger("polykind.rbac")

_PAUSE = 1.0
"""Seconds between two attempts, should one fail."""
_MANAGER = {b"user-agent": b"kube-apiserver"}


class RBACBootstrap:
    """Sees to it, as the leader, that the roles are there that others rely on."""

    def __init__(self, api: Backend, leadership: Leadership) -> None:
        self._api = api
        self._leadership = leadership
        self._task: asyncio.Task[None] | None = None
        self._finished = False

    def check(self) -> str:
        """A health check: it is the leader who must have finished."""
        return "" if self._finished or not self._leadership.leading else "not finished"

    async def start(self) -> None:
        """Who leads from the outset begins to serve when all have been looked at."""
        self._leadership.subscribe(self._lead)
        if self._leadership.leading and not await self._done():
            self._lead(True)

    async def close(self) -> None:
        self._lead(False)
        if self._task is not None:
            await asyncio.gather(self._task, return_exceptions=True)

    def _lead(self, leading: bool) -> None:
        if self._task is not None:
            self._task.cancel()
        if leading:
            self._task = asyncio.get_running_loop().create_task(self._ensure())

    async def _ensure(self) -> None:
        while True:
            if await self._done():
                return
            await asyncio.sleep(_PAUSE)

    async def _done(self) -> bool:
        """Look at all of them; whether nothing went wrong."""
        left = await self._pass(default_roles()) + await self._pass(default_bindings())
        if left:
            log.warning("default roles and bindings are to be looked at again: %s", "; ".join(left))
        self._finished = not left
        return self._finished

    async def _pass(self, wanted: Iterable[JsonObject]) -> list[str]:
        """Look at each, whatever becomes of the others; what went wrong."""
        wanted = list(wanted)
        done = await asyncio.gather(*map(self._reconcile, wanted), return_exceptions=True)
        failures: list[str] = []
        for obj, failure in zip(wanted, done, strict=True):
            if isinstance(failure, errors.APIError | StoreError):
                failures.append(f"{obj['kind']} {obj['metadata']['name']}: {failure}")
            elif failure is not None:
                raise failure
        return failures

    async def _reconcile(self, wanted: JsonObject) -> None:
        kind = self._api.registry.named(GROUP, wanted["kind"])
        if kind is None:
            raise AssertionError("roles and bindings are always served")
        await self._api.cache.wait_until_fresh(kind.cache)
        entry = kind.cache.get(wanted["metadata"]["name"])
        if entry is None:
            await create_object(self._call(kind, "POST", wanted), wanted, CreateOptions())
        elif not is_protected(existing := await self._read(kind, entry)):
            if "roleRef" in wanted and reconcile_binding(existing, wanted) is None:
                await delete_object(self._call(kind, "DELETE", wanted), DeleteOptions(uid=existing["metadata"]["uid"]))
                await create_object(self._call(kind, "POST", wanted), wanted, CreateOptions())
            else:
                await self._mend(kind, wanted)

    @staticmethod
    async def _read(kind: Resource, entry: CachedObject) -> JsonObject:
        read: JsonObject = json_codec.decode((await kind.versions["v1"].representer.view(entry)).data)
        return read

    async def _mend(self, kind: Resource, wanted: JsonObject) -> None:
        async def mended(old: JsonObject) -> JsonObject:
            if "roleRef" in wanted:
                return reconcile_binding(old, wanted) or old
            return reconcile_role(old, wanted)

        await change_object(self._call(kind, "PUT", wanted), mended, UpdateOptions(), whole=True)

    def _call(self, kind: Resource, method: str, obj: JsonObject) -> RequestContext:
        """A request of the server's own, about which nobody is asked."""
        request = Request(method, "", "", dict(_MANAGER), b"")
        return RequestContext(self._api, request, kind.versions["v1"], None, obj["metadata"]["name"], "")
