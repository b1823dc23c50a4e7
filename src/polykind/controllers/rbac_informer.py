"""The informer of roles and role bindings: keeps the RBAC authorizer up to date."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

from polykind import errors
from polykind.apis.rbac.types import GROUP, KINDS
from polykind.auth.rbac.rbac_authorizer import CompiledBinding, CompiledRole, RBACAuthorizer
from polykind.cache.cached_object import CachedObject
from polykind.cache.resource_cache import ObjectChange
from polykind.cache.watch_cache import WatchCache
from polykind.controllers.informer import Informer
from polykind.resources.builtin import BuiltinResource, find_builtin
from polykind.resources.registry import Registry

log = logging.getLogger("polykind.rbac")


class RBACInformer:
    """Watches the four RBAC resources. A change is in effect before the server responds to its write."""

    def __init__(self, cache: WatchCache, authorizer: RBACAuthorizer, registry: Registry) -> None:
        resources = [find_builtin(registry, GROUP, kind.plural) for kind in KINDS]
        self._informers = [_ResourceInformer(cache, authorizer, resource) for resource in resources]

    async def start(self) -> None:
        await asyncio.gather(*(informer.start() for informer in self._informers))

    async def close(self) -> None:
        await asyncio.gather(*(informer.close() for informer in self._informers))


class _ResourceInformer:
    """Watches one of the RBAC resources."""

    def __init__(self, cache: WatchCache, authorizer: RBACAuthorizer, kind: BuiltinResource) -> None:
        self._resource = kind
        is_binding = kind.kind.endswith("Binding")
        self._put: Callable[[str, str, Any], None] = authorizer.put_binding if is_binding else authorizer.put_role
        self._drop = authorizer.drop_binding if is_binding else authorizer.drop_role
        self._keys: set[str] = set()
        compile_object = self._compile_binding if is_binding else self._compile_role
        self._informer: Informer[object] = Informer(cache, kind.cache, self._on_list, self._on_changes, compile_object)
        self.start, self.close = self._informer.start, self._informer.close

    def _on_changes(self, changes: list[ObjectChange]) -> None:
        for change in changes:
            if change.new is not None:
                self._add(change.new)
            elif change.old is not None:
                self._remove(change.old.key)

    def _on_list(self) -> None:
        objects = self._resource.cache.snapshot(None)
        for key in self._keys - {cached.key for cached in objects}:
            self._remove(key)
        for cached in objects:
            self._add(cached)

    def _add(self, cached: CachedObject) -> None:
        try:
            self._put(*_split_key(cached.key), self._informer.prepared(cached))
            self._keys.add(cached.key)
        except errors.APIError as error:
            kind = self._resource.kind
            log.error("RBAC: cannot decode stored %s %s, ignoring it: %s", kind, cached.key, error.message)
            self._remove(cached.key)

    def _remove(self, key: str) -> None:
        self._keys.discard(key)
        self._drop(*_split_key(key))

    def _compile_role(self, cached: CachedObject) -> CompiledRole:
        return CompiledRole(self._resource.shown(cached).get("rules") or ())

    def _compile_binding(self, cached: CachedObject) -> CompiledBinding:
        return CompiledBinding(*_split_key(cached.key), self._resource.shown(cached))


def _split_key(key: str) -> tuple[str, str]:
    """Return the namespace ("" for a cluster-scoped object) and the name in a key."""
    namespace, _, name = key.rpartition("/")
    return namespace, name
