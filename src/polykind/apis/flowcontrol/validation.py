"""Validation of FlowSchemas and PriorityLevelConfigurations."""

from __future__ import annotations

import math
from collections.abc import Sequence

from polykind import errors, names
from polykind.apis.flowcontrol.bootstrap import EXEMPT, flow_schemas, mandatory_specs, priority_levels
from polykind.apis.flowcontrol.types import FLOWCONTROL_V1
from polykind.apis.machinery.internal_types import show_internal
from polykind.contract import JsonObject
from polykind.errors import FieldError

_MAX_PRECEDENCE = 10000
_MAX_QUEUES = 10_000_000
_MAX_HASH_BITS = 60
_DISTINGUISHERS = ("ByNamespace", "ByUser")
_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch")
_SUBJECTS = {"ServiceAccount": "serviceAccount", "User": "user", "Group": "group"}
_LEVEL_TYPES = ("Exempt", "Limited")
_RESPONSE_TYPES = ("Queue", "Reject")
_PRESERVE_ZERO = "flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares"
_NAMESPACE_RULE = "each member of this list must be '*' or a DNS-1123 label; "
_MANDATORY_SCHEMAS = mandatory_specs(flow_schemas(""))
_MANDATORY_LEVELS = mandatory_specs(priority_levels())


def validate_flow_schema(flow_schema: JsonObject) -> list[FieldError]:
    """Validate the spec of a FlowSchema. Clients cannot change the specs of the mandatory FlowSchemas."""
    name, spec = flow_schema["metadata"].get("name", ""), flow_schema["spec"]
    found: list[FieldError] = []
    at, precedence = "spec.matchingPrecedence", spec.get("matchingPrecedence", 0)
    if precedence <= 0:
        found.append(errors.invalid(at, precedence, "must be a positive value"))
    if precedence > _MAX_PRECEDENCE:
        found.append(errors.invalid(at, precedence, f"must not be greater than {_MAX_PRECEDENCE}"))
    if precedence == 1 and name != EXEMPT:
        found.append(errors.invalid(at, precedence, "only the schema named 'exempt' may have matchingPrecedence 1"))
    method = spec.get("distinguisherMethod")
    if method is not None and method.get("type") not in _DISTINGUISHERS:
        shown = show_internal(FLOWCONTROL_V1.struct("FlowDistinguisherMethod"), method)
        found.append(errors.not_supported("spec.distinguisherMethod.type", shown, _DISTINGUISHERS))
    level = (spec.get("priorityLevelConfiguration") or {}).get("name", "")
    at = "spec.priorityLevelConfiguration.name"
    if level:
        found += errors.all_invalid(at, level, names.dns1123_subdomain(level))
    else:
        found.append(errors.required(at, "must reference a priority level"))
    for index, rule in enumerate(spec.get("rules") or ()):
        found += _validate_rule(rule, f"spec.rules[{index}]")
    if name in _MANDATORY_SCHEMAS and spec != _MANDATORY_SCHEMAS[name]:
        shown = show_internal(FLOWCONTROL_V1.struct("FlowSchemaSpec"), spec)
        found.append(errors.invalid("spec", shown, f"spec of '{name}' must equal the fixed value"))
    return found


def _validate_rule(rule: JsonObject, at: str) -> list[FieldError]:
    found: list[FieldError] = []
    subjects, resources, paths = (rule.get(name) or [] for name in ("subjects", "resourceRules", "nonResourceRules"))
    for index, subject in enumerate(subjects):
        found += _validate_subject(subject, f"{at}.subjects[{index}]")
    if not subjects:
        found.append(errors.required(f"{at}.subjects", "subjects must contain at least one value"))
    if not resources and not paths:
        reason = "at least one of resourceRules and nonResourceRules has to be non-empty"
        found.append(errors.required(at, reason))
    for index, resource in enumerate(resources):
        found += _validate_resource_rule(resource, f"{at}.resourceRules[{index}]")
    for index, path in enumerate(paths):
        found += _validate_non_resource_rule(path, f"{at}.nonResourceRules[{index}]")
    return found


def _validate_subject(subject: JsonObject, at: str) -> list[FieldError]:
    kind = subject.get("kind", "")
    if kind not in _SUBJECTS:
        return [errors.not_supported(f"{at}.kind", kind, sorted(_SUBJECTS))]
    own = _SUBJECTS[kind]
    found = _validate_subject_value(kind, subject.get(own), f"{at}.{own}")
    for other, field in _SUBJECTS.items():
        if other != kind and subject.get(field) is not None:
            reason = f"{field} is forbidden when subject kind is not '{other}'"
            found.append(errors.forbidden(f"{at}.{field}", reason))
    return found


