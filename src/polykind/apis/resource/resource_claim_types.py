"""The fields of ResourceClaims and ResourceClaimTemplates."""

from __future__ import annotations

from polykind.apis.core.affinity_types import NODE_SELECTOR
from polykind.apis.machinery.structs import Field
from polykind.apis.machinery.value_types import (
    BOOL,
    INT64,
    QUANTITY,
    RAW_EXTENSION,
    STRING,
    STRINGS,
    TIME,
    ListOf,
    MapOf,
    String,
)
from polykind.apis.meta.types import CONDITION, OBJECT_META, UID
from polykind.apis.resource.device_types import DEVICE_CONFIGURATION, DEVICE_SELECTOR, DEVICE_TAINT_EFFECT
from polykind.apis.resource.types import RESOURCE_V1

_struct = RESOURCE_V1.struct

_ALLOCATION_CONFIG_SOURCE = String("v1.AllocationConfigSource", ("FromClaim", "FromClass"))
_DEVICE_ALLOCATION_MODE = String("v1.DeviceAllocationMode", ("All", "ExactCount"))
_DEVICE_TOLERATION_OPERATOR = String("v1.DeviceTolerationOperator", ("Equal", "Exists"))
_FULLY_QUALIFIED_NAME = String("v1.FullyQualifiedName")

_DEVICE_TOLERATION = _struct(
    "DeviceToleration",
    "A taint of devices that a claim tolerates.",
    Field("key", 1, STRING),
    Field("operator", 2, _DEVICE_TOLERATION_OPERATOR, default="Equal"),
    Field("value", 3, STRING),
    Field("effect", 4, DEVICE_TAINT_EFFECT),
    Field("tolerationSeconds", 5, INT64, pointer=True),
)

_CAPACITY_REQUIREMENTS = _struct(
    "CapacityRequirements",
    "The capacity that a device must have.",
    Field("requests", 1, MapOf(QUANTITY, "map[v1.QualifiedName]resource.Quantity")),
)

_EXACT_DEVICE_REQUEST = _struct(
    "ExactDeviceRequest",
    "A request for devices of one class.",
    Field("deviceClassName", 1, STRING, omitempty=False),
    Field("selectors", 2, ListOf(DEVICE_SELECTOR)),
    Field("allocationMode", 3, _DEVICE_ALLOCATION_MODE),
    Field("count", 4, INT64),
    Field("adminAccess", 5, BOOL, pointer=True),
    Field("tolerations", 6, ListOf(_DEVICE_TOLERATION)),
    Field("capacity", 7, _CAPACITY_REQUIREMENTS, pointer=True),
)

_DEVICE_SUB_REQUEST = _struct(
    "DeviceSubRequest",
    "One of several alternatives of a request.",
    Field("name", 1, STRING, omitempty=False),
    Field("deviceClassName", 2, STRING, omitempty=False),
    Field("selectors", 3, ListOf(DEVICE_SELECTOR)),
    Field("allocationMode", 4, _DEVICE_ALLOCATION_MODE),
    Field("count", 5, INT64),
    Field("tolerations", 6, ListOf(_DEVICE_TOLERATION)),
    Field("capacity", 7, _CAPACITY_REQUIREMENTS, pointer=True),
)

_DEVICE_REQUEST = _struct(
    "DeviceRequest",
    "A request for devices, exact or with alternatives.",
    Field("name", 1, STRING, omitempty=False),
    Field("exactly", 2, _EXACT_DEVICE_REQUEST, pointer=True),
    Field("firstAvailable", 3, ListOf(_DEVICE_SUB_REQUEST)),
)

_DEVICE_CONSTRAINT = _struct(
    "DeviceConstraint",
    "A constraint between the devices of several requests.",
    Field("requests", 1, STRINGS),
    Field("matchAttribute", 2, _FULLY_QUALIFIED_NAME, pointer=True),
    Field("distinctAttribute", 3, _FULLY_QUALIFIED_NAME, pointer=True),
)

_DEVICE_CLAIM_CONFIGURATION = _struct(
    "DeviceClaimConfiguration",
    "Settings of the devices of certain requests.",
    Field("requests", 1, STRINGS),
    Field("", 2, DEVICE_CONFIGURATION),
)

_DEVICE_CLAIM = _struct(
    "DeviceClaim",
    "The requests of a claim.",
    Field("requests", 1, ListOf(_DEVICE_REQUEST), omitempty=False, required=False),
    Field("constraints", 2, ListOf(_DEVICE_CONSTRAINT)),
    Field("config", 3, ListOf(_DEVICE_CLAIM_CONFIGURATION)),
)

