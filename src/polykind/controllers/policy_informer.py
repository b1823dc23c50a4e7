"""The informer of admission policies and their bindings: keeps one policy plugin of the admission chain up to date."""

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
from polykind.cache.watch_cache import WatchCache
from polykind.codec import json_codec
from polykind.contract import JsonObject
from polykind.controllers.informer import Informer
from polykind.loop_calls import on_loop
from polykind.resources.builtin import BuiltinResource
from polykind.resources.registry import Registry
from polykind.resources.resource import ServedVersion
from polykind.selectors.label_selectors import LabelSelector

if TYPE_CHECKING:
    from polykind.admission.policy_plugin import AdmissionPolicy, ParamStore, PolicyBinding, PolicyPlugin

P = TypeVar("P", bound="AdmissionPolicy")
B = TypeVar("B", bound="PolicyBinding")

log = logging.getLogger("polykind.policies")


class Plugin(NamedTuple, Generic[P, B]):
    """The admission plugin that evaluates policies, and the functions that compile policies and bindings for it."""

    step: PolicyPlugin[P, B]
    policy: Callable[[JsonObject], P]
    binding: Callable[[JsonObject], B]


class PolicyInformer(Generic[P, B]):
    """Watches one kind of policy and its bindings. A change is in effect before the server responds to its write.

    The informer itself is a member of the admission chain. It imports the policy plugin when the first policy exists.
    """

    def __init__(
        self,
        cache: WatchCache,
        policies: BuiltinResource,
        bindings: BuiltinResource,
        load_plugin: Callable[[], Plugin[P, B]],
        refresh: Callable[[], None],
    ) -> None:
        self.active = False
        self.resources = (policies, bindings)
        self._informers: dict[BuiltinResource, Informer[Any]] = {
            resource: Informer(
                cache,
                resource.cache,
                partial(self._on_list, resource),
                partial(self._on_changes, resource),
                partial(self._compile, resource),
            )
            for resource in self.resources
        }
        self._policies: dict[str, P] = {}
        self._bindings: dict[str, B] = {}
        self._load_plugin = load_plugin
        self._refresh = refresh

    @cached_property
    def _plugin(self) -> Plugin[P, B]:
        return self._load_plugin()

    async def admit(self, attributes: Attributes) -> None:
        await self._plugin.step.admit(attributes)

    async def start(self) -> None:
        for informer in self._informers.values():
            await informer.start()

    async def close(self) -> None:
        await asyncio.gather(*(informer.close() for informer in self._informers.values()))

    def _on_list(self, resource: BuiltinResource) -> None:
        (self._policies if resource is self.resources[0] else self._bindings).clear()
        for cached in resource.cache.snapshot(None):
            self._add(resource, cached)
        self._configure()

    def _on_changes(self, resource: BuiltinResource, changes: Sequence[ObjectChange]) -> None:
        for change in changes:
            if change.new is not None:
                self._add(resource, change.new)
            elif change.old is not None:
                self._remove(resource, change.old.name)
        self._configure()

    def _configure(self) -> None:
        if self._policies or self._bindings or self.active:
            step = self._plugin.step
            step.configure(self._policies, list(self._bindings.values()))
            self.active = step.active
            self._refresh()

    def _add(self, resource: BuiltinResource, cached: CachedObject) -> None:
        try:
            compiled = self._informers[resource].prepared(cached)
            (self._policies if resource is self.resources[0] else self._bindings)[cached.name] = compiled
        except errors.APIError as error:
            log.error(
                "admission: cannot decode stored %s %s, ignoring it: %s", resource.kind, cached.name, error.message
            )
            self._remove(resource, cached.name)
        except Exception:
            log.exception("admission: cannot compile stored %s %s, ignoring it", resource.kind, cached.name)
            self._remove(resource, cached.name)

    def _compile(self, resource: BuiltinResource, cached: CachedObject) -> P | B:
        """Return the compiled policy or binding. A policy whose spec has not changed is not compiled again."""
        obj = resource.shown(cached)
        if resource is self.resources[1]:
            return self._plugin.binding(obj)
        compiled = self._policies.get(cached.name)
        if compiled is not None and compiled.spec == obj["spec"]:
            return compiled
        return self._plugin.policy(obj)

    def _remove(self, resource: BuiltinResource, name: str) -> None:
        (self._policies if resource is self.resources[0] else self._bindings).pop(name, None)


def find_params(cache: WatchCache, registry: Registry, api_version: str, kind: str) -> ParamStore | None:
    """Return the ParamStore of a policy's paramKind, or None if the kind is not served."""
    group, _, version = api_version.rpartition("/")
    resource = registry.resource_of_kind(group, kind)
    served = resource.versions.get(version) if resource is not None else None
    return _Params(cache, served) if served is not None else None


class _Params:
    """The objects of one kind at one version, as policy params."""

    def __init__(self, cache: WatchCache, version: ServedVersion) -> None:
        self._watch_cache = cache
        self._version = version
        self.namespaced = version.resource.namespaced

    async def get(self, namespace: str, name: str) -> JsonObject | None:
        return await on_loop(self._get(namespace, name))

    async def select(self, namespace: str, labels: LabelSelector) -> Sequence[JsonObject]:
        objects = await on_loop(self._list(namespace))
        return [obj for obj in objects if labels.matches(obj["metadata"].get("labels") or {})]

    async def _get(self, namespace: str, name: str) -> JsonObject | None:
        cache = await self._load()
        cached = cache.get(self._version.resource.key(namespace, name))
        return (await self._decode([cached]))[0] if cached is not None else None

    async def _list(self, namespace: str) -> list[JsonObject]:
        cache = await self._load()
        return await self._decode(cache.snapshot(namespace if self.namespaced else None))

    async def _load(self) -> Any:
        cache = self._version.cache
        if not cache.loaded:
            await self._watch_cache.load(cache)
        return cache

    async def _decode(self, objects: list[CachedObject]) -> list[JsonObject]:
        representations = await self._version.representer.view_many(objects)
        return [json_codec.decode(representation.data) for representation in representations]
