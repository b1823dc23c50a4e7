"""ClusterRoles that are put together of others: their rules follow those of the roles that they select."""

from __future__ import annotations

from typing import Any

from polykind import errors
from polykind.auth.rbac.default_roles import GROUP
from polykind.auth.user import service_account
from polykind.cache.cached_object import CachedObject
from polykind.cache.resource_cache import ObjectChange
from polykind.codec import json_codec
from polykind.contract import JsonObject, Leadership
from polykind.controllers.informer import Informer
from polykind.controllers.workqueue import WorkQueue
from polykind.http.messages import Request
from polykind.http.options import PatchOptions
from polykind.resources.resource import Resource
from polykind.selectors.selector_objects import compile_label_selector, labels_of
from polykind.verbs.apply import Applied, apply_change
from polykind.verbs.context import Backend, RequestContext
from polykind.verbs.update import change_object

_MANAGER = "clusterrole-aggregation-controller"
_USER = service_account(_MANAGER)


class ClusterRoleAggregation:
    """Follows the ClusterRoles in the store, as the leader."""

    def __init__(self, api: Backend, leadership: Leadership) -> None:
        kind = api.registry.kind(GROUP, "clusterroles")
        if kind is None:
            raise AssertionError("roles are always served")
        self._api = api
        self._kind: Resource = kind
        self._leadership = leadership
        self._roles: dict[str, JsonObject] = {}
        """By their names, but for those that cannot be read."""
        self._queue: WorkQueue[str] = WorkQueue(self._look)
        self._following = Informer(api, kind, self._take_all, self._take_changes)

    async def start(self) -> None:
        await self._following.start()
        self._leadership.subscribe(self._lead)
        self._lead(self._leadership.leading)

    async def close(self) -> None:
        await self._following.close()
        await self._queue.close()

    def _lead(self, leading: bool) -> None:
        if leading:
            self._queue.open()
            self._look_at_all()
        else:
            self._queue.pause()

    def _take_changes(self, occurrences: list[ObjectChange]) -> None:
        for occurrence in occurrences:
            self._roles.pop(occurrence.cached.name, None)
            if occurrence.new is not None:
                self._take(occurrence.new)
        self._look_at_all()

    def _take_all(self) -> None:
        self._roles = {}
        for entry in self._kind.cache.snapshot(None):
            self._take(entry)
        self._look_at_all()

    def _take(self, entry: CachedObject) -> None:
        try:
            form = self._kind.versions["v1"].representer.ready(entry)
        except errors.APIError:
            # Who decides by it says so; it is no part of anything.
            return
        if form is not None:
            self._roles[entry.name] = json_codec.decode(form.data)

    def _look_at_all(self) -> None:
        """Any role may be a part of any other: which are cannot be told without looking."""
        if self._leadership.leading:
            for name, role in self._roles.items():
                if role.get("aggregationRule"):
                    self._queue.add(name)

    async def _look(self, name: str) -> None:
        role = self._roles.get(name)
        aggregation = role.get("aggregationRule") if role is not None else None
        if role is None or not aggregation:
            return
        rules = _gathered(aggregation, {other: parts for other, parts in self._roles.items() if other != name})
        if rules == (role.get("rules") or []):
            return
        applied: JsonObject = {"apiVersion": f"{GROUP}/v1", "kind": "ClusterRole", "metadata": {"name": name}}
        if rules:
            applied["rules"] = rules
        request = Request("PATCH", "", "", {}, b"")
        request.user = _USER
        call = RequestContext(self._api, request, self._kind.versions["v1"], None, name, "")
        options = PatchOptions(field_manager=_MANAGER, force=True)
        await change_object(call, apply_change(call, Applied(applied, []), options), options, whole=False, applied=True)


def _gathered(aggregation: JsonObject, roles: dict[str, JsonObject]) -> list[Any]:
    """The rules of all roles that are selected, each once, in the order of the selectors and of the roles' names."""
    found: list[Any] = []
    for wanted in aggregation.get("clusterRoleSelectors") or ():
        selected = compile_label_selector(wanted)
        for name in sorted(roles):
            if selected.matches(labels_of(roles[name])):
                for rule in roles[name].get("rules") or ():
                    if rule not in found:
                        found.append(rule)
    return found
