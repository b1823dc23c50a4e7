"""Validation of CSIDrivers and CSINodes."""

from __future__ import annotations

from polykind import errors, names
from polykind.apis.machinery.internal_types import show_internal
from polykind.apis.meta.field_validation import IMMUTABLE, validate_immutable, validate_nonnegative
from polykind.apis.storage.types import STORAGE_V1
from polykind.apis.storage.validation import validate_csi_driver_name
from polykind.contract import JsonObject
from polykind.errors import FieldError
from polykind.golang.utf8 import byte_length

_REQUIRED = ("podInfoOnMount", "storageCapacity")
_FS_GROUP_POLICIES = ("File", "None", "ReadWriteOnceWithFSType")
_LIFECYCLE_MODES = ("Persistent", "Ephemeral")
_MIN_UPDATE_PERIOD = 10
_MIN_TOKEN_SECONDS = 600
_MAX_TOKEN_SECONDS = 2**32
_MAX_NODE_ID = 256
TOKENS_IN_SECRETS_WARNING = (
    "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible "
    "logging of tokens in volume attributes"
)


def validate_csi_driver_spec(spec: JsonObject) -> list[FieldError]:
    """Validate the spec of a CSIDriver."""
    found: list[FieldError] = []
    if spec.get("attachRequired") is None:
        # As in kube-apiserver, the path in the error is attachedRequired, although the field is attachRequired.
        found.append(errors.required("spec.attachedRequired"))
    found += [errors.required(f"spec.{field}") for field in _REQUIRED if spec.get(field) is None]
    policy = spec.get("fsGroupPolicy")
    if policy is not None and policy not in _FS_GROUP_POLICIES:
        found.append(errors.not_supported("spec.fsGroupPolicy", policy, _FS_GROUP_POLICIES))
    requests = spec.get("tokenRequests") or []
    found += _validate_token_requests(requests)
    for mode in spec.get("volumeLifecycleModes") or ():
        if mode not in _LIFECYCLE_MODES:
            found.append(errors.not_supported("spec.volumeLifecycleModes", mode, _LIFECYCLE_MODES))
    if spec.get("seLinuxMount") is None:
        found.append(errors.required("spec.seLinuxMount"))
    period, in_secrets = spec.get("nodeAllocatableUpdatePeriodSeconds"), spec.get("serviceAccountTokenInSecrets")
    if period is not None and period < _MIN_UPDATE_PERIOD:
        reason = "must be greater than or equal to 10 seconds"
        found.append(errors.invalid("spec.nodeAllocatableUpdatePeriodSeconds", period, reason))
    if in_secrets is not None and not requests:
        reason = "serviceAccountTokenInSecrets is set but no tokenRequests are specified"
        found.append(errors.invalid("spec.serviceAccountTokenInSecrets", in_secrets, reason))
    return found


def _validate_token_requests(requests: list[JsonObject]) -> list[FieldError]:
    found: list[FieldError] = []
    audiences: set[str] = set()
    for index, request in enumerate(requests):
        at, audience, seconds = (
            f"spec.tokenRequests[{index}]",
            request.get("audience", ""),
            request.get("expirationSeconds"),
        )
        if audience in audiences:
            found.append(errors.duplicate(f"{at}.audience", audience))
            continue
        audiences.add(audience)
        if seconds is not None and seconds < _MIN_TOKEN_SECONDS:
            reason = "may not specify a duration less than 10 minutes"
            found.append(errors.invalid(f"{at}.expirationSeconds", seconds, reason))
        if seconds is not None and seconds > _MAX_TOKEN_SECONDS:
            reason = "may not specify a duration larger than 2^32 seconds"
            found.append(errors.invalid(f"{at}.expirationSeconds", seconds, reason))
    return found


def validate_csi_driver_update(new: JsonObject, old: JsonObject) -> list[FieldError]:
    """Validate that an update does not change attachRequired and the volume lifecycle modes of a CSIDriver."""
    found = validate_immutable(new.get("attachRequired"), old.get("attachRequired"), "spec.attachedRequired")
    field = "volumeLifecycleModes"
    return found + validate_immutable(new.get(field), old.get(field), f"spec.{field}")


def validate_csi_node_spec(spec: JsonObject) -> list[FieldError]:
    """Validate the drivers of a CSINode."""
    found: list[FieldError] = []
    driver_names: set[str] = set()
    for index, driver in enumerate(spec.get("drivers") or ()):
        at, name = f"spec.drivers[{index}]", driver.get("name", "")
        found += validate_csi_driver_name(name, f"{at}.name")
        found += _validate_node_id(driver.get("nodeID", ""), f"{at}.nodeID")
        found += validate_nonnegative((driver.get("allocatable") or {}).get("count"), f"{at}.allocatable.count")
        if name in driver_names:
            found.append(errors.duplicate(f"{at}.name", name))
        driver_names.add(name)
        found += _validate_topology_keys(driver.get("topologyKeys") or [], at)
    return found


def _validate_node_id(node_id: str, at: str) -> list[FieldError]:
    if not node_id:
        return [errors.required(at)]
    if byte_length(node_id) > _MAX_NODE_ID:
        return [errors.invalid(at, node_id, f"must be {_MAX_NODE_ID} characters or less")]
    return []


def _validate_topology_keys(keys: list[str], at: str) -> list[FieldError]:
    found: list[FieldError] = []
    for index, key in enumerate(keys):
        if not key:
            found.append(errors.required(at))
        if key in keys[:index]:
            found.append(errors.duplicate(at, key))
        found += errors.all_invalid(at, key, names.qualified_name(key))
    return found


def validate_csi_node_update(new: JsonObject, old: JsonObject) -> list[FieldError]:
    """Validate that an update of an existing driver changes no field except `allocatable`."""
    return [
        errors.invalid(
            "spec.drivers", show_internal(STORAGE_V1.struct("CSINodeDriver"), _without_allocatable(driver)), IMMUTABLE
        )
        for before in old.get("drivers") or ()
        for driver in new.get("drivers") or ()
        if driver.get("name") == before.get("name") and _without_allocatable(driver) != _without_allocatable(before)
    ]


def _without_allocatable(driver: JsonObject) -> JsonObject:
    return {key: value for key, value in driver.items() if key != "allocatable" and value is not None}
