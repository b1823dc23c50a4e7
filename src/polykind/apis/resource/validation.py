"""Validation that the kinds of the resource group share: names, selectors, opaque parameters, tolerations, taints."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Sequence
from typing import Any, TypeVar

from polykind import errors, names
from polykind.apis.core import resource_names
from polykind.apis.meta.validation import label_name_errors
from polykind.apis.storage.validation import validate_csi_driver_name
from polykind.cel import CompilationError, compile_expression
from polykind.cel.cel_types import BOOL, DYN, QUANTITY, STRING, map_of, struct_type
from polykind.contract import JsonObject
from polykind.errors import FieldError
from polykind.golang.json import go_json
from polykind.golang.utf8 import byte_length

MAX_REQUESTS = 32
MAX_CONFIGS = 32
_MAX_SELECTORS = 32
_MAX_POOL_NAME = 253
_MAX_IDENTIFIER = 32
_MAX_EXPRESSION = 10 * 1024
MAX_OPAQUE_PARAMETERS = 10 * 1024
_MAX_BINDING_CONDITIONS = 4
_TAINT_EFFECTS = ("NoExecute", "NoSchedule", "None")
_TOLERATION_OPERATORS = ("Equal", "Exists")
_IDENTIFIER = "[A-Za-z_][A-Za-z0-9_]*"
_IDENTIFIER_RULE = (
    "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric characters "
    "or '_'"
)
_UID_FORM = "`xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` with lowercase hexadecimal characters"
_is_identifier = re.compile(_IDENTIFIER).fullmatch
_is_uid = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}").fullmatch

_DEVICE = struct_type("kubernetes.DRADevice")
_DEVICE_FIELDS = {
    "driver": STRING,
    "attributes": map_of(STRING, map_of(STRING, DYN)),
    "capacity": map_of(STRING, map_of(STRING, QUANTITY)),
    "allowMultipleAllocations": BOOL,
}

Item = TypeVar("Item")
ItemErrors = Callable[[Item, str], list[FieldError]]
"""A function that validates one item of a list. The arguments: the item and its path."""


def validate_list(items: Sequence[Item] | None, limit: int, at: str, check: ItemErrors[Item]) -> list[FieldError]:
    """Validate each item of a list with `check`.

    For more than `limit` items, return only an error about their number.
    """
    items = items or ()
    if len(items) > limit:
        return [errors.too_many(at, len(items), limit)]
    return [error for index, item in enumerate(items) for error in check(item, f"{at}[{index}]")]


def validate_set(
    items: Sequence[Item] | None,
    limit: int,
    at: str,
    check: ItemErrors[Item],
    key: Callable[[Item], Hashable] = lambda item: str(item),
) -> list[FieldError]:
    """Validate each item of a list with `check`. Validate that the values of `key` are unique."""
    items = items or ()
    found = validate_list(items, limit, at, check)
    if len(items) > limit:
        return found
    known: set[Hashable] = set()
    for index, item in enumerate(items):
        if key(item) in known:
            found.append(errors.duplicate(f"{at}[{index}]", key(item)))
        known.add(key(item))
    return found


def by_name(item: JsonObject) -> str:
    """Return the name of a list item, for use as its key."""
    return str(item.get("name", ""))


def validate_label(name: str, at: str) -> list[FieldError]:
    """Validate the name of a device, request or counter."""
    return errors.all_invalid(at, name, names.dns1123_label(name))


def validate_pool_name(name: str, at: str) -> list[FieldError]:
    """Validate the name of a pool: DNS subdomains, separated by slashes."""
    if not name:
        return [errors.required(at)]
    found = [errors.too_long(at, _MAX_POOL_NAME)] if byte_length(name) > _MAX_POOL_NAME else []
    for part in name.split("/"):
        found += errors.all_invalid(at, part, names.dns1123_subdomain(part))
    return found


def validate_uid(uid: str, at: str) -> list[FieldError]:
    """Validate the shareID of a device, which must be a UUID in its usual form."""
    if _is_uid(uid):
        return []
    hexadecimal = re.fullmatch("(urn:uuid:)?[{]?[0-9a-fA-F-]+[}]?", uid) and len(re.sub("[^0-9a-fA-F]", "", uid)) == 32
    if hexadecimal and len(uid) in (32, 36, 38, 45):
        return [errors.invalid(at, uid, f"uid must be in RFC 4122 normalized form, {_UID_FORM}")]
    reason = "invalid UUID format" if len(uid) in (32, 36, 38, 45) else f"invalid UUID length: {byte_length(uid)}"
    return [errors.invalid(at, uid, f"error validating uid: {reason}")]


def validate_qualified_name(name: str, at: str) -> list[FieldError]:
    """Validate the name of an attribute or capacity: an identifier, with an optional domain and slash before it."""
    parts = name.split("/")
    if len(parts) == 1:
        return _validate_identifier(name, at)
    if len(parts) > 2:
        return []
    domain, identifier = parts
    if domain:
        found = validate_csi_driver_name(domain, at)
    else:
        found = [errors.invalid(at, "", "the domain must not be empty")]
    if identifier:
        return found + _validate_identifier(identifier, at)
    return [*found, errors.invalid(at, "", "the name must not be empty")]


def validate_fully_qualified_name(name: str, at: str) -> list[FieldError]:
    """Validate the name of an attribute that must have a domain."""
    found = validate_qualified_name(name, at)
    if "/" not in name:
        reason = "a fully qualified name must be a domain and a name separated by a slash"
        found.append(errors.invalid(at, name, reason))
    return found


def _validate_identifier(identifier: str, at: str) -> list[FieldError]:
    found = [errors.too_long(at, _MAX_IDENTIFIER)] if byte_length(identifier) > _MAX_IDENTIFIER else []
    if not _is_identifier(identifier):
        examples = ("my_name", "MY_NAME", "MyName")
        found.append(errors.invalid(at, identifier, names.regex_error(_IDENTIFIER_RULE, _IDENTIFIER, *examples)))
    return found


def validate_selectors(selectors: Sequence[JsonObject] | None, at: str) -> list[FieldError]:
    """Validate the CEL expressions that select devices."""
    return validate_list(selectors, _MAX_SELECTORS, at, _validate_selector)


def _validate_selector(selector: JsonObject, at: str) -> list[FieldError]:
    if selector.get("cel") is None:
        return [errors.required(f"{at}.cel")]
    at, expression = f"{at}.cel.expression", selector["cel"].get("expression", "")
    if byte_length(expression) > _MAX_EXPRESSION:
        return [errors.too_long(at, _MAX_EXPRESSION)]
    try:
        program = compile_expression(
            expression,
            {"device": _DEVICE},
            fields=lambda struct, field: _DEVICE_FIELDS.get(field) if struct == _DEVICE.name else None,
            structs=frozenset((_DEVICE.name,)),
            results=(),
        )
    except CompilationError as error:
        return [errors.internal(at, str(error)) if error.internal else errors.invalid(at, expression, str(error))]
    if program.type in (BOOL, DYN):
        return []
    reason = f"must evaluate to bool or the unknown type, not {program.type.declared_name}"
    return [errors.invalid(at, expression, reason)]


def validate_configuration(config: JsonObject, at: str) -> list[FieldError]:
    """Validate the configuration of a device: the name of a driver and its opaque parameters."""
    opaque = config.get("opaque")
    if opaque is None:
        return [errors.required(f"{at}.opaque")]
    found = validate_csi_driver_name(opaque.get("driver", ""), f"{at}.opaque.driver")
    return found + validate_raw_object(opaque.get("parameters"), f"{at}.opaque.parameters", MAX_OPAQUE_PARAMETERS)


def validate_raw_object(value: Any, at: str, limit: int) -> list[FieldError]:
    """Validate a JSON value whose content only a driver knows. It must be an object and not too long."""
    if value is None:
        return [errors.required(at)]
    if byte_length(go_json(value)) > limit:
        return [errors.too_long(at, limit)]
    if not isinstance(value, dict):
        return [errors.invalid(at, "<value omitted>", "must be a valid JSON object")]
    return []


def validate_toleration(toleration: JsonObject, at: str) -> list[FieldError]:
    """Validate a toleration of device taints."""
    key, operator, value, effect = (toleration.get(name) or "" for name in ("key", "operator", "value", "effect"))
    found = label_name_errors(key, f"{at}.key") if key else []
    if operator == "Exists":
        if value:
            found.append(errors.invalid(f"{at}.value", value, "must be empty for operator `Exists`"))
    elif operator == "Equal":
        found += errors.all_invalid(f"{at}.value", value, names.label_value(value))
    elif not operator:
        found.append(errors.required(f"{at}.operator"))
    else:
        found.append(errors.not_supported(f"{at}.operator", operator, _TOLERATION_OPERATORS))
    if effect and effect not in _TAINT_EFFECTS:
        found.append(errors.not_supported(f"{at}.effect", effect, _TAINT_EFFECTS))
    return found


def validate_taint(taint: JsonObject, at: str) -> list[FieldError]:
    """Validate a taint of a device."""
    key, value, effect = (taint.get(name) or "" for name in ("key", "value", "effect"))
    found = label_name_errors(key, f"{at}.key")
    if value:
        found += errors.all_invalid(f"{at}.value", value, names.label_value(value))
    if not effect:
        found.append(errors.required(f"{at}.effect"))
    elif effect not in _TAINT_EFFECTS:
        found.append(errors.not_supported(f"{at}.effect", effect, _TAINT_EFFECTS))
    return found


def validate_binding_conditions(device: JsonObject, at: str) -> list[FieldError]:
    """Validate the conditions that a device must meet before a pod is bound to the device's node."""
    fields = ("bindingConditions", "bindingFailureConditions")
    conditions, failures = (device.get(field) or [] for field in fields)
    found: list[FieldError] = []
    for field, values in zip(fields, (conditions, failures), strict=True):
        found += validate_list(values, _MAX_BINDING_CONDITIONS, f"{at}.{field}", label_name_errors)
    for index, condition in enumerate(conditions):
        if condition in conditions[:index]:
            found.append(errors.duplicate(f"{at}.bindingConditions[{index}]", condition))
    for index, condition in enumerate(failures):
        here = f"{at}.bindingFailureConditions[{index}]"
        if condition in failures[:index]:
            found.append(errors.duplicate(here, condition))
        if condition in conditions:
            reason = "bindingFailureConditions must not overlap with bindingConditions"
            found.append(errors.invalid(here, condition, reason))
    if failures and not conditions:
        reason = "bindingConditions are required to use bindingFailureConditions"
        found.append(errors.invalid(f"{at}.bindingConditions", None, reason))
    if conditions and not failures:
        reason = "bindingFailureConditions are required to use bindingConditions"
        found.append(errors.invalid(f"{at}.bindingFailureConditions", None, reason))
    return found


def validate_device_class_spec(spec: JsonObject) -> list[FieldError]:
    """Validate the spec of a DeviceClass."""
    found = validate_selectors(spec.get("selectors"), "spec.selectors")
    found += validate_list(spec.get("config"), MAX_CONFIGS, "spec.config", validate_configuration)
    name = spec.get("extendedResourceName")
    if name is not None and not resource_names.is_extended(name):
        found.append(errors.invalid("spec.extendedResourceName", name, "must be a valid extended resource name"))
    return found
