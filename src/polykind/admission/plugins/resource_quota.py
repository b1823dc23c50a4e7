"""The ResourceQuota plugin: checks creates and updates against the quotas of a namespace, and records the usage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from polykind import errors
from polykind.admission.attributes import CREATE, UPDATE, Attributes, Compute, compute_inline
from polykind.admission.plugins.builtin_plugin import PluginServices, forbidden
from polykind.admission.plugins.plugin_table import RESOURCE_QUOTAS
from polykind.admission.plugins.quota_evaluators import Evaluator, evaluator_for, in_scopes, quota_scopes, size_names
from polykind.admission.plugins.quota_ledger import Charge, QuotaLedger
from polykind.admission.plugins.resource_lists import ResourceList, subtract
from polykind.contract import JsonObject
from polykind.loop_calls import on_loop
from polykind.quantity import BINARY_SI, Quantity


class ResourceQuotas:
    """Checks requests against quotas, and charges their usage."""

    def __init__(self, services: PluginServices) -> None:
        self._services = services
        self._limited = limited_resources(services)
        self.ledger = QuotaLedger(services)

    async def admit(self, attributes: Attributes) -> None:
        """Raise ForbiddenError if the request would exceed a quota. Otherwise record its usage."""
        resource, namespace = attributes.resource, attributes.namespace
        creates_namespace = (resource.group, resource.plural) == ("", "namespaces") and attributes.operation == CREATE
        if not namespace or creates_namespace or attributes.obj is None:
            return
        evaluator = evaluator_for(resource.group, resource.plural)
        if evaluator is None or not evaluator.handles(attributes):
            return
        claim = _ObjectClaim(attributes, evaluator, self._services.clock.now())
        texts = self._limited.get((resource.group, resource.plural))
        if texts:
            quotas = await self._services.objects.list("", "resourcequotas", namespace)
            await attributes.compute(lambda: claim.check_covered(quotas, texts))
        if attributes.dry_run:
            await on_loop(self.ledger.check(namespace, claim))
        else:
            attributes.charge = await on_loop(self.ledger.charge(namespace, claim))

    async def charge_size(
        self, namespace: str, group: str, plural: str, name: str, growth: int, *, dry_run: bool
    ) -> Charge | None:
        """Charge the bytes by which a custom object grows. Raise ForbiddenError if that would exceed a quota."""
        claim = _SizeClaim(group, plural, name, growth)
        if dry_run:
            await self.ledger.check(namespace, claim)
            return None
        return await self.ledger.charge(namespace, claim)


def limited_resources(services: PluginServices) -> dict[tuple[str, str], list[str]]:
    """Return the limited resources in the plugin's configuration: texts in their names, by group and plural."""
    limited: dict[tuple[str, str], list[str]] = {}
    for entry in (services.configurations.get(RESOURCE_QUOTAS) or {}).get("limitedResources") or ():
        texts = limited.setdefault((entry.get("apiGroup", ""), entry["resource"]), [])
        texts += entry.get("matchContains") or ()
    return limited


@dataclass(frozen=True)
class _ObjectClaim:
    """The usage of a request's object, as its evaluator computes it."""

    attributes: Attributes
    evaluator: Evaluator
    now: datetime

    @property
    def may_exceed(self) -> bool:
        return self.attributes.resource.subresource == "status"

    @property
    def compute(self) -> Compute:
        return self.attributes.compute

    def forbidden(self, reason: str) -> errors.APIError:
        return forbidden(self.attributes, reason)

    def deltas(self, quotas: list[JsonObject]) -> list[tuple[JsonObject, ResourceList]]:
        attributes, evaluator = self.attributes, self.evaluator
        obj, old = attributes.obj or {}, attributes.old
        concerned = [quota for quota in quotas if self._concerns(quota)]
        usage = evaluator.usage(obj, self.now)
        if negative := sorted(name for name, quantity in usage.items() if quantity.sign < 0):
            raise self.forbidden(f"quota usage is negative for resource(s): {','.join(negative)}")
        if attributes.operation != UPDATE:
            old = None
        increase = usage if old is None else subtract(usage, evaluator.usage(old, self.now))
        found = []
        for quota in concerned:
            counted = old is not None and _matches(quota, old, evaluator)
            delta = {n: q for n, q in (increase if counted else usage).items() if q.sign}
            if delta:
                found.append((quota, delta))
        return found

    def check_covered(self, quotas: list[JsonObject], texts: Sequence[str]) -> None:
        """Raise ForbiddenError if the request consumes more of a limited resource for which there is no quota.

        Limited resources contain one of `texts` in their name.
        """
        attributes, evaluator = self.attributes, self.evaluator
        obj, old = attributes.obj or {}, attributes.old
        usage = evaluator.usage(obj, self.now)
        increase = usage
        if attributes.operation == UPDATE and old is not None:
            increase = subtract(usage, evaluator.usage(old, self.now))
        if not any(quantity.sign for quantity in increase.values()):
            return
        limited = {name for name, used in usage.items() if used.sign > 0 and any(text in name for text in texts)}
        for quota in quotas:
            if _matches(quota, obj, evaluator):
                limited -= evaluator.matching(set((quota.get("status") or {}).get("hard") or ()))
        if limited:
            raise self.forbidden(f"insufficient quota to consume: {','.join(sorted(limited))}")

    def _concerns(self, quota: JsonObject) -> bool:
        """True if a quota limits the request's object.

        Raise ForbiddenError if the object lacks a limited field, or if the usage in the quota's status is unknown.
        """
        obj, evaluator = self.attributes.obj or {}, self.evaluator
        if not _matches(quota, obj, evaluator):
            return False
        status, name = quota.get("status") or {}, quota["metadata"]["name"]
        limited = evaluator.matching(set(status.get("hard") or ()))
        if missing := evaluator.missing(limited, obj):
            raise self.forbidden(f"failed quota: {name}: {missing}")
        if not limited <= set(status.get("used") or ()):
            raise self.forbidden(_unknown_usage(quota, limited))
        return True


@dataclass(frozen=True)
class _SizeClaim:
    """The bytes by which a custom object grows."""

    group: str
    plural: str
    name: str
    growth: int
    may_exceed: bool = False
    compute: Compute = compute_inline

    def forbidden(self, reason: str) -> errors.APIError:
        return errors.ForbiddenError(self.plural, self.group, self.name, reason)

    def deltas(self, quotas: list[JsonObject]) -> list[tuple[JsonObject, ResourceList]]:
        names, found = size_names(self.group, self.plural), []
        for quota in quotas:
            status = quota.get("status") or {}
            limited = names & set(status.get("hard") or ())
            if not limited or quota_scopes(quota):
                continue
            if not limited <= set(status.get("used") or ()):
                raise self.forbidden(_unknown_usage(quota, limited))
            found.append((quota, dict.fromkeys(limited, Quantity.of(self.growth, BINARY_SI))))
        return found


def _unknown_usage(quota: JsonObject, limited: set[str]) -> str:
    return f"status unknown for quota: {quota['metadata']['name']}, resources: {','.join(sorted(limited))}"


def _matches(quota: JsonObject, obj: JsonObject, evaluator: Evaluator) -> bool:
    """True if a quota limits a resource that the object uses, and the object is in all scopes of the quota."""
    hard = set((quota.get("status") or {}).get("hard") or ())
    return bool(evaluator.matching(hard)) and in_scopes(quota, obj, evaluator)
