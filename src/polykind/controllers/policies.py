"""Policies come to life: what is asked before a write follows those that are stored, and their bindings."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from polykind import errors
from polykind.admission.attributes import Attributes
from polykind.cache.cached_object import CachedObject
from polykind.cache.resource_cache import ObjectChange
from polykind.codec import json_codec
from polykind.contract import JsonObject
from polykind.controllers.informer import Informer
from polykind.resources.builtin import BuiltinResource
from polykind.resources.resource import ServedVersion
from polykind.selectors.label_selectors import LabelSelector
from polykind.verbs.context import Backend

if TYPE_CHECKING:
    from polykind.admission.policy_binding import Bound, BoundPolicy, PolicyBinding
    from polykind.admission.policy_params import ParamStore

P = TypeVar("P", bound="BoundPolicy")
B = TypeVar("B", bound="PolicyBinding")

log = logging.getLogger("polykind.policies")


class Machinery(NamedTuple, Generic[P, B]):
    """The step that asks policies, and what compiles them and their bindings for it."""

    step: Bound[P, B]
    policy: Callable[[JsonObject], P]
    binding: Callable[[JsonObject], B]


class PolicyControl(Generic[P, B]):
    """Follows policies of one kind, and their bindings: a change is minded by the time its write is answered.

    It is a step of admission. What does the work is only made, and imported, once there is a policy or a binding.
    """

    def __init__(
        self, api: Backend, policies: BuiltinResource, bindings: BuiltinResource, make: Callable[[], Machinery[P, B]]
    ) -> None:
        self.active = False
        self._api = api
        self.kinds = (policies, bindings)
        self._followings = [
            Informer(api, kind, partial(self._take_all, kind), partial(self._take_changes, kind)) for kind in self.kinds
        ]
        self._policies: dict[str, P] = {}
        self._bindings: dict[str, B] = {}
        self._make = make

    @cached_property
    def _machinery(self) -> Machinery[P, B]:
        return self._make()

    async def admit(self, asked: Attributes) -> None:
        await self._machinery.step.admit(asked)

    async def start(self) -> None:
        for following in self._followings:
            await following.start()

    async def close(self) -> None:
        await asyncio.gather(*(following.close() for following in self._followings))

    def _take_all(self, kind: BuiltinResource) -> None:
        """All that is stored of a kind, anew."""
        (self._policies if kind is self.kinds[0] else self._bindings).clear()
        for entry in kind.cache.snapshot(None):
            self._take(kind, entry)
        self._configure()

    def _take_changes(self, kind: BuiltinResource, occurrences: Sequence[ObjectChange]) -> None:
        for occurrence in occurrences:
            if occurrence.new is not None:
                self._take(kind, occurrence.new)
            elif occurrence.old is not None:
                self._forget(kind, occurrence.old.name)
        self._configure()

    def _configure(self) -> None:
        if self._policies or self._bindings or self.active:
            step = self._machinery.step
            step.configure(self._policies, list(self._bindings.values()))
            self.active = step.active
            self._api.admission.refresh()

    def _take(self, kind: BuiltinResource, entry: CachedObject) -> None:
        try:
            obj = kind.shown(entry)
            if kind is self.kinds[1]:
                self._bindings[entry.name] = self._machinery.binding(obj)
                return
            before = self._policies.get(entry.name)
            if before is None or before.spec != obj["spec"]:
                self._policies[entry.name] = self._machinery.policy(obj)
        except errors.APIError as error:
            log.error("%s %s in the store cannot be read and is not minded: %s", kind.kind, entry.name, error.message)
            self._forget(kind, entry.name)
        except Exception:
            log.exception("%s %s in the store makes no sense and is not minded", kind.kind, entry.name)
            self._forget(kind, entry.name)

    def _forget(self, kind: BuiltinResource, name: str) -> None:
        (self._policies if kind is self.kinds[0] else self._bindings).pop(name, None)


def find_params(api: Backend, api_version: str, name: str) -> ParamStore | None:
    """Where the objects of a kind are that policies may want as params."""
    group, _, version = api_version.rpartition("/")
    kind = api.registry.named(group, name)
    served = kind.versions.get(version) if kind is not None else None
    return _Params(api, served) if served is not None else None


class _Params:
    """The objects of one kind at one version, as params."""

    def __init__(self, api: Backend, version: ServedVersion) -> None:
        self._api = api
        self._version = version
        self.namespaced = version.resource.namespaced

    async def get(self, namespace: str, name: str) -> JsonObject | None:
        cache = await self._loaded()
        entry = cache.get(self._version.resource.key(namespace, name))
        return (await self._shown([entry]))[0] if entry is not None else None

    async def select(self, namespace: str, labels: LabelSelector) -> Sequence[JsonObject]:
        cache = await self._loaded()
        found = await self._shown(cache.snapshot(namespace if self.namespaced else None))
        return [obj for obj in found if labels.matches(obj["metadata"].get("labels") or {})]

    async def _loaded(self) -> Any:
        cache = self._version.cache
        if not cache.loaded:
            await self._api.cache.load(cache)
        return cache

    async def _shown(self, entries: list[CachedObject]) -> list[JsonObject]:
        forms = await self._version.representer.view_many(entries)
        return [json_codec.decode(form.data) for form in forms]
