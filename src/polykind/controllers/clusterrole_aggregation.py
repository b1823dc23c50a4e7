"""The ClusterRole aggregation controller: copies the rules of the selected roles into aggregated ClusterRoles."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import NamedTuple

from polykind import errors
from polykind.auth.rbac.default_roles import GROUP
from polykind.auth.user import service_account
from polykind.cache.cached_object import CachedObject
from polykind.cache.resource_cache import ObjectChange
from polykind.codec import json_codec
from polykind.contract import JsonObject, Leadership
from polykind.controllers.controller_runtime import Controller
from polykind.controllers.informer import Informer
from polykind.controllers.object_client import ObjectClient
from polykind.operations.backend import Backend
from polykind.resources.resource import Resource
from polykind.selectors.selector_objects import compile_label_selector, labels_of

_MANAGER = "clusterrole-aggregation-controller"
_USER = service_account(_MANAGER)
_MAX_INLINE_RULES = 2_000
"""More rules than this are aggregated in a worker thread."""


class _Role(NamedTuple):
    """The parts of a ClusterRole that aggregation needs. The rules are encoded, because many take much memory."""

    seen: CachedObject
    labels: dict[str, str]
    selectors: Sequence[JsonObject]
    """The selectors of the aggregationRule. A role without an aggregationRule has none."""
    is_aggregated: bool
    rules: list[bytes]


class ClusterRoleAggregationController:
    """Watches ClusterRoles. On the leader, updates the rules of those with an aggregationRule."""

    def __init__(self, backend: Backend, leadership: Leadership) -> None:
        resource = backend.registry.resource(GROUP, "clusterroles")
        if resource is None:
            raise AssertionError("clusterroles are always served")
        self._backend = backend
        self._resource: Resource = resource
        self._client = ObjectClient(backend, manager=_MANAGER, user=_USER)
        self._roles: dict[str, _Role] = {}
        """The ClusterRoles by name, without those that cannot be decoded."""
        self._informer = Informer(backend.cache, resource.cache, self._on_list, self._on_changes, self._decode)
        self._controller: Controller[str] = Controller(leadership, self._reconcile, keys=self._aggregated)
        self._controller.inform(self._informer)
        self.start, self.close = self._controller.start, self._controller.close

    def _aggregated(self) -> Iterable[str]:
        """Return the names of all aggregated roles, because any change may affect any of them."""
        return [name for name, role in self._roles.items() if role.is_aggregated]

    def _on_changes(self, changes: list[ObjectChange]) -> None:
        for change in changes:
            self._roles.pop(change.cached.name, None)
            if change.new is not None:
                self._add(change.new)
        self._controller.add_all()

    def _on_list(self) -> None:
        self._roles = {}
        for cached in self._resource.cache.snapshot(None):
            self._add(cached)
        self._controller.add_all()

    def _add(self, cached: CachedObject) -> None:
        try:
            role = self._informer.prepared(cached)
        except errors.APIError:
            # Skip the role without a log line, because the RBAC informer already logs the error.
            return
        if role is not None:
            self._roles[cached.name] = role

    def _decode(self, cached: CachedObject) -> _Role | None:
        representation = self._resource.versions["v1"].representer.ready_at_once(cached)
        if representation is None:
            return None
        role = json_codec.decode(representation.data)
        aggregation = role.get("aggregationRule")
        selectors = (aggregation or {}).get("clusterRoleSelectors") or ()
        rules = [json_codec.encode(rule) for rule in role.get("rules") or ()]
        return _Role(cached, labels_of(role), selectors, bool(aggregation), rules)

    async def _reconcile(self, name: str) -> None:
        role = self._roles.get(name)
        if role is None or not role.is_aggregated:
            return
        others = {other: parts for other, parts in self._roles.items() if other != name}
        if sum(len(part.rules) for part in (role, *others.values())) > _MAX_INLINE_RULES:
            rules = await self._backend.workers.run("", partial(_aggregate, role, others))
        else:
            rules = _aggregate(role, others)
        if rules == role.rules:
            return
        fields = {"rules": list(map(json_codec.decode, rules))} if rules else {}
        await self._client.apply(self._resource.versions["v1"], role.seen, fields)


def _aggregate(role: _Role, others: dict[str, _Role]) -> list[bytes]:
    """Return the distinct rules of all roles that a role selects, ordered by selector and then by role name."""
    rules: dict[bytes, None] = {}
    for label_selector in role.selectors:
        selected = compile_label_selector(label_selector)
        for name in sorted(others):
            if selected.matches(others[name].labels):
                rules.update(dict.fromkeys(others[name].rules))
    return list(rules)
