"""Roles and bindings come to life: who may do what follows those that are stored."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

from polykind import errors
from polykind.auth.rbac.rbac_authorizer import RBACAuthorizer
from polykind.cache.cached_object import CachedObject
from polykind.cache.resource_cache import ObjectChange
from polykind.controllers.informer import Informer
from polykind.resources.builtin import BuiltinResource
from polykind.verbs.context import Backend

log = logging.getLogger("polykind.rbac")


class RBACController:
    """Follows the four kinds, of roles and of bindings: a change holds by the time its write is answered."""

    def __init__(self, api: Backend, rbac: RBACAuthorizer, kinds: Sequence[BuiltinResource]) -> None:
        self._followers = [_Follower(api, rbac, kind) for kind in kinds]

    async def start(self) -> None:
        await asyncio.gather(*(follower.start() for follower in self._followers))

    async def close(self) -> None:
        await asyncio.gather(*(follower.close() for follower in self._followers))


class _Follower:
    """Follows one of the kinds."""

    def __init__(self, api: Backend, rbac: RBACAuthorizer, kind: BuiltinResource) -> None:
        self._kind = kind
        binds = kind.kind.endswith("Binding")
        self._put = self._put_binding if binds else self._put_role
        self._drop = rbac.drop_binding if binds else rbac.drop_role
        self._rbac = rbac
        self._known: set[str] = set()
        following = Informer(api, kind, self._take_all, self._take_changes)
        self.start, self.close = following.start, following.close

    def _take_changes(self, occurrences: list[ObjectChange]) -> None:
        for occurrence in occurrences:
            if occurrence.new is not None:
                self._take(occurrence.new)
            elif occurrence.old is not None:
                self._forget(occurrence.old.key)

    def _take_all(self) -> None:
        entries = self._kind.cache.snapshot(None)
        for key in self._known - {entry.key for entry in entries}:
            self._forget(key)
        for entry in entries:
            self._take(entry)

    def _take(self, entry: CachedObject) -> None:
        try:
            self._put(entry)
            self._known.add(entry.key)
        except errors.APIError as error:
            what = self._kind.kind
            log.error("%s %s in the store cannot be read and is not minded: %s", what, entry.key, error.message)
            self._forget(entry.key)

    def _forget(self, key: str) -> None:
        self._known.discard(key)
        self._drop(*_named(key))

    def _put_role(self, entry: CachedObject) -> None:
        self._rbac.put_role(*_named(entry.key), self._kind.shown(entry).get("rules") or ())

    def _put_binding(self, entry: CachedObject) -> None:
        self._rbac.put_binding(*_named(entry.key), self._kind.shown(entry))


def _named(key: str) -> tuple[str, str]:
    """A key's namespace, "" if it has none, and its name."""
    namespace, _, name = key.rpartition("/")
    return namespace, name
