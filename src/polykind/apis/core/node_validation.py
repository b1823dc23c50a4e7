"""Validation of Nodes."""

from __future__ import annotations

import re

from polykind import errors, names
from polykind.addresses import cidr_errors, parse_cidr
from polykind.apis.core.resource_validation import validate_quantity
from polykind.apis.core.types import CORE_V1
from polykind.apis.core.validation import data_key_errors
from polykind.apis.machinery.internal_types import show_internal
from polykind.apis.meta.validation import label_name_errors, positive_errors, supported_errors
from polykind.contract import JsonObject
from polykind.errors import FieldError
from polykind.golang.fmt import go_quote
from polykind.golang.utf8 import byte_length

TAINT_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_MAX_FEATURE_NAME = 253
_is_feature_name = re.compile(r"[A-Z][a-zA-Z0-9]*(/[a-zA-Z][a-zA-Z0-9]*)*").fullmatch
_ONE_CONFIG_SOURCE = "exactly one reference subfield must be non-nil"


def validate_node(node: JsonObject) -> list[FieldError]:
    """Validate the spec and the status of a node, on a create and on an update."""
    spec, status = node.get("spec") or {}, node.get("status") or {}
    found = validate_taints(spec.get("taints") or (), "metadata.taints")
    found += _validate_resources(status)
    capacity = ((status.get("nodeInfo") or {}).get("swap") or {}).get("capacity")
    if capacity is not None:
        found += positive_errors(capacity, "metadata.nodeSwapStatus.capacity")
    found += _validate_features(status)
    return found + _validate_pod_cidrs(spec.get("podCIDRs") or [])


def validate_node_update(new: JsonObject, old: JsonObject) -> list[FieldError]:
    """Validate the rules that apply only to updates of a node, including its status."""
    spec, old_spec, status = new.get("spec") or {}, old.get("spec") or {}, new.get("status") or {}
    found = _validate_resources(status) + _validate_features(status) + _duplicate_addresses(status)
    found += _validate_cidr_change(spec.get("podCIDRs") or [], old_spec.get("podCIDRs") or [])
    if old_spec.get("providerID") and spec.get("providerID") != old_spec["providerID"]:
        reason = 'node updates may not change providerID except from "" to valid'
        found.append(errors.forbidden("spec.providerID", reason))
    found += _validate_config(spec, status)
    found += validate_taints(spec.get("taints") or (), "metadata.taints")
    if (spec.get("externalID") or "") != (old_spec.get("externalID") or ""):
        found.append(errors.forbidden("spec.externalID", "may not be updated"))
    return found


def _validate_cidr_change(cidrs: list[str], old_cidrs: list[str]) -> list[FieldError]:
    """Validate that an update does not change the addresses of pods. It may set them."""
    error = errors.forbidden("spec.podCIDRs", 'node updates may not change podCIDR except from "" to valid')
    if old_cidrs and len(cidrs) != len(old_cidrs):
        return [error]
    return [error for cidr, before in zip(cidrs, old_cidrs, strict=False) if cidr != before]


def validate_taints(taints: list[JsonObject] | tuple[()], at: str) -> list[FieldError]:
    """Validate taints, which must be unique by key and effect."""
    found: list[FieldError] = []
    known: set[tuple[str, str]] = set()
    for index, taint in enumerate(taints):
        here = f"{at}[{index}]"
        key, value, effect = (taint.get(name) or "" for name in ("key", "value", "effect"))
        found += label_name_errors(key, f"{here}.key")
        if reasons := names.label_value(value):
            found.append(errors.invalid(f"{here}.value", value, ";".join(reasons)))
        found += supported_errors(effect, f"{here}.effect", TAINT_EFFECTS)
        if (key, effect) in known:
            shown, detail = (
                show_internal(CORE_V1.struct("Taint"), taint),
                "taints must be unique by key and effect pair",
            )
            found.append(FieldError("FieldValueDuplicate", here, shown, detail))
        known.add((key, effect))
    return found


