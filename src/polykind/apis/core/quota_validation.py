"""Validation of ResourceQuotas."""

from __future__ import annotations

from polykind import errors
from polykind.apis.core.resource_names import is_standard_for_quota
from polykind.apis.core.resource_validation import validate_quantity, validate_quota_resource_name
from polykind.apis.core.types import CORE_V1
from polykind.apis.machinery.internal_types import show_internal
from polykind.contract import JsonObject
from polykind.errors import FieldError
from polykind.quantity import parse_quantity

_COMPUTE = frozenset(("cpu", "memory", "limits.cpu", "limits.memory", "requests.cpu", "requests.memory"))
_PODS = frozenset(("pods",))
_CLAIMS = frozenset(("persistentvolumeclaims", "requests.storage"))
_SCOPE_RESOURCES = {
    "Terminating": _PODS | _COMPUTE,
    "NotTerminating": _PODS | _COMPUTE,
    "BestEffort": _PODS,
    "NotBestEffort": _PODS | _COMPUTE,
    "PriorityClass": _PODS | _COMPUTE,
    "CrossNamespacePodAffinity": _PODS | _COMPUTE,
    "VolumeAttributesClass": _CLAIMS,
}
"""The names of resources that a quota with a scope can limit, by scope."""
_SCOPES_WITHOUT_VALUES = frozenset(_SCOPE_RESOURCES) - {"PriorityClass", "VolumeAttributesClass"}
_CONFLICTING_SCOPES = (("BestEffort", "NotBestEffort"), ("Terminating", "NotTerminating"))
_MUST_EXIST = (
    "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, "
    "ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity"
)


def validate_quota_spec(spec: JsonObject) -> list[FieldError]:
    """Validate the limits and the scopes of a quota."""
    found = _validate_quantities(spec, "spec", "hard") + _validate_scopes(spec)
    return found + _validate_scope_selector(spec) if spec.get("scopeSelector") is not None else found


def validate_quota_status(quota: JsonObject) -> list[FieldError]:
    """Validate the status of a quota."""
    status = quota.get("status") or {}
    return _validate_quantities(status, "status", "hard") + _validate_quantities(status, "status", "used")


def validate_quota_update(new: JsonObject, old: JsonObject) -> list[FieldError]:
    """Validate the spec of an updated quota, whose scopes are immutable."""
    found = validate_quota_spec(new["spec"])
    scopes, old_scopes = (quota["spec"].get("scopes") or [] for quota in (new, old))
    if set(scopes) != set(old_scopes):
        found.append(errors.invalid("spec.scopes", scopes or None, "field is immutable"))
    return found


def quota_warnings(quota: JsonObject) -> list[str]:
    """Return a warning for each resource for which the quota allows more requests than limits."""
    hard = {name: parse_quantity(text) for name, text in (quota["spec"].get("hard") or {}).items()}
    found = []
    for resource in ("cpu", "memory", "storage", "ephemeral-storage"):
        request, limit = f"requests.{resource}", f"limits.{resource}"
        if request not in hard and resource in ("cpu", "memory"):
            request = resource
        if request in hard and limit in hard and hard[request] > hard[limit]:
            found.append(
                f"ResourceQuota {request} ({hard[request]}) should be less than {limit} ({hard[limit]})",
            )
    return found


def _validate_quantities(part: JsonObject, at: str, field: str) -> list[FieldError]:
    found: list[FieldError] = []
    for name, text in (part.get(field) or {}).items():
        path = f"{at}.{field}[{name}]"
        found += validate_quota_resource_name(name, path) + validate_quantity(name, text, path)
    return found


def _validate_scopes(spec: JsonObject) -> list[FieldError]:
    scopes, at, found = spec.get("scopes") or [], "spec.scopes", []
    for scope in scopes:
        if scope not in _SCOPE_RESOURCES:
            found.append(errors.invalid(at, scopes, "unsupported scope"))
        found += [
            errors.invalid(at, scopes, "unsupported scope applied to resource") for _ in _unsupported(spec, scope)
        ]
    return found + [errors.invalid(at, scopes, "conflicting scopes") for _ in _conflicts(scopes)]


def _validate_scope_selector(spec: JsonObject) -> list[FieldError]:
    at, found = "spec.scopeSelector.matchExpressions", []
    expressions = spec["scopeSelector"].get("matchExpressions") or []
    for expression in expressions:
        scope = expression.get("scopeName") or ""
        if scope not in _SCOPE_RESOURCES:
            found.append(errors.invalid(f"{at}.scopeName", scope, "unsupported scope"))
        shown = show_internal(CORE_V1.struct("ScopeSelector"), spec["scopeSelector"])
        found += [errors.invalid(at, shown, "unsupported scope applied to resource") for _ in _unsupported(spec, scope)]
        found += _validate_scope_expression(expression, scope, at)
    # As in kube-apiserver, the error shows the field `scopes` as the invalid value.
    conflicts = _conflicts([expression.get("scopeName") or "" for expression in expressions])
    return found + [errors.invalid(at, spec.get("scopes"), "conflicting scopes") for _ in conflicts]


def _validate_scope_expression(expression: JsonObject, scope: str, at: str) -> list[FieldError]:
    operator, values, found = expression.get("operator") or "", expression.get("values") or [], []
    if scope in _SCOPES_WITHOUT_VALUES and operator != "Exists":
        found.append(errors.invalid(f"{at}.operator", operator, _MUST_EXIST))
    if operator in ("In", "NotIn"):
        if not values:
            reason = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"
            found.append(errors.required(f"{at}.values", reason))
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            reason = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"
            found.append(errors.invalid(f"{at}.values", values, reason))
    else:
        found.append(errors.invalid(f"{at}.operator", operator, "not a valid selector operator"))
    return found


def _unsupported(spec: JsonObject, scope: str) -> list[str]:
    """Return the names of the resources in `hard` that a quota with this scope cannot limit."""
    supported = _SCOPE_RESOURCES.get(scope)
    hard = sorted(spec.get("hard") or {})
    return [] if supported is None else [name for name in hard if is_standard_for_quota(name) and name not in supported]


def _conflicts(scopes: list[str]) -> list[tuple[str, str]]:
    return [pair for pair in _CONFLICTING_SCOPES if set(pair) <= set(scopes)]
