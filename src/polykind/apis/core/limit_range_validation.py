"""Validation of LimitRanges."""

from __future__ import annotations

from polykind import errors, names
from polykind.apis.core.resource_names import is_overcommit_allowed
from polykind.apis.core.resource_validation import validate_container_resource_name, validate_resource_name
from polykind.contract import JsonObject
from polykind.errors import FieldError
from polykind.quantity import Quantity, parse_quantity

_TYPES = ("Container", "PersistentVolumeClaim", "Pod")
_MAX_MILLI_VALUE = (2**63 - 1) // 1000
_ORDER = (
    ("min", "max", "min", "min", "min value {} is greater than max value {}"),
    (
        "min",
        "defaultRequest",
        "defaultRequest",
        "defaultRequest",
        "min value {} is greater than default request value {}",
    ),
    (
        "defaultRequest",
        "max",
        "defaultRequest",
        "defaultRequest",
        "default request value {} is greater than max value {}",
    ),
    (
        *("defaultRequest", "default", "defaultRequest", "defaultRequest"),
        "default request value {} is greater than default limit value {}",
    ),
    ("min", "default", "default", "min", "min value {} is greater than default value {}"),
    ("default", "max", "default", "max", "default value {} is greater than max value {}"),
)
"""Pairs of fields of which the first must not exceed the second.

Each row has the two fields, the field in the error's path, the field whose value the error shows, and the error's text.
"""


def validate_limit_range(limit_range: JsonObject) -> list[FieldError]:
    """Validate the limits of a LimitRange."""
    found: list[FieldError] = []
    known: set[str] = set()
    for index, limit in enumerate(limit_range["spec"].get("limits") or ()):
        at, kind = f"spec.limits[{index}]", limit.get("type") or ""
        found += _validate_type(kind, f"{at}.type")
        if kind in known:
            found.append(errors.duplicate(f"{at}.type", kind))
        known.add(kind)
        found += _validate_limit(limit, kind, at)
    return found


def _validate_type(kind: str, at: str) -> list[FieldError]:
    found = [errors.invalid(at, kind, text) for text in names.qualified_name(kind)]
    if not found and "/" not in kind and kind not in _TYPES:
        found.append(errors.invalid(at, kind, "must be a standard limit type or fully qualified"))
    return found


def _validate_limit(limit: JsonObject, kind: str, at: str) -> list[FieldError]:
    found = _validate_names(limit, kind, at, ("max", "min"))
    defaults = ("default", "defaultRequest")
    if kind == "Pod":
        reason = "may not be specified when `type` is 'Pod'"
        found += [errors.forbidden(f"{at}.{field}", reason) for field in defaults if limit.get(field)]
    else:
        found += _validate_names(limit, kind, at, defaults)
    if kind == "PersistentVolumeClaim" and not any("storage" in (limit.get(f) or {}) for f in ("min", "max")):
        reason = "either minimum or maximum storage value is required, but neither was provided"
        found.append(errors.required(f"{at}.limits", reason))
    found += _validate_names(limit, kind, at, ("maxLimitRequestRatio",))
    quantities: dict[str, dict[str, Quantity]] = {}
    for field in ("max", "min", *(() if kind == "Pod" else defaults), "maxLimitRequestRatio"):
        for name, text in (limit.get(field) or {}).items():
            quantities.setdefault(name, {})[field] = parse_quantity(text)
    for name, values in quantities.items():
        found += _validate_order(name, values, at)
    return found


def _validate_names(limit: JsonObject, kind: str, at: str, fields: tuple[str, ...]) -> list[FieldError]:
    check = validate_container_resource_name if kind in ("Pod", "Container") else validate_resource_name
    return [
        error for field in fields for name in limit.get(field) or {} for error in check(name, f"{at}.{field}[{name}]")
    ]


def _validate_order(name: str, values: dict[str, Quantity], at: str) -> list[FieldError]:
    """Validate the values of one resource: min <= defaultRequest <= default <= max."""
    found = []
    for low, high, field, shown, text in _ORDER:
        if low in values and high in values and values[low] > values[high]:
            reason = text.format(values[low], values[high])
            found.append(errors.invalid(f"{at}.{field}[{name}]", str(values[shown]), reason))
    if "maxLimitRequestRatio" in values:
        found += _validate_ratio(values, f"{at}.maxLimitRequestRatio[{name}]")
    default, request = values.get("default"), values.get("defaultRequest")
    if default is not None and request is not None and default != request and not is_overcommit_allowed(name):
        reason = f"default value {default} must equal to defaultRequest value {request} in {name}"
        found.append(errors.invalid(f"{at}.defaultRequest[{name}]", str(request), reason))
    return found


def _validate_ratio(values: dict[str, Quantity], at: str) -> list[FieldError]:
    ratio, found = values["maxLimitRequestRatio"], []
    if ratio < Quantity.of(1):
        found.append(errors.invalid(at, str(ratio), f"ratio {ratio} is less than 1"))
    if "min" in values and "max" in values:
        low, high = values["min"], values["max"]
        numbers = (float(ratio.value()), low.value(), high.value())
        if all(quantity.value() < _MAX_MILLI_VALUE for quantity in (ratio, low, high)):
            numbers = (ratio.milli_value() / 1000, low.milli_value(), high.milli_value())
        limit = numbers[2] / numbers[1] if numbers[1] else float("nan") if not numbers[2] else float("inf")
        if numbers[0] > limit:
            reason = f"ratio {ratio} is greater than max/min = {limit:f}"
            found.append(errors.invalid(at, str(ratio), reason))
    return found
