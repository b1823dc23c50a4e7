"""The ResourceQuota plugin: checks creates and updates against the quotas of a namespace, and records the usage."""

from __future__ import annotations

import asyncio
from weakref import WeakValueDictionary

from polykind import errors
from polykind.admission.attributes import CREATE, UPDATE, Attributes
from polykind.admission.plugins.builtin_plugin import PluginServices, forbidden
from polykind.admission.plugins.quota_evaluators import Evaluator, evaluator_for
from polykind.admission.plugins.resource_lists import ResourceList, add, mask, parse_resources, to_json
from polykind.contract import JsonObject
from polykind.quantity import Quantity

_ATTEMPTS = 4
"""The number of attempts to record the usage while other writers change the quota."""


class ResourceQuotas:
    """Checks requests against quotas.

    The requests of a namespace are checked one after the other, so that each check includes the usage of the previous
    request. The quota's resourceVersion detects concurrent writes of other replicas and controllers.
    """

    def __init__(self, services: PluginServices) -> None:
        self._services = services
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def admit(self, attributes: Attributes) -> None:
        """Raise ForbiddenError if the request would exceed a quota. Otherwise record its usage."""
        resource, namespace = attributes.resource, attributes.namespace
        creates_namespace = (resource.group, resource.plural) == ("", "namespaces") and attributes.operation == CREATE
        if not namespace or creates_namespace or attributes.obj is None:
            return
        evaluator = evaluator_for(resource.group, resource.plural)
        if evaluator is None or not evaluator.handles(attributes):
            return
        lock = self._locks.get(namespace)
        if lock is None:
            lock = self._locks[namespace] = asyncio.Lock()
        async with lock:
            await self._check(attributes, evaluator)

    async def _check(self, attributes: Attributes, evaluator: Evaluator) -> None:
        pending: set[str] | None = None
        for attempt in range(_ATTEMPTS):
            quotas = await self._services.objects.list("", "resourcequotas", attributes.namespace)
            if pending is not None:
                quotas = [quota for quota in quotas if quota["metadata"]["name"] in pending]
            if not quotas:
                return
            changed = self._changed_quotas(quotas, attributes, evaluator)
            if attributes.dry_run:
                return
            pending, failure = set(), None
            for quota in changed:
                try:
                    await self._services.status.update_status("", "resourcequotas", quota)
                except errors.APIError as error:
                    pending.add(quota["metadata"]["name"])
                    failure = error
            if failure is None:
                return
            if attempt == _ATTEMPTS - 1:
                raise failure

    def _changed_quotas(
        self, quotas: list[JsonObject], attributes: Attributes, evaluator: Evaluator
    ) -> list[JsonObject]:
        """Return the quotas whose usage the request changes, with the new usage.

        Raise ForbiddenError if a quota would be exceeded.
        """
        obj, old, now = attributes.obj or {}, attributes.old, self._services.clock.now()
        concerned = [quota for quota in quotas if self._concerns(quota, attributes, evaluator)]
        usage = evaluator.usage(obj, now)
        if negative := sorted(name for name, quantity in usage.items() if quantity.sign < 0):
            raise forbidden(attributes, f"quota usage is negative for resource(s): {','.join(negative)}")
        increase = usage
        if attributes.operation == UPDATE and old is not None:
            increase = _increase(usage, evaluator.usage(old, now))
        changed = []
        for quota in concerned:
            counted = old is not None and attributes.operation == UPDATE and _matches(quota, old, evaluator)
            delta = {n: q for n, q in (increase if counted else usage).items() if q.sign}
            if delta:
                updated = _with_usage(quota, delta, attributes)
                if updated is not None:
                    changed.append(updated)
        return changed

    @staticmethod
    def _concerns(quota: JsonObject, attributes: Attributes, evaluator: Evaluator) -> bool:
        """True if a quota limits the request's object.

        Raise ForbiddenError if the object lacks a limited field, or if the usage in the quota's status is unknown.
        """
        obj = attributes.obj or {}
        if not _matches(quota, obj, evaluator):
            return False
        status, name = quota.get("status") or {}, quota["metadata"]["name"]
        limited = evaluator.matching(set(status.get("hard") or ()))
        if missing := evaluator.missing(limited, obj):
            raise forbidden(attributes, f"failed quota: {name}: {missing}")
        if not limited <= set(status.get("used") or ()):
            raise forbidden(attributes, f"status unknown for quota: {name}, resources: {','.join(sorted(limited))}")
        return True


def _matches(quota: JsonObject, obj: JsonObject, evaluator: Evaluator) -> bool:
    """True if a quota limits a resource that the object uses, and the object is in all scopes of the quota."""
    spec = quota.get("spec") or {}
    scopes = [{"scopeName": scope, "operator": "Exists"} for scope in spec.get("scopes") or ()]
    scopes += (spec.get("scopeSelector") or {}).get("matchExpressions") or ()
    hard = set((quota.get("status") or {}).get("hard") or ())
    return bool(evaluator.matching(hard)) and all(evaluator.in_scope(scope, obj) for scope in scopes)


def _increase(usage: ResourceList, previous: ResourceList) -> ResourceList:
    """Return the increase of an updated object's usage of each resource, or 0 if its usage shrinks."""
    zero = Quantity.of(0)
    grown = {name: quantity - previous[name] if name in previous else quantity for name, quantity in usage.items()}
    return {name: quantity if quantity.sign > 0 else zero for name, quantity in grown.items()}


def _with_usage(quota: JsonObject, delta: ResourceList, attributes: Attributes) -> JsonObject | None:
    """Return the quota with `delta` added to its usage, or None if its usage stays the same.

    Raise ForbiddenError if the usage would exceed the quota.
    """
    status = quota.get("status") or {}
    hard, used = parse_resources(status.get("hard")), parse_resources(status.get("used"))
    requested = mask(delta, hard)
    new = add(used, requested)
    exceeded = {name for name in requested if new[name] > hard[name]}
    if exceeded and attributes.resource.subresource != "status":
        lists = {"requested": requested, "used": used, "limited": hard}
        figures = ", ".join(f"{word}: {_text(mask(resources, exceeded))}" for word, resources in lists.items())
        raise forbidden(attributes, f"exceeded quota: {quota['metadata']['name']}, {figures}")
    if new == used:
        return None
    return {**quota, "status": {**status, "used": to_json(new)}}


def _text(resources: ResourceList) -> str:
    return ",".join(f"{name}={resources[name]}" for name in sorted(resources))
