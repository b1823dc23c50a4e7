"""Validation of ResourceClaims and ResourceClaimTemplates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from polykind import addresses, errors, names
from polykind.apis.core.node_selector_validation import validate_node_selector
from polykind.apis.machinery.internal_types import show_internal
from polykind.apis.machinery.structs import Struct
from polykind.apis.meta.field_validation import IMMUTABLE
from polykind.apis.meta.validation import validate_conditions
from polykind.apis.resource.types import RESOURCE_V1
from polykind.apis.resource.validation import (
    MAX_CONFIGS,
    MAX_REQUESTS,
    by_name,
    validate_binding_conditions,
    validate_configuration,
    validate_fully_qualified_name,
    validate_label,
    validate_list,
    validate_pool_name,
    validate_raw_object,
    validate_selectors,
    validate_set,
    validate_toleration,
    validate_uid,
)
from polykind.apis.storage.validation import validate_csi_driver_name
from polykind.contract import JsonObject
from polykind.errors import FieldError
from polykind.golang.json import encode_json, escape_html
from polykind.golang.utf8 import byte_length

_MAX_CONSTRAINTS = 32
_MAX_ALTERNATIVES = 8
_MAX_RESULTS = 32
_MAX_CONSUMERS = 256
_MAX_DEVICE_CONDITIONS = 8
_MAX_DEVICE_DATA = 10 * 1024
_MAX_ADDRESSES = 16
_MAX_INTERFACE_NAME = 256
_MAX_HARDWARE_ADDRESS = 128
_ALLOCATION_MODES = ("All", "ExactCount")
_CONFIG_SOURCES = ("FromClaim", "FromClass")
_ONE_OF = "exactly one of `exactly` or `firstAvailable` is required"
_UNKNOWN_REQUEST = (
    "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'"
)


RequestNames = Mapping[str, frozenset[str]]
"""The names of the requests in a claim, each with the names of its subrequests."""


def validate_claim_spec(spec: JsonObject, at: str) -> list[FieldError]:
    """Validate the requests, constraints and configurations of a claim."""
    claim, at = spec.get("devices") or {}, f"{at}.devices"
    requests = _request_names(claim)

    def constraint_errors(constraint: JsonObject, here: str) -> list[FieldError]:
        return _validate_constraint(constraint, here, requests)

    def config_errors(config: JsonObject, here: str) -> list[FieldError]:
        return _validate_references(config, here, requests) + validate_configuration(config, here)

    found = validate_set(claim.get("requests"), MAX_REQUESTS, f"{at}.requests", _validate_request, by_name)
    found += validate_list(claim.get("constraints"), _MAX_CONSTRAINTS, f"{at}.constraints", constraint_errors)
    return found + validate_list(claim.get("config"), MAX_CONFIGS, f"{at}.config", config_errors)


def _request_names(claim: JsonObject) -> RequestNames:
    return {by_name(r): frozenset(map(by_name, r.get("firstAvailable") or ())) for r in claim.get("requests") or ()}


def _validate_request(request: JsonObject, at: str) -> list[FieldError]:
    exactly, alternatives = request.get("exactly"), request.get("firstAvailable") or []
    found = validate_label(request.get("name", ""), f"{at}.name")
    if exactly is not None and alternatives:
        return [*found, errors.invalid(at, None, f"{_ONE_OF}, but multiple fields are set")]
    if exactly is not None:
        return found + _validate_exact_request(exactly, f"{at}.exactly")
    if not alternatives:
        return [*found, errors.required(at, _ONE_OF)]
    here = f"{at}.firstAvailable"
    return found + validate_set(alternatives, _MAX_ALTERNATIVES, here, _validate_subrequest, by_name)


def _validate_subrequest(request: JsonObject, at: str) -> list[FieldError]:
    return validate_label(request.get("name", ""), f"{at}.name") + _validate_exact_request(request, at)


def _validate_exact_request(request: JsonObject, at: str) -> list[FieldError]:
    name, mode, count = request.get("deviceClassName", ""), request.get("allocationMode", ""), request.get("count", 0)
    if name:
        found = errors.all_invalid(f"{at}.deviceClassName", name, names.dns1123_subdomain(name))
    else:
        found = [errors.required(f"{at}.deviceClassName")]
    found += validate_selectors(request.get("selectors"), f"{at}.selectors")
    if mode not in _ALLOCATION_MODES:
        found.append(errors.not_supported(f"{at}.allocationMode", mode, _ALLOCATION_MODES))
    elif mode == "All" and count:
        found.append(errors.invalid(f"{at}.count", count, "must not be specified when allocationMode is 'All'"))
    elif mode == "ExactCount" and count <= 0:
        found.append(errors.invalid(f"{at}.count", count, "must be greater than zero"))
    for index, toleration in enumerate(request.get("tolerations") or ()):
        found += validate_toleration(toleration, f"{at}.tolerations[{index}]")
    return found


def _validate_constraint(constraint: JsonObject, at: str, requests: RequestNames) -> list[FieldError]:
    found = _validate_references(constraint, at, requests)
    for field in ("matchAttribute", "distinctAttribute"):
        if constraint.get(field) is not None:
            return found + validate_fully_qualified_name(constraint[field], f"{at}.{field}")
    reason = 'exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set'
    return [*found, errors.required(at, reason)]


def _validate_references(owner: JsonObject, at: str, requests: RequestNames) -> list[FieldError]:
    """Validate the list `requests` of a constraint or configuration. Each item must name a request of the claim."""

    def reference_errors(name: str, here: str) -> list[FieldError]:
        return _validate_reference(name, here, requests)

    return validate_set(owner.get("requests"), MAX_REQUESTS, f"{at}.requests", reference_errors)


def _validate_reference(name: str, at: str, requests: RequestNames) -> list[FieldError]:
    segments = name.split("/")
    if len(segments) > 2:
        return [errors.invalid(at, name, _UNKNOWN_REQUEST)]
    found = [error for segment in segments for error in validate_label(segment, at)]
    is_known = segments[0] in requests and (len(segments) == 1 or segments[1] in requests[segments[0]])
    return found if is_known else [*found, errors.invalid(at, name, _UNKNOWN_REQUEST)]


def validate_claim_spec_update(new: JsonObject, old: JsonObject, struct: Struct) -> list[FieldError]:
    """Validate that an update does not change a spec. `struct` is the type of the spec, for the error message."""
    return [] if new == old else [errors.invalid("spec", show_internal(struct, new), IMMUTABLE)]


def validate_claim_status(claim: JsonObject, old: JsonObject) -> list[FieldError]:
    """Validate an update of the status: the consumers, the devices and the result of the allocation."""
    status, before = claim.get("status") or {}, old.get("status") or {}
    allocation, consumers = status.get("allocation"), status.get("reservedFor") or []
    found = validate_set(
        consumers, _MAX_CONSUMERS, "status.reservedFor", _validate_consumer, lambda ref: str(ref.get("uid", ""))
    )
    results = ((allocation or {}).get("devices") or {}).get("results") or []
    allocated = {device_id(result) for result in results}
    devices = status.get("devices") or []
    for index, device in enumerate(devices):
        found += _validate_device_status(device, f"status.devices[{index}]", device_id(device) in allocated)
    found += _repeated_devices(devices)
    if consumers and allocation is None:
        reason = "may not be specified when `allocated` is not set"
        found.append(errors.forbidden("status.reservedFor", reason))
    elif claim["metadata"].get("deletionTimestamp") and _are_added(consumers, before.get("reservedFor") or []):
        reason = "new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set"
        found.append(errors.forbidden("status.reservedFor", reason))
    return found + _validate_allocation_change(claim, allocation, before.get("allocation"))


def _are_added(consumers: list[JsonObject], before: list[JsonObject]) -> bool:
    return any(consumer not in before for consumer in consumers)


def _repeated_devices(devices: list[JsonObject]) -> list[FieldError]:
    return [
        errors.duplicate(f"status.devices[{index}]", _shown_id(device))
        for index, device in enumerate(devices)
        if device_id(device) in map(device_id, devices[:index])
    ]


def _validate_allocation_change(
    claim: JsonObject, allocation: JsonObject | None, before: JsonObject | None
) -> list[FieldError]:
    """Validate a new allocation, or that an allocation stays as it is. It may be removed."""
    if allocation is None:
        return []
    if before is None:
        requests = _request_names((claim.get("spec") or {}).get("devices") or {})
        return _validate_allocation(allocation, "status.allocation", requests)
    if allocation == before:
        return []
    shown = show_internal(RESOURCE_V1.struct("AllocationResult"), allocation)
    return [errors.invalid("status.allocation", shown, IMMUTABLE)]


def device_id(device: JsonObject) -> tuple[str, ...]:
    """Return the identity of an allocated device: its driver, pool, name and share."""
    return tuple(str(device.get(field) or "") for field in ("driver", "pool", "device", "shareID"))


def _shown_id(device: JsonObject) -> Any:
    names = {"Driver": "driver", "Pool": "pool", "Device": "device", "ShareID": "shareID"}
    shown = {go_name: device.get(name) or "" for go_name, name in names.items()}
    return orjson.Fragment(escape_html(encode_json(shown, sort_keys=False)))


def _validate_consumer(reference: JsonObject, at: str) -> list[FieldError]:
    return [errors.required(f"{at}.{field}") for field in ("resource", "name", "uid") if not reference.get(field)]


def _validate_device(device: JsonObject, at: str) -> list[FieldError]:
    found = validate_csi_driver_name(device.get("driver", ""), f"{at}.driver")
    found += validate_pool_name(device.get("pool", ""), f"{at}.pool")
    return found + validate_label(device.get("device", ""), f"{at}.device")


def _validate_device_status(device: JsonObject, at: str, is_allocated: bool) -> list[FieldError]:
    found = _validate_device(device, at)
    if device.get("shareID") is not None:
        found += validate_uid(device["shareID"], f"{at}.shareID")
    if not is_allocated:
        found.append(errors.invalid(at, _shown_id(device), "must be an allocated device in the claim"))
    conditions = device.get("conditions") or []
    if len(conditions) > _MAX_DEVICE_CONDITIONS:
        found.append(errors.too_many(f"{at}.conditions", len(conditions), _MAX_DEVICE_CONDITIONS))
    found += validate_conditions(conditions, f"{at}.conditions")
    if device.get("data") is not None:
        found += validate_raw_object(device["data"], f"{at}.data", _MAX_DEVICE_DATA)
    return found + _validate_network_data(device.get("networkData") or {}, f"{at}.networkData")


def _validate_network_data(data: JsonObject, at: str) -> list[FieldError]:
    limits = (("interfaceName", _MAX_INTERFACE_NAME), ("hardwareAddress", _MAX_HARDWARE_ADDRESS))
    found = [
        errors.too_long(f"{at}.{field}", limit) for field, limit in limits if byte_length(data.get(field, "")) > limit
    ]
    return found + validate_set(data.get("ips"), _MAX_ADDRESSES, f"{at}.ips", addresses.interface_address_errors)


def _validate_allocation(allocation: JsonObject, at: str, requests: RequestNames) -> list[FieldError]:
    def result_errors(result: JsonObject, here: str) -> list[FieldError]:
        found = _validate_reference(result.get("request", ""), f"{here}.request", requests)
        found += _validate_device(result, here) + validate_binding_conditions(result, here)
        share = result.get("shareID")
        return found if share is None else found + validate_uid(share, f"{here}.shareID")

    def config_errors(config: JsonObject, here: str) -> list[FieldError]:
        source = config.get("source", "")
        found = [] if source else [errors.required(f"{here}.source")]
        if source and source not in _CONFIG_SOURCES:
            found.append(errors.not_supported(f"{here}.source", source, _CONFIG_SOURCES))
        return found + _validate_references(config, here, requests) + validate_configuration(config, here)

    devices = allocation.get("devices") or {}
    found = validate_list(devices.get("results"), _MAX_RESULTS, f"{at}.devices.results", result_errors)
    found += validate_list(devices.get("config"), 2 * MAX_CONFIGS, f"{at}.devices.config", config_errors)
    selector = allocation.get("nodeSelector")
    return found if selector is None else found + validate_node_selector(selector, f"{at}.nodeSelector")
