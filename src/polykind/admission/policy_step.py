"""Policies as a step of admission: those with bindings are asked about each write."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from polykind import errors
from polykind.admission.admission_review import Shown
from polykind.admission.attributes import Attributes
from polykind.admission.authorizing import authorizer_values
from polykind.admission.expressionvalues import namespace_value, request_value
from polykind.admission.policy_binding import Bound, BoundPolicy, PolicyBinding, exempt, own_namespace, told_name
from polykind.admission.policy_checks import Checks, error_type
from polykind.admission.policy_evaluation import Denial, Evaluation
from polykind.admission.policy_params import FindParams, ParamError, collect
from polykind.admission.telling import own
from polykind.contract import JsonObject
from polykind.metrics.metrics import Metrics

_CODES = {"Forbidden": 403, "Invalid": 422, "RequestEntityTooLarge": 413}


class Binding(PolicyBinding):
    """A ValidatingAdmissionPolicyBinding."""

    def __init__(self, binding: JsonObject) -> None:
        super().__init__(binding)
        self.actions: Sequence[str] = binding["spec"].get("validationActions") or ()


class Policy(BoundPolicy):
    """A ValidatingAdmissionPolicy."""

    def __init__(self, policy: JsonObject) -> None:
        super().__init__(policy)
        self.evaluation = Evaluation(self.spec)


class _Denied(NamedTuple):
    policy: Policy
    binding: Binding | None
    denial: Denial


class Policies(Bound[Policy, Binding]):
    """All ValidatingAdmissionPolicies that are bound."""

    def __init__(self, find: FindParams, metrics: Metrics) -> None:
        super().__init__(find)
        self._checks = Checks(metrics, "validating", "enforcement_action")

    async def admit(self, asked: Attributes) -> None:
        if exempt(asked):
            return
        denied: list[_Denied] = []
        for policy, bindings in self.bound:
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
        try:
            store = policy.store(self.find)
        except ParamError as error:
            return _misconfigured(policy, None, str(error))
        denied: list[_Denied] = []
        told: Shown | None = None
        for binding in bindings:
            try:
                if not binding.matches(asked):
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
                    denied += await self._evaluated(policy, binding, asked, told, params)
        return denied

    async def _evaluated(
        self,
        policy: Policy,
        binding: Binding,
        asked: Attributes,
        told: Shown,
        params: Sequence[JsonObject | None],
    ) -> list[_Denied]:
        namespace = own_namespace(asked)
        common: dict[str, Any] = {"object": told.obj, "oldObject": told.old}
        if policy.evaluation.asks:
            common |= authorizer_values(asked)
        conditions = {**common, "request": request_value(asked, told.api_version)}
        values = {
            **common,
            "request": request_value(asked, told.api_version, told.version),
            "namespaceObject": namespace_value(namespace),
        }
        denied: list[_Denied] = []
        for param in params:
            found = await policy.evaluation.evaluate(
                {**values, "params": param}, {**conditions, "params": param}, namespace
            )
            for denial in found:
                actions = _actions(binding, denial)
                for action in actions:
                    error = error_type(denial.message)
                    self._checks.count(policy.name, binding.name, error, denial.seconds, action)
                if "deny" in actions:
                    denied.append(_Denied(policy, binding, denial))
                if "warn" in actions:
                    asked.warn(
                        f"Validation failed for ValidatingAdmissionPolicy '{policy.name}' with binding "
                        f"'{binding.name}': {denial.message}"
                    )
        return denied


def _actions(binding: Binding, denial: Denial) -> Sequence[str]:
    """What follows from a denial."""
    if denial.ignored:
        return ("allow",)
    return ("deny",) if denial.unconditional else [action.lower() for action in binding.actions]


async def _told_at(asked: Attributes, version: str) -> Shown:
    resource = asked.resource
    if version == resource.version or resource.subresource == "scale":
        return own(asked)._replace(version=version)
    wanted = f"{resource.group}/{version}"
    try:
        obj, old = [await asked.convert(one, wanted) if one is not None else None for one in (asked.obj, asked.old)]
    except errors.APIError as error:
        raise ParamError(f"failed to convert object version: {error.upstream_message}") from None
    if (obj is None) != (asked.obj is None) or (old is None) != (asked.old is None):
        raise ParamError(f"failed to convert object version: {wanted} is not served")
    return Shown(version, wanted, obj, old)


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
    error = errors.ForbiddenError(
        resource.plural, resource.group, told_name(asked), message, causes=[{"message": message}]
    )
    error.reason = denial.reason or "Invalid"
    error.code = _CODES.get(error.reason, 422)
    return error