def _validate_subject_value(kind: str, value: JsonObject | None, at: str) -> list[FieldError]:
    if value is None:
        return [errors.required(at, f"{_SUBJECTS[kind]} is required when subject kind is '{kind}'")]
    name = value.get("name", "")
    found = [] if name else [errors.required(f"{at}.name")]
    if kind != "ServiceAccount":
        return found
    if name and name != "*":
        found += errors.all_invalid(f"{at}.name", name, names.dns1123_subdomain(name))
    namespace = value.get("namespace", "")
    if namespace:
        found += errors.all_invalid(f"{at}.namespace", namespace, names.dns1123_label(namespace))
    else:
        found.append(errors.required(f"{at}.namespace", "must specify namespace for service account"))
    return found


def _validate_resource_rule(rule: JsonObject, at: str) -> list[FieldError]:
    found = _validate_verbs(rule.get("verbs") or [], f"{at}.verbs")
    for field, one, many in (("apiGroups", "api group", "api groups"), ("resources", "resource", "resources")):
        values = rule.get(field) or []
        if not values:
            found.append(errors.required(f"{at}.{field}", f"resource rules must supply at least one {one}"))
        else:
            found += _validate_wildcard(values, f"{at}.{field}", many)
    namespaces = rule.get("namespaces") or []
    if not namespaces and not rule.get("clusterScope"):
        reason = "resource rules that are not cluster scoped must supply at least one namespace"
        found.append(errors.required(f"{at}.namespaces", reason))
    elif "*" in namespaces:
        found += _validate_wildcard(namespaces, f"{at}.namespaces", "namespaces")
    else:
        for index, namespace in enumerate(namespaces):
            messages = [_NAMESPACE_RULE + message for message in names.dns1123_label(namespace)]
            found += errors.all_invalid(f"{at}.namespaces[{index}]", namespace, messages)
    return found


def _validate_non_resource_rule(rule: JsonObject, at: str) -> list[FieldError]:
    found = _validate_verbs(rule.get("verbs") or [], f"{at}.verbs")
    at, paths = f"{at}.nonResourceURLs", rule.get("nonResourceURLs") or []
    if not paths:
        return [*found, errors.required(at, "nonResourceURLs must contain at least one value")]
    if "*" in paths:
        return found + _validate_wildcard(paths, at, "non-resource URLs")
    for index, path in enumerate(paths):
        reason = _path_error(path)
        if reason:
            found.append(errors.invalid(f"{at}[{index}]", path, reason))
    return found


def _path_error(path: str) -> str:
    """Return the reason why the path of a non-resource URL is invalid. Return an empty string if it is valid."""
    if not path:
        return "must not be empty"
    if not path.startswith("/"):
        return "must start with slash"
    if " " in path:
        return "must not contain white-space"
    if "//" in path:
        return "must not contain double slash"
    if path.count("*") > 1 or ("*" in path and not path.endswith("/*")):
        return "wildcard can only do suffix matching"
    return ""


def _validate_verbs(verbs: Sequence[str], at: str) -> list[FieldError]:
    if not verbs:
        return [errors.required(at, "verbs must contain at least one value")]
    if "*" in verbs:
        return _validate_wildcard(verbs, at, "verbs")
    return [] if set(verbs) <= set(_VERBS) else [errors.not_supported(at, list(verbs), _VERBS)]


def _validate_wildcard(values: Sequence[str], at: str, what: str) -> list[FieldError]:
    if "*" in values and len(values) > 1:
        return [errors.invalid(at, list(values), f"if '*' is present, must not specify other {what}")]
    return []


def validate_conditions(status: JsonObject) -> list[FieldError]:
    """Validate that the conditions of a FlowSchema or PriorityLevelConfiguration have unique types."""
    found: list[FieldError] = []
    known: set[str] = set()
    for index, condition in enumerate(status.get("conditions") or ()):
        at, condition_type = f"status.conditions[{index}].type", condition.get("type", "")
        if condition_type in known:
            found.append(errors.duplicate(at, condition_type))
        known.add(condition_type)
        if not condition_type:
            found.append(errors.required(at))
    return found


