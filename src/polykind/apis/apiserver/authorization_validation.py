"""Validation of AuthorizationConfiguration files, with kube-apiserver's error messages."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from polykind import errors, names
from polykind.contract import JsonObject
from polykind.errors import FieldError
from polykind.golang.duration import parse_duration

TYPES = ("AlwaysAllow", "AlwaysDeny", "RBAC", "Webhook")
"""The supported types of authorizers."""
_REFUSED = {
    "ABAC": "ABAC is not supported: use RBAC or a webhook",
    "Node": "Node is not supported: it grants permissions to kubelets, and this server has none",
}
_MAX_TIMEOUT = 30 * 10**9
_MAX_CONDITIONS = 64

ConditionErrors = Callable[[str, str], list[FieldError]]
"""A function of an expression and its path that returns the errors of a match condition."""


def validate_authorization_configuration(config: JsonObject, condition_errors: ConditionErrors) -> list[FieldError]:
    """Validate a configuration after its defaults were set."""
    authorizers: Sequence[JsonObject] = config.get("authorizers") or []
    problems: list[FieldError] = []
    if not authorizers:
        problems.append(errors.required("authorizers", "at least one authorization mode must be defined"))
    seen_types: set[str] = set()
    seen_names: set[str] = set()
    for index, authorizer in enumerate(authorizers):
        path, kind, name = f"authorizers[{index}]", authorizer["type"], authorizer["name"]
        if not kind:
            problems.append(errors.required(f"{path}.type"))
            continue
        if kind in _REFUSED:
            problems.append(errors.invalid(f"{path}.type", kind, _REFUSED[kind]))
            continue
        if kind not in TYPES:
            problems.append(errors.not_supported(f"{path}.type", kind, TYPES))
            continue
        if kind in seen_types and kind != "Webhook":
            problems.append(errors.duplicate(f"{path}.type", kind))
            continue
        seen_types.add(kind)
        problems += _name_errors(name, seen_names, f"{path}.name")
        seen_names.add(name)
        webhook = authorizer.get("webhook")
        if kind != "Webhook":
            if webhook is not None:
                detail = "may only be specified when type=Webhook"
                problems.append(errors.invalid(f"{path}.webhook", "non-null", detail))
        elif webhook is None:
            problems.append(errors.required(f"{path}.webhook", "required when type=Webhook"))
        else:
            problems += validate_webhook(webhook, path, condition_errors)
    return problems


def _name_errors(name: str, seen: set[str], path: str) -> list[FieldError]:
    if not name:
        return [errors.required(path)]
    if name in seen:
        return [errors.duplicate(path, name)]
    if reasons := names.dns1123_subdomain(name):
        return [errors.invalid(path, name, f"authorizer name is invalid: {', '.join(reasons)}")]
    return []


def validate_webhook(webhook: JsonObject, path: str, condition_errors: ConditionErrors) -> list[FieldError]:
    """Validate one webhook. As in kube-apiserver, the paths of errors omit the field `webhook`."""
    problems: list[FieldError] = []
    for field in ("timeout", "authorizedTTL", "unauthorizedTTL"):
        nanoseconds = parse_duration(webhook[field])
        if nanoseconds == 0:
            problems.append(errors.required(f"{path}.{field}"))
        elif nanoseconds < 0 or (field == "timeout" and nanoseconds > _MAX_TIMEOUT):
            detail = "must be > 0s and <= 30s" if field == "timeout" else "must be > 0s"
            problems.append(errors.invalid(f"{path}.{field}", webhook[field], detail))
    problems += _choice_errors(webhook, "subjectAccessReviewVersion", ("v1", "v1beta1"), path)
    conditions = webhook.get("matchConditions") or []
    version = webhook["matchConditionSubjectAccessReviewVersion"]
    if version or conditions:
        field, at = "matchConditionSubjectAccessReviewVersion", f"{path}.matchConditionSubjectAccessReviewVersion"
        if not version:
            problems.append(errors.required(at, "required if match conditions are specified"))
        else:
            problems += _choice_errors(webhook, field, ("v1",), path)
    problems += _choice_errors(webhook, "failurePolicy", ("NoOpinion", "Deny"), path)
    problems += _connection_errors(webhook["connectionInfo"], f"{path}.connectionInfo")
    return problems + _match_condition_errors(conditions, f"{path}.matchConditions", condition_errors)


def _choice_errors(webhook: JsonObject, field: str, choices: tuple[str, ...], path: str) -> list[FieldError]:
    if not webhook[field]:
        return [errors.required(f"{path}.{field}")]
    if webhook[field] not in choices:
        return [errors.not_supported(f"{path}.{field}", webhook[field], choices)]
    return []


def _connection_errors(connection: JsonObject, path: str) -> list[FieldError]:
    kind, file = connection["type"], connection.get("kubeConfigFile")
    if not kind:
        return [errors.required(f"{path}.type")]
    if kind == "InClusterConfig":
        return [errors.invalid(f"{path}.type", kind, "is not supported: use KubeConfigFile")]
    if kind != "KubeConfigFile":
        return [errors.not_supported(f"{path}.type", kind, ("InClusterConfig", "KubeConfigFile"))]
    if not file:
        return [errors.required(f"{path}.kubeConfigFile")]
    if not file.startswith("/"):
        return [errors.invalid(f"{path}.kubeConfigFile", file, "must be an absolute path")]
    return []


def _match_condition_errors(
    conditions: Sequence[JsonObject], path: str, condition_errors: ConditionErrors
) -> list[FieldError]:
    if len(conditions) > _MAX_CONDITIONS:
        return [errors.too_many(path, len(conditions), _MAX_CONDITIONS)]
    problems: list[FieldError] = []
    seen: set[str] = set()
    for index, condition in enumerate(conditions):
        at, expression = f"{path}[{index}].expression", condition["expression"]
        if not expression.strip():
            problems.append(errors.required(at))
        elif expression in seen:
            problems.append(errors.duplicate(at, expression))
        else:
            seen.add(expression)
            problems += condition_errors(expression, at)
    return problems
