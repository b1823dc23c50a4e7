"""Validation of ResourceSlices."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from polykind import errors, names
from polykind.apis.core.node_selector_validation import validate_node_selector
from polykind.apis.machinery.internal_types import show_internal
from polykind.apis.meta.field_validation import validate_immutable
from polykind.apis.resource.types import RESOURCE_V1
from polykind.apis.resource.validation import (
    by_name,
    validate_binding_conditions,
    validate_label,
    validate_list,
    validate_pool_name,
    validate_qualified_name,
    validate_set,
    validate_taint,
)
from polykind.apis.storage.validation import validate_csi_driver_name
from polykind.contract import JsonObject
from polykind.errors import FieldError
from polykind.golang.utf8 import byte_length
from polykind.quantity import Quantity, parse_quantity

_MAX_DEVICES = 128
_MAX_ADVANCED_DEVICES = 64
_MAX_COUNTER_SETS = 8
_MAX_COUNTERS = 32
_MAX_CONSUMPTIONS = 2
_MAX_ATTRIBUTES = 32
_MAX_ATTRIBUTE_VALUES = 48
_MAX_VALUE_LENGTH = 64
_MAX_KEY_LENGTH = 63 + 1 + 32
_MAX_TAINTS = 16
_MAX_OPTIONS = 10
_NODE_FIELDS = "`nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection`"
_DEVICE_NODE_FIELDS = (
    "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` is set to true "
    "in the ResourceSlice spec"
)
_SCALARS = ("int", "bool", "string", "version")
_PRERELEASE = r"(?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)"
_is_semver = re.compile(
    r"(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)"
    rf"(?:-{_PRERELEASE}(?:\.{_PRERELEASE})*)?(?:\+[0-9a-zA-Z-]+(?:\.[0-9a-zA-Z-]+)*)?",
    re.ASCII,
).fullmatch


def validate_slice_spec(spec: JsonObject, old: JsonObject | None = None) -> list[FieldError]:
    """Validate the spec of a ResourceSlice. `old` is the stored spec of an update, None for a create."""
    pool = spec.get("pool") or {}
    found = validate_csi_driver_name(spec.get("driver", ""), "spec.driver")
    found += _validate_pool(pool)
    if old is not None:
        old_pool = old.get("pool") or {}
        found += validate_immutable(pool.get("name", ""), old_pool.get("name", ""), "spec.pool.name")
        found += validate_immutable(spec.get("driver", ""), old.get("driver", ""), "spec.driver")
        found += validate_immutable(spec.get("nodeName"), old.get("nodeName"), "spec.nodeName")
    found += _validate_nodes(spec)
    devices, counters = spec.get("devices"), spec.get("sharedCounters")
    if devices and counters:
        found.append(errors.invalid("spec", "", "only one of `sharedCounters` or `devices` is allowed"))
    is_advanced = any(device.get("taints") or device.get("consumesCounters") for device in devices or ())
    known = {by_name(device): device for device in (old or {}).get("devices") or ()}

    def device_errors(device: JsonObject, at: str) -> list[FieldError]:
        per_device = bool(spec.get("perDeviceNodeSelection"))
        return _validate_device(device, known.get(by_name(device)), at, per_device=per_device)

    limit = _MAX_ADVANCED_DEVICES if is_advanced else _MAX_DEVICES
    found += validate_set(devices, limit, "spec.devices", device_errors, by_name)
    return found + validate_set(
        counters, _MAX_COUNTER_SETS, "spec.sharedCounters", lambda c, at: _validate_counters(c, "name", at), by_name
    )


def _validate_pool(pool: JsonObject) -> list[FieldError]:
    found = validate_pool_name(pool.get("name", ""), "spec.pool.name")
    count, generation = pool.get("resourceSliceCount", 0), pool.get("generation", 0)
    if count <= 0:
        found.append(errors.invalid("spec.pool.resourceSliceCount", count, "must be greater than zero"))
    if generation < 0:
        found.append(errors.invalid("spec.pool.generation", generation, "must be greater than or equal to zero"))
    return found


def _validate_nodes(spec: JsonObject) -> list[FieldError]:
    found, chosen = _validate_node_choice(spec, "spec", empty="must be either unset or set to a non-empty string")
    selector = spec.get("nodeSelector")
    if selector is not None and len(selector.get("nodeSelectorTerms") or ()) != 1:
        terms = selector.get("nodeSelectorTerms")
        shown = (
            None if terms is None else [show_internal(RESOURCE_V1.struct("NodeSelectorTerm"), term) for term in terms]
        )
        at = "spec.nodeSelector.nodeSelectorTerms"
        error = errors.invalid(at, shown, "must have exactly one node selector term")
        later = next((i for i, e in enumerate(found) if e.field == "spec.allNodes"), len(found))
        found.insert(later, error)
    per_device = spec.get("perDeviceNodeSelection")
    if per_device:
        chosen.append("`perDeviceNodeSelection`")
    elif per_device is not None:
        reason = "must be either unset or set to true"
        found.append(errors.invalid("spec.perDeviceNodeSelection", False, reason))
    if not chosen:
        found.append(errors.required("spec", f"exactly one of {_NODE_FIELDS} is required"))
    elif len(chosen) > 1:
        reason = f"exactly one of {_NODE_FIELDS} is required, but multiple fields are set"
        found.append(errors.invalid("spec", f"{{{', '.join(chosen)}}}", reason))
    return found


def _validate_node_choice(owner: JsonObject, at: str, *, empty: str) -> tuple[list[FieldError], list[str]]:
    """Validate the fields that select nodes. Return the errors and the names of the fields that are set.

    `empty` is the error message for an empty nodeName.
    """
    found: list[FieldError] = []
    chosen: list[str] = []
    node, selector, all_nodes = owner.get("nodeName"), owner.get("nodeSelector"), owner.get("allNodes")
    if node:
        chosen.append("`nodeName`")
        found += errors.all_invalid(f"{at}.nodeName", node, names.dns1123_subdomain(node))
    elif node is not None:
        found.append(errors.invalid(f"{at}.nodeName", node, empty))
    if selector is not None:
        chosen.append("`nodeSelector`")
        found += validate_node_selector(selector, f"{at}.nodeSelector")
    if all_nodes:
        chosen.append("`allNodes`")
    elif all_nodes is not None:
        found.append(errors.invalid(f"{at}.allNodes", False, "must be either unset or set to true"))
    return found, chosen


def _validate_counters(owner: JsonObject, name_field: str, at: str) -> list[FieldError]:
    """Validate a counter set of a slice, or the counters of a set that a device consumes.

    `name_field` is the field with the name of the counter set.
    """
    name, counters = owner.get(name_field, ""), owner.get("counters") or {}
    found = validate_label(name, f"{at}.{name_field}") if name else [errors.required(f"{at}.{name_field}")]
    if not counters:
        return [*found, errors.required(f"{at}.counters")]
    if len(counters) > _MAX_COUNTERS:
        return [*found, errors.too_many(f"{at}.counters", len(counters), _MAX_COUNTERS)]
    for counter in counters:
        found += validate_label(counter, f"{at}.counters")
    return found


def _validate_device(device: JsonObject, old: JsonObject | None, at: str, *, per_device: bool) -> list[FieldError]:
    found = validate_label(device.get("name", ""), f"{at}.name")
    attributes, capacity = device.get("attributes") or {}, device.get("capacity") or {}
    total = len(attributes) + len(capacity)
    if total > _MAX_ATTRIBUTES:
        reason = f"the total number of attributes and capacities must not exceed {_MAX_ATTRIBUTES}"
        found.append(errors.invalid(at, total, reason))
    if len(attributes) > _MAX_ATTRIBUTE_VALUES:
        reason = f"the total number of attribute values must not exceed {_MAX_ATTRIBUTE_VALUES}"
        found.append(errors.invalid(at, len(attributes), reason))
    found += _validate_map(attributes, f"{at}.attributes", _validate_attribute)
    is_shared = device.get("allowMultipleAllocations") is True
    found += _validate_map(capacity, f"{at}.capacity", _validate_shared_capacity if is_shared else _validate_capacity)
    if old is None or old.get("taints") != device.get("taints"):
        found += validate_list(device.get("taints"), _MAX_TAINTS, f"{at}.taints", validate_taint)
    found += validate_set(
        device.get("consumesCounters"),
        _MAX_CONSUMPTIONS,
        f"{at}.consumesCounters",
        lambda consumption, here: _validate_counters(consumption, "counterSet", here),
        lambda consumption: str(consumption.get("counterSet", "")),
    )
    return found + _validate_device_nodes(device, at, per_device=per_device) + validate_binding_conditions(device, at)


def _validate_device_nodes(device: JsonObject, at: str, *, per_device: bool) -> list[FieldError]:
    if not per_device:
        if all(device.get(field) is None for field in ("nodeName", "nodeSelector", "allNodes")):
            return []
        reason = (
            "`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set to true in "
            "the ResourceSlice spec"
        )
        return [errors.invalid(at, None, reason)]
    found, chosen = _validate_node_choice(device, at, empty="must not be empty")
    if not chosen:
        found.append(errors.required(at, _DEVICE_NODE_FIELDS))
    elif len(chosen) > 1:
        found.append(errors.invalid(at, f"{{{', '.join(chosen)}}}", _DEVICE_NODE_FIELDS))
    return found


def _validate_map(
    values: Mapping[str, JsonObject], at: str, check: Callable[[JsonObject, str], list[FieldError]]
) -> list[FieldError]:
    found: list[FieldError] = []
    for key, value in values.items():
        found += validate_qualified_name(key, at) + check(value, f"{at}[{_shortened(key)}]")
    return found


def _shortened(key: str) -> str:
    """Return a key with dots instead of its middle if it is too long. Errors show such keys in their paths."""
    if len(key) <= _MAX_KEY_LENGTH:
        return key
    remaining = _MAX_KEY_LENGTH - 3
    return f"{key[: (remaining + 1) // 2]}...{key[len(key) - remaining // 2 :]}"


def _validate_attribute(attribute: JsonObject, at: str) -> list[FieldError]:
    found: list[FieldError] = []
    text, version = attribute.get("string"), attribute.get("version")
    if text is not None and byte_length(text) > _MAX_VALUE_LENGTH:
        found.append(errors.too_long(f"{at}.string", _MAX_VALUE_LENGTH))
    if version is not None:
        if not _is_semver(version):
            reason = "must be a string compatible with semver.org spec 2.0.0"
            found.append(errors.invalid(f"{at}.version", version, reason))
        if byte_length(version) > _MAX_VALUE_LENGTH:
            found.append(errors.too_long(f"{at}.version", _MAX_VALUE_LENGTH))
    count = sum(attribute.get(field) is not None for field in _SCALARS)
    if count != 1:
        shown = show_internal(RESOURCE_V1.struct("DeviceAttribute"), attribute) if count else ""
        found.append(errors.invalid(at, shown, "exactly one value must be specified"))
    return found


def _validate_capacity(capacity: JsonObject, at: str) -> list[FieldError]:
    """Validate the capacity of a device that only one claim can use."""
    if capacity.get("requestPolicy") is None:
        return []
    return [errors.forbidden(f"{at}.requestPolicy", "allowMultipleAllocations must be true")]


def _validate_shared_capacity(capacity: JsonObject, at: str) -> list[FieldError]:
    """Validate the capacity of a device that several claims can share."""
    policy, at = capacity.get("requestPolicy"), f"{at}.requestPolicy"
    if policy is None:
        return []
    values, value_range = policy.get("validValues") or [], policy.get("validRange")
    if values and value_range is not None:
        reason = 'exactly one policy can be specified, cannot specify "validValues" and "validRange" at the same time'
        return [errors.forbidden(at, reason)]
    field = "validValues" if values else "validRange"
    if not values and value_range is None:
        return []
    if policy.get("default") is None:
        return [errors.required(f"{at}.default", f"required when {field} is defined")]
    default, highest = parse_quantity(policy["default"]), parse_quantity(capacity["value"])
    if values:
        return _validate_options([parse_quantity(value) for value in values], default, highest, f"{at}.{field}")
    bounds = {name: parse_quantity(value) for name, value in value_range.items() if value is not None}
    return _validate_range(bounds, default, highest, f"{at}.{field}")


def _validate_options(options: list[Quantity], default: Quantity, highest: Quantity, at: str) -> list[FieldError]:
    found: list[FieldError] = []
    for index in range(1, len(options)):
        if options[index - 1] > options[index]:
            reason = "values must be sorted in ascending order"
            found.append(errors.invalid(f"{at}[{index}]", options[index].canonical(), reason))

    def option_errors(option: Quantity, here: str) -> list[FieldError]:
        if option <= highest:
            return []
        reason = f"option is larger than capacity value: {highest.canonical()}"
        return [errors.invalid(here, option.canonical(), reason)]

    found += validate_set(options, _MAX_OPTIONS, at, option_errors, lambda option: str(option.value()))
    if len(options) > _MAX_OPTIONS or default not in options:
        reason = "default value is not valid according to the requestPolicy"
        found.append(errors.invalid(at, default.canonical(), reason))
    return found


def _validate_range(bounds: Mapping[str, Quantity], default: Quantity, capacity: Quantity, at: str) -> list[FieldError]:
    low, high, step = (bounds.get(name) for name in ("min", "max", "step"))
    if low is None:
        return [errors.required(f"{at}.min", "required when validRange is defined")]
    limit = capacity.canonical()
    found: list[FieldError] = []

    def reject(is_wrong: Any, field: str, value: Quantity, reason: str) -> None:
        if is_wrong:
            found.append(errors.invalid(f"{at}.{field}", value.canonical(), reason))

    reject(low > capacity, "min", low, f"min is larger than capacity value: {limit}")
    reject(default < low, "min", default, f"default is less than min: {low.canonical()}")
    if high is not None:
        reject(low > high, "max", low, f"min is larger than max: {high.canonical()}")
        reject(high > capacity, "max", high, f"max is larger than capacity value: {limit}")
        reject(default > high, "max", default, f"default is more than max: {high.canonical()}")
    if step is not None:
        total = low + step
        reason = f"one step {total.canonical()} is larger than capacity value: {limit}"
        reject(total > capacity, "step", step, reason)
        for value in (default, *([high] if high is not None else ())):
            difference = value.value() - low.value()
            reason = f"value is not a multiple of a given step ({step.canonical()}) from ({low.canonical()})"
            reject(step.value() and difference % step.value(), "step", value, reason)
    return found