def _validate_resources(status: JsonObject) -> list[FieldError]:
    return [
        error
        for field in ("capacity", "allocatable")
        for name, text in (status.get(field) or {}).items()
        for error in validate_quantity(name, text, f"status.{field}.{name}")
    ]


def _validate_features(status: JsonObject) -> list[FieldError]:
    features, at, found = status.get("declaredFeatures") or [], "status.declaredFeatures", []
    for index, feature in enumerate(features):
        reason = ""
        if byte_length(feature) > _MAX_FEATURE_NAME:
            reason = f"must be no more than {_MAX_FEATURE_NAME} characters"
        elif not _is_feature_name(feature):
            reason = (
                "must start with an UpperCamelCase segment, with subsequent segments separated by '/' (e.g., MyFeature "
                "or MyFeature/mySubFeature), and contain only alphanumeric characters and slashes"
            )
        if reason:
            text = f"invalid feature name {go_quote(feature)}: {reason}"
            found.append(errors.invalid(f"{at}[{index}]", feature, text))
        if index + 1 < len(features):
            following, path = features[index + 1], f"{at}[{index + 1}]"
            if feature == following:
                found.append(errors.duplicate(path, following))
            elif feature > following:
                found.append(errors.invalid(path, following, "list must be sorted alphabetically"))
    return found


def _validate_pod_cidrs(cidrs: list[str]) -> list[FieldError]:
    at = "spec.podCIDRs"
    found = [error for index, cidr in enumerate(cidrs) for error in cidr_errors(cidr, f"{at}[{index}]")]
    if len(cidrs) < 2:
        return found
    parsed = [parse_cidr(cidr) for cidr in cidrs]
    families = {result[1].version for result in parsed if result is not None}
    if None in parsed:
        index = parsed.index(None)
        reason = f"invalid CIDR[{index}]: <nil> (invalid CIDR address: {cidrs[index]})"
        found.append(errors.internal(at, f"invalid PodCIDRs. failed to check with dual stack with error:{reason}"))
    if len(families) < 2 or len(cidrs) > 2:
        found.append(errors.invalid(at, cidrs, "may specify no more than one CIDR for each IP family"))
    return found


def _duplicate_addresses(status: JsonObject) -> list[FieldError]:
    found, known = [], set()
    for index, address in enumerate(status.get("addresses") or ()):
        key = (address.get("type"), address.get("address"))
        if key in known:
            found.append(
                errors.duplicate(f"status.addresses[{index}]", show_internal(CORE_V1.struct("NodeAddress"), address))
            )
        known.add(key)
    return found


def _validate_config(spec: JsonObject, status: JsonObject) -> list[FieldError]:
    """Validate the config sources of the removed feature DynamicKubeletConfig, which stored nodes may still have."""
    found: list[FieldError] = []
    if (source := spec.get("configSource")) is not None:
        found += _validate_config_source(source, "spec.configSource", in_spec=True)
    for field in ("assigned", "active", "lastKnownGood"):
        if (source := (status.get("config") or {}).get(field)) is not None:
            found += _validate_config_source(source, f"status.config.{field}", in_spec=False)
    return found


def _validate_config_source(source: JsonObject, at: str, *, in_spec: bool) -> list[FieldError]:
    config_map, path = source.get("configMap"), f"{at}.configMap"
    if config_map is None:
        return [errors.invalid(at, show_internal(CORE_V1.struct("NodeConfigSource"), source), _ONE_CONFIG_SOURCE)]
    found: list[FieldError] = []
    for field in ("uid", "resourceVersion"):
        if in_spec and config_map.get(field):
            found.append(errors.forbidden(f"{path}.{field}", f"{field} must not be set in spec"))
        elif not in_spec and not config_map.get(field):
            found.append(errors.required(f"{path}.{field}"))
    checks = (("namespace", names.label_name), ("name", names.subdomain_name), ("kubeletConfigKey", data_key_errors))
    for field, check in checks:
        value = config_map.get(field) or ""
        if not value:
            found.append(errors.required(f"{path}.{field}"))
        else:
            found += [errors.invalid(f"{path}.{field}", value, text) for text in check(value)]
    return found
