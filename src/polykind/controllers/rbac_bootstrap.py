"""The RBAC bootstrap: creates and reconciles the default roles and bindings at every start."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable

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
from polykind.controllers.bootstrap_objects import create_all
from polykind.controllers.controller_runtime import Controller
from polykind.controllers.object_client import ObjectClient
from polykind.controllers.workqueue import UnfinishedError
from polykind.operations.backend import Backend
from polykind.resources.resource import Resource

log = logging.getLogger("polykind.rbac")

_MANAGER = "kube-apiserver"
_ALL = "default roles and bindings"
_SPLIT_FROM = {"system:public-info-viewer": "system:discovery"}
_COPIED = ("labels", "annotations")
_MAX_DELAY = 1.0
"""Maximum number of seconds between two attempts. The server is not ready before one has succeeded."""


class UnreadableDefaultError(Exception):
    """A stored default role or binding cannot be read. Another attempt does not help."""


class RBACBootstrap:
    """Reconciles the default roles and bindings on the leader.

    The server is not ready until all of them are reconciled, except for those that are unreadable in the store: they
    are logged by name, and the others count. kube-apiserver ends after 30 seconds if one is unreadable.
    """

    def __init__(self, backend: Backend, now: Callable[[], str], leadership: Leadership) -> None:
        self._backend = backend
        self._now = now
        self._leadership = leadership
        self._client = ObjectClient(backend, manager=_MANAGER)
        self._controller: Controller[str] = Controller(
            leadership, self._reconcile_all, keys=lambda: (_ALL,), max_delay=_MAX_DELAY
        )
        self.close = self._controller.close
        self._problem = "not finished"

    def check(self) -> str:
        """Return "" if the default roles are complete or if another replica must create them.

        Return the problem if this replica is the leader and has not finished reconciling.
        """
        return self._problem if self._leadership.leading else ""

    async def start(self) -> None:
        """If this replica is the leader, return after the first attempt, so that the server starts with the roles."""
        await self._controller.start()
        await self._controller.attempt(_ALL)

    async def _reconcile_all(self, _: str) -> None:
        bindings = [await self._split(binding) for binding in default_bindings()]
        failures = await self._reconcile_each([*default_roles(), *bindings])
        more = f" and {len(failures) - 1} more" if len(failures) > 1 else ""
        self._problem = f"not finished: {failures[0]}{more}" if failures else ""
        if failures:
            log.warning("RBAC bootstrap: cannot reconcile all defaults, retrying: %s", "; ".join(failures))
            raise UnfinishedError

    async def _reconcile_each(self, expected: Iterable[JsonObject]) -> list[str]:
        """Reconcile each object of `expected` and return the texts of the errors."""
        expected = list(expected)
        results = await asyncio.gather(*map(self._reconcile, expected), return_exceptions=True)
        failures: list[str] = []
        for obj, failure in zip(expected, results, strict=True):
            name = f"{obj['kind']} {obj['metadata']['name']}"
            if isinstance(failure, UnreadableDefaultError):
                log.error(
                    "RBAC bootstrap: %s is unreadable and grants nothing; delete it, and the next start creates it "
                    "again: %s",
                    name,
                    failure,
                )
            elif isinstance(failure, errors.APIError | StoreError):
                failures.append(f"{name}: {failure}")
            elif failure is not None:
                raise failure
        return failures

    async def _split(self, expected: JsonObject) -> JsonObject:
        """Return a default binding as it is created on a cluster of an older release.

        Kubernetes 1.14 has split system:public-info-viewer from system:discovery. A missing binding gets the subjects,
        labels and annotations of the binding that it was split from, so that an administrator's choice stays.
        """
        resource, name = self._resource(expected), expected["metadata"]["name"]
        source = _SPLIT_FROM.get(name)
        if source is None or await self._client.read(resource, name) is not None:
            return expected
        cached = await self._client.read(resource, source)
        if cached is None:
            return expected
        existing = cached.decode()
        meta = {"name": name}
        meta |= {field: existing["metadata"][field] for field in _COPIED if existing["metadata"].get(field)}
        split = {**expected, "metadata": meta, "subjects": existing.get("subjects") or []}
        return _reconciled(split, expected) or expected

    async def _reconcile(self, expected: JsonObject) -> None:
        resource, meta = self._resource(expected), expected["metadata"]
        cached = await self._client.read(resource, resource.key(meta.get("namespace", ""), meta["name"]))
        if cached is None:
            await create_all(self._backend, resource, [expected], manager=_MANAGER, now=self._now())
            return
        existing = await self._read(resource, cached)
        wanted = _reconciled(existing, expected)
        if wanted is None:
            await self._client.delete(resource.storage_version(), cached)
            await create_all(self._backend, resource, [expected], manager=_MANAGER, now=self._now())
        elif wanted != existing:
            await self._client.change(
                resource.storage_version(), cached, lambda obj: obj.update(_reconciled(obj, expected) or {})
            )

    def _resource(self, obj: JsonObject) -> Resource:
        resource = self._backend.registry.resource_of_kind(GROUP, obj["kind"])
        if resource is None:
            raise AssertionError("roles and bindings are always served")
        return resource

    @staticmethod
    async def _read(resource: Resource, cached: CachedObject) -> JsonObject:
        try:
            read: JsonObject = json_codec.decode((await resource.versions["v1"].representer.view(cached)).data)
        except errors.APIError as error:
            raise UnreadableDefaultError(error.message) from None
        return read


def _reconciled(existing: JsonObject, expected: JsonObject) -> JsonObject | None:
    """Return an existing object with what it lacks. Return None if the object must be deleted and created again."""
    if is_protected(existing):
        return existing
    return reconcile_binding(existing, expected) if "roleRef" in expected else reconcile_role(existing, expected)