_RESOURCE_CLAIM_SPEC = _struct(
    "ResourceClaimSpec",
    "The desired state of a claim.",
    Field("devices", 1, _DEVICE_CLAIM, omitempty=False, required=False),
)

_DEVICE_REQUEST_ALLOCATION_RESULT = _struct(
    "DeviceRequestAllocationResult",
    "A device that was allocated for a request.",
    Field("request", 1, STRING, omitempty=False),
    Field("driver", 2, STRING, omitempty=False),
    Field("pool", 3, STRING, omitempty=False),
    Field("device", 4, STRING, omitempty=False),
    Field("adminAccess", 5, BOOL, pointer=True),
    Field("tolerations", 6, ListOf(_DEVICE_TOLERATION)),
    Field("bindingConditions", 7, STRINGS),
    Field("bindingFailureConditions", 8, STRINGS),
    Field("shareID", 9, UID, pointer=True),
    Field("consumedCapacity", 10, MapOf(QUANTITY, "map[v1.QualifiedName]resource.Quantity")),
)

_DEVICE_ALLOCATION_CONFIGURATION = _struct(
    "DeviceAllocationConfiguration",
    "Settings of allocated devices.",
    Field("source", 1, _ALLOCATION_CONFIG_SOURCE, omitempty=False),
    Field("requests", 2, STRINGS),
    Field("", 3, DEVICE_CONFIGURATION),
)

_DEVICE_ALLOCATION_RESULT = _struct(
    "DeviceAllocationResult",
    "The allocated devices and their settings.",
    Field("results", 1, ListOf(_DEVICE_REQUEST_ALLOCATION_RESULT)),
    Field("config", 2, ListOf(_DEVICE_ALLOCATION_CONFIGURATION)),
)

_ALLOCATION_RESULT = _struct(
    "AllocationResult",
    "The result of an allocation.",
    Field("devices", 1, _DEVICE_ALLOCATION_RESULT),
    Field("nodeSelector", 3, NODE_SELECTOR, pointer=True),
    Field("allocationTimestamp", 5, TIME, pointer=True),
)

_RESOURCE_CLAIM_CONSUMER_REFERENCE = _struct(
    "ResourceClaimConsumerReference",
    "A reference to an object that uses a claim.",
    Field("apiGroup", 1, STRING),
    Field("resource", 3, STRING, omitempty=False),
    Field("name", 4, STRING, omitempty=False),
    Field("uid", 5, UID, omitempty=False),
)

_NETWORK_DEVICE_DATA = _struct(
    "NetworkDeviceData",
    "The addresses of a network device.",
    Field("interfaceName", 1, STRING),
    Field("ips", 2, STRINGS),
    Field("hardwareAddress", 3, STRING),
)

_ALLOCATED_DEVICE_STATUS = _struct(
    "AllocatedDeviceStatus",
    "The state of an allocated device.",
    Field("driver", 1, STRING, omitempty=False),
    Field("pool", 2, STRING, omitempty=False),
    Field("device", 3, STRING, omitempty=False),
    Field("shareID", 7, STRING, pointer=True),
    Field("conditions", 4, ListOf(CONDITION), omitempty=False, required=False, keys=("type",)),
    Field("data", 5, RAW_EXTENSION, pointer=True),
    Field("networkData", 6, _NETWORK_DEVICE_DATA, pointer=True),
)

_RESOURCE_CLAIM_STATUS = _struct(
    "ResourceClaimStatus",
    "The observed state of a claim.",
    Field("allocation", 1, _ALLOCATION_RESULT, pointer=True),
    Field("reservedFor", 2, ListOf(_RESOURCE_CLAIM_CONSUMER_REFERENCE), keys=("uid",), merge_key="uid"),
    Field("devices", 4, ListOf(_ALLOCATED_DEVICE_STATUS), keys=("driver", "device", "pool", "shareID")),
)

RESOURCE_CLAIM_FIELDS = (
    Field("spec", 2, _RESOURCE_CLAIM_SPEC, "The desired state.", omitempty=False),
    Field("status", 3, _RESOURCE_CLAIM_STATUS, "The observed state."),
)

_RESOURCE_CLAIM_TEMPLATE_SPEC = _struct(
    "ResourceClaimTemplateSpec",
    "The metadata and the spec of the claims that are created.",
    Field("metadata", 1, OBJECT_META),
    Field("spec", 2, _RESOURCE_CLAIM_SPEC, "The desired state.", omitempty=False),
)

RESOURCE_CLAIM_TEMPLATE_FIELDS = (
    Field("spec", 2, _RESOURCE_CLAIM_TEMPLATE_SPEC, "The desired state.", omitempty=False),
)
