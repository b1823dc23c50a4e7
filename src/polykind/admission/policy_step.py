"""Policies as a step of admission: those with bindings are asked about each write."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from polykind import errors
from polykind.admission.attributes import Attributes
from polykind.admission.conditions import IGNORE
from polykind.admission.expressionvalues import namespace_value, request_value
from polykind.admission.policy_evaluation import Denial, Evaluation
from polykind.admission.policy_matching import Match
from polykind.admission.policy_params import FindParams, ParamError, collect, unknown_kind
from polykind.admission.rules import GROUP
from polykind.contract import JsonObject

_EXEMPT = frozenset(
    f"{how}admission{what}" for how in ("validating", "mutating") for what in ("policies", "policybindings")
)
_CODES = {"Forbidden": 403, "Invalid": 422, "RequestEntityTooLarge": 413}


class Binding:
    """A ValidatingAdmissionPolicyBinding."""

    def __init__(self, binding: JsonObject) -> None:
        spec = binding["spec"]
        self.name: str = binding["metadata"]["name"]
        self.policy: str = spec.get("policyName") or ""
        self.actions: Sequence[str] = spec.get("validationActions") or ()
        self.param_ref: JsonObject | None = spec.get("paramRef")
        self.match = Match(spec["matchResources"]) if spec.get("matchResources") is not None else None


class Policy:
    """A ValidatingAdmissionPolicy."""

    def __init__(self, policy: JsonObject) -> None:
        spec = self.spec = policy["spec"]
        self.name: str = policy["metadata"]["name"]
        self.ignore = spec.get("failurePolicy") == IGNORE
        self.param_kind: JsonObject | None = spec.get("paramKind")
        self.match = Match(spec.get("matchConstraints") or {})
        self.evaluation = Evaluation(spec)


class _Denied(NamedTuple):
    policy: Policy
    binding: Binding | None
    denial: Denial


@dataclass(slots=True)
class _Versioned:
    """A write as it is told at the version that a policy matched it at."""

    obj: JsonObject | None
    old: JsonObject | None
    kind_version: str


class Policies:
    """All policies that are bound."""

    def __init__(self, find: FindParams) -> None:
        self._find = find
        self._bound: tuple[tuple[Policy, tuple[Binding, ...]], ...] = ()

    @property
    def active(self) -> bool:
        return bool(self._bound)

    def configure(self, policies: Mapping[str, Policy], bindings: Sequence[Binding]) -> None:
        """What is asked from now on: each policy for its bindings, in the order of their names."""
        of: dict[str, list[Binding]] = {}
        for binding in sorted(bindings, key=lambda one: one.name):
            if binding.policy in policies:
                of.setdefault(binding.policy, []).append(binding)
        self._bound = tuple((policies[name], tuple(of[name])) for name in sorted(of))

    async def admit(self, asked: Attributes) -> None:
        if asked.resource.group == GROUP and asked.resource.plural in _EXEMPT:
            # Lest a policy keeps itself from being mended.
            return
        denied: list[_Denied] = []
        for policy, bindings in self._bound:
            denied += await self._ask(policy, bindings, asked)
        if denied:
            raise _refusal(asked, denied[0])

    async def _ask(self, policy: Policy, bindings: Sequence[Binding], asked: Attributes) -> list[_Denied]:
        try:
            version = policy.match.version(asked)
        except errors.APIError as error:
            return _misconfigured(policy, None, error.message)
        if version is None:
            return []
        store = None
        if policy.param_kind is not None:
            store = self._find(policy.param_kind.get("apiVersion") or "", policy.param_kind.get("kind") or "")
            if store is None:
                return _misconfigured(policy, None, str(unknown_kind(policy.param_kind)))
        denied: list[_Denied] = []
        told: _Versioned | None = None
        for binding in bindings:
            try:
                if binding.match is not None and binding.match.version(asked) is None:
                    continue
                params = await collect(store, binding.param_ref, asked.namespace)
                if told is None and params:
                    told = await _told_at(asked, version)
            except ParamError as error:
                denied += _misconfigured(policy, binding, str(error))
            except errors.APIError as error:
                denied += _misconfigured(policy, binding, error.message)
            else:
                if told is not None:
                    denied += await _evaluated(policy, binding, asked, told, version, params)
        return denied


async def _evaluated(
    policy: Policy,
    binding: Binding,
    asked: Attributes,
    told: _Versioned,
    version: str,
    params: Sequence[JsonObject | None],
) -> list[_Denied]:
    namespace = _namespace(asked)
    common: dict[str, Any] = {"object": told.obj, "oldObject": told.old}
    conditions = {**common, "request": request_value(asked, told.kind_version)}
    values = {
        **common,
        "request": request_value(asked, told.kind_version, version),
        "namespaceObject": namespace_value(namespace),
    }
    denied: list[_Denied] = []
    for param in params:
        found = await policy.evaluation.evaluate(
            {**values, "params": param}, {**conditions, "params": param}, namespace
        )
        for denial in found:
            if denial.unconditional or "Deny" in binding.actions:
                denied.append(_Denied(policy, binding, denial))
            if not denial.unconditional and "Warn" in binding.actions:
                asked.warn(
                    f"Validation failed for ValidatingAdmissionPolicy '{policy.name}' with binding '{binding.name}': "
                    f"{denial.message}"
                )
    return denied


async def _told_at(asked: Attributes, version: str) -> _Versioned:
    resource = asked.resource
    if version == resource.version or resource.subresource == "scale":
        return _Versioned(asked.obj, asked.old, resource.kind_version)
    wanted = f"{resource.group}/{version}"
    try:
        obj, old = [await asked.convert(one, wanted) if one is not None else None for one in (asked.obj, asked.old)]
    except errors.APIError as error:
        raise ParamError(f"failed to convert object version: {error.message}") from None
    if (obj is None) != (asked.obj is None) or (old is None) != (asked.old is None):
        raise ParamError(f"failed to convert object version: {wanted} is not served")
    return _Versioned(obj, old, wanted)


def _namespace(asked: Attributes) -> JsonObject | None:
    """The namespace that a write is in; that of a namespace itself is none."""
    resource = asked.resource
    if not asked.namespace or (resource.kind, resource.kind_version) == ("Namespace", "v1"):
        return None
    namespace = asked.namespace_object()
    if namespace is None:
        raise errors.NotFound("namespaces", "", asked.namespace)
    return namespace


def _misconfigured(policy: Policy, binding: Binding | None, why: str) -> list[_Denied]:
    what = "policy" if binding is None else "binding"
    denial = Denial(f"failed to configure {what}: {why}")
    return [] if policy.ignore else [_Denied(policy, binding, denial)]


def _refusal(asked: Attributes, denied: _Denied) -> errors.APIError:
    """The first that denies is told."""
    policy, binding, denial = denied
    with_binding = f" with binding '{binding.name}'" if binding is not None else ""
    message = f"ValidatingAdmissionPolicy '{policy.name}'{with_binding} denied request: {denial.message}"
    resource = asked.resource
    error = errors.Forbidden(resource.plural, resource.group, _name(asked), message, causes=[{"message": message}])
    error.reason = denial.reason or "Invalid"
    error.code = _CODES.get(error.reason, 422)
    return error


def _name(asked: Attributes) -> str:
    if asked.name:
        return asked.name
    meta = (asked.obj or {}).get("metadata") or {}
    return meta.get("name") or meta.get("generateName") or "Unknown"