def validate_priority_level(priority_level: JsonObject) -> list[FieldError]:
    """Validate the spec of a PriorityLevelConfiguration. Clients cannot change the specs of mandatory ones."""
    metadata, spec = priority_level["metadata"], priority_level["spec"]
    name, level_type = metadata.get("name", ""), spec.get("type", "")
    limited, exempt = spec.get("limited"), spec.get("exempt")
    found: list[FieldError] = []
    if _PRESERVE_ZERO in (metadata.get("annotations") or {}):
        found.append(errors.forbidden("metadata.annotations", f"annotation '{_PRESERVE_ZERO}' is forbidden"))
    if (name == EXEMPT) != (level_type == "Exempt"):
        found.append(errors.invalid("spec.type", level_type, "must be 'Exempt' if and only if `name` is 'exempt'"))
    if level_type == "Exempt":
        if limited is not None:
            found.append(errors.forbidden("spec.limited", "must be nil if the type is not Limited"))
        found += _validate_shares(exempt or {}, "spec.exempt")
    elif level_type == "Limited":
        if exempt is not None:
            found.append(errors.forbidden("spec.exempt", "must be nil if the type is Limited"))
        if limited is None:
            found.append(errors.required("spec.limited", "must not be empty when type is Limited"))
        else:
            found += _validate_limited(limited, "spec.limited")
    elif not level_type:
        found.append(errors.required("spec.type"))
    else:
        found.append(errors.not_supported("spec.type", level_type, _LEVEL_TYPES))
    return found + _validate_mandatory(name, spec)


def _validate_mandatory(name: str, spec: JsonObject) -> list[FieldError]:
    fixed = _MANDATORY_LEVELS.get(name)
    if fixed is None:
        return []
    shown = show_internal(FLOWCONTROL_V1.struct("PriorityLevelConfigurationSpec"), spec)
    if name == EXEMPT:
        # Clients can change the field spec.exempt of the level `exempt`, but no other field.
        if {**spec, "exempt": fixed["exempt"]} == fixed:
            return []
        reason = f"spec of '{name}' except the 'spec.exempt' field must equal the fixed value"
        return [errors.invalid("spec", shown, reason)]
    return [] if spec == fixed else [errors.invalid("spec", shown, f"spec of '{name}' must equal the fixed value")]


def _validate_shares(level: JsonObject, at: str) -> list[FieldError]:
    found = []
    shares, lendable = level.get("nominalConcurrencyShares"), level.get("lendablePercent")
    if shares is not None and shares < 0:
        found.append(errors.invalid(f"{at}.nominalConcurrencyShares", shares, "must be a non-negative integer"))
    if lendable is not None and not 0 <= lendable <= 100:
        found.append(errors.invalid(f"{at}.lendablePercent", lendable, "must be between 0 and 100, inclusive"))
    return found


def _validate_limited(limited: JsonObject, at: str) -> list[FieldError]:
    shares = limited.get("nominalConcurrencyShares")
    found = _validate_shares({"nominalConcurrencyShares": shares}, at)
    found += _validate_limit_response(limited.get("limitResponse") or {}, f"{at}.limitResponse")
    found += _validate_shares({"lendablePercent": limited.get("lendablePercent")}, at)
    borrowing = limited.get("borrowingLimitPercent")
    if borrowing is not None and borrowing < 0:
        reason = "if specified, must be a non-negative integer"
        found.append(errors.invalid(f"{at}.borrowingLimitPercent", borrowing, reason))
    return found


def _validate_limit_response(response: JsonObject, at: str) -> list[FieldError]:
    response_type, queuing = response.get("type", ""), response.get("queuing")
    if response_type == "Reject":
        if queuing is None:
            return []
        return [errors.forbidden(f"{at}.queuing", "must be nil if limited.limitResponse.type is not Limited")]
    if response_type == "Queue":
        if queuing is None:
            reason = "must not be empty if limited.limitResponse.type is Limited"
            return [errors.required(f"{at}.queuing", reason)]
        return _validate_queuing(queuing, f"{at}.queuing")
    if not response_type:
        return [errors.required(f"{at}.type")]
    return [errors.not_supported(f"{at}.type", response_type, _RESPONSE_TYPES)]


def _validate_queuing(queuing: JsonObject, at: str) -> list[FieldError]:
    length, queues, hand = (queuing.get(name, 0) for name in ("queueLengthLimit", "queues", "handSize"))
    found = []
    if length <= 0:
        found.append(errors.invalid(f"{at}.queueLengthLimit", length, "must be positive"))
    if queues <= 0:
        found.append(errors.invalid(f"{at}.queues", queues, "must be positive"))
    elif queues > _MAX_QUEUES:
        found.append(errors.invalid(f"{at}.queues", queues, f"must not be greater than {_MAX_QUEUES}"))
    if hand <= 0:
        found.append(errors.invalid(f"{at}.handSize", hand, "must be positive"))
    elif hand > queues:
        found.append(errors.invalid(f"{at}.handSize", hand, f"should not be greater than queues ({queues})"))
    elif math.ceil(math.log2(queues) * hand) > _MAX_HASH_BITS:
        sizes = f"deckSize {queues} and handSize {hand}"
        reason = f"required entropy bits of {sizes} should not be greater than {_MAX_HASH_BITS}"
        found.append(errors.invalid(f"{at}.handSize", hand, reason))
    return found
