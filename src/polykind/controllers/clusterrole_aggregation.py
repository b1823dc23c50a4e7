"""The ClusterRole aggregation controller: copies the rules of the selected roles into aggregated ClusterRoles."""

from __future__ import annotations

from functools import partial

from polykind import errors
from polykind.auth.rbac.default_roles import GROUP
from polykind.auth.user import service_account
from polykind.cache.cached_object import CachedObject
from polykind.cache.resource_cache import ObjectChange
from polykind.codec import json_codec
from polykind.contract import JsonObject, Leadership
from polykind.controllers.informer import Informer
from polykind.controllers.workqueue import WorkQueue
from polykind.operations.backend import Backend
from polykind.operations.operation import Operation
from polykind.operations.options import PatchOptions
from polykind.resources.resource import Resource
from polykind.selectors.selector_objects import compile_label_selector, labels_of
from polykind.verbs.apply import AppliedConfiguration, apply_change
from polykind.verbs.update import change_object
from polykind.verbs.write import APPLY

_MANAGER = "clusterrole-aggregation-controller"
_USER = service_account(_MANAGER)
_MAX_INLINE_RULES = 2_000
"""More rules than this are aggregated in a worker thread."""


class ClusterRoleAggregationController:
    """Watches ClusterRoles. On the leader, updates the rules of those with an aggregationRule."""

    def __init__(self, backend: Backend, leadership: Leadership) -> None:
        resource = backend.registry.resource(GROUP, "clusterroles")
        if resource is None:
            raise AssertionError("clusterroles are always served")
        self._backend = backend
        self._resource: Resource = resource
        self._leadership = leadership
        self._roles: dict[str, JsonObject] = {}
        """The ClusterRoles by name, without those that cannot be decoded."""
        self._queue: WorkQueue[str] = WorkQueue(self._reconcile)
        self._informer = Informer(backend.cache, resource.cache, self._on_list, self._on_changes, self._decode)

    async def start(self) -> None:
        await self._informer.start()
        self._leadership.subscribe(self._on_leadership)
        self._on_leadership(self._leadership.leading)

    async def close(self) -> None:
        await self._informer.close()
        await self._queue.close()

    def _on_leadership(self, leading: bool) -> None:
        if leading:
            self._queue.open()
            self._enqueue_all()
        else:
            self._queue.pause()

    def _on_changes(self, changes: list[ObjectChange]) -> None:
        for change in changes:
            self._roles.pop(change.cached.name, None)
            if change.new is not None:
                self._add(change.new)
        self._enqueue_all()

    def _on_list(self) -> None:
        self._roles = {}
        for cached in self._resource.cache.snapshot(None):
            self._add(cached)
        self._enqueue_all()

    def _add(self, cached: CachedObject) -> None:
        try:
            role = self._informer.prepared(cached)
        except errors.APIError:
            # Skip the role without a log line, because the RBAC informer already logs the error.
            return
        if role is not None:
            self._roles[cached.name] = role

    def _decode(self, cached: CachedObject) -> JsonObject | None:
        """Return the parts of a role that aggregation needs. Its rules are encoded, because many take much memory."""
        representation = self._resource.versions["v1"].representer.ready_at_once(cached)
        if representation is None:
            return None
        role = json_codec.decode(representation.data)
        rules = [json_codec.encode(rule) for rule in role.get("rules") or ()]
        labels = {"labels": (role.get("metadata") or {}).get("labels")}
        return {"metadata": labels, "aggregationRule": role.get("aggregationRule"), "rules": rules}

    def _enqueue_all(self) -> None:
        """Enqueue every aggregated role, because any change may affect any of them."""
        if self._leadership.leading:
            for name, role in self._roles.items():
                if role.get("aggregationRule"):
                    self._queue.add(name)

    async def _reconcile(self, name: str) -> None:
        role = self._roles.get(name)
        aggregation = role.get("aggregationRule") if role is not None else None
        if role is None or not aggregation:
            return
        others = {other: parts for other, parts in self._roles.items() if other != name}
        if sum(len(part.get("rules") or ()) for part in (role, *others.values())) > _MAX_INLINE_RULES:
            rules = await self._backend.workers.run("", partial(_changed_rules, role, aggregation, others))
        else:
            rules = _changed_rules(role, aggregation, others)
        if rules is None:
            return
        applied: JsonObject = {"apiVersion": f"{GROUP}/v1", "kind": "ClusterRole", "metadata": {"name": name}}
        if rules:
            applied["rules"] = list(map(json_codec.decode, rules))
        # The body shows the later stages how large the change is.
        body = json_codec.encode(applied)
        version = self._resource.versions["v1"]
        op = Operation.by_server(self._backend, "patch", version, name, user=_USER, body=body)
        options = PatchOptions(field_manager=_MANAGER, force=True)
        await change_object(op, apply_change(op, AppliedConfiguration(applied, []), options), options, APPLY)


def _changed_rules(role: JsonObject, aggregation: JsonObject, others: dict[str, JsonObject]) -> list[bytes] | None:
    """Return the aggregated rules of a role, or None if the role has these rules already."""
    rules = _aggregate(aggregation, others)
    return None if rules == role["rules"] else rules


def _aggregate(aggregation: JsonObject, roles: dict[str, JsonObject]) -> list[bytes]:
    """Return the distinct rules of all selected roles, ordered by selector and then by role name."""
    rules: dict[bytes, None] = {}
    for label_selector in aggregation.get("clusterRoleSelectors") or ():
        selected = compile_label_selector(label_selector)
        for name in sorted(roles):
            if selected.matches(labels_of(roles[name])):
                rules.update(dict.fromkeys(roles[name]["rules"]))
    return list(rules)
