"""The fields of DeviceClasses and ResourceSlices."""

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
from polykind.apis.resource.types import RESOURCE_V1

_struct = RESOURCE_V1.struct

DEVICE_TAINT_EFFECT = String("v1.DeviceTaintEffect", ("NoExecute", "NoSchedule", "None"))

_CEL_DEVICE_SELECTOR = _struct(
    "CELDeviceSelector",
    "A CEL expression that selects devices.",
    Field("expression", 1, STRING, omitempty=False),
)

DEVICE_SELECTOR = _struct(
    "DeviceSelector",
    "A selection of devices.",
    Field("cel", 1, _CEL_DEVICE_SELECTOR, pointer=True),
)

_OPAQUE_DEVICE_CONFIGURATION = _struct(
    "OpaqueDeviceConfiguration",
    "Settings that only a driver understands.",
    Field("driver", 1, STRING, omitempty=False),
    Field("parameters", 2, RAW_EXTENSION, omitempty=False),
)

DEVICE_CONFIGURATION = _struct(
    "DeviceConfiguration",
    "Settings of devices.",
    Field("opaque", 1, _OPAQUE_DEVICE_CONFIGURATION, pointer=True),
)

_DEVICE_CLASS_CONFIGURATION = _struct(
    "DeviceClassConfiguration",
    "Settings of the devices of a class.",
    Field("", 1, DEVICE_CONFIGURATION),
)

_DEVICE_CLASS_SPEC = _struct(
    "DeviceClassSpec",
    "The devices of a class and their settings.",
    Field("selectors", 1, ListOf(DEVICE_SELECTOR)),
    Field("config", 2, ListOf(_DEVICE_CLASS_CONFIGURATION)),
    Field("extendedResourceName", 4, STRING, pointer=True),
)

DEVICE_CLASS_FIELDS = (Field("spec", 2, _DEVICE_CLASS_SPEC, "The desired state.", omitempty=False),)

_RESOURCE_POOL = _struct(
    "ResourcePool",
    "The pool to which devices belong.",
    Field("name", 1, STRING, omitempty=False),
    Field("generation", 2, INT64, omitempty=False),
    Field("resourceSliceCount", 3, INT64, omitempty=False),
)

_DEVICE_ATTRIBUTE = _struct(
    "DeviceAttribute",
    "An attribute of a device, of which one type is set.",
    Field("int", 2, INT64, pointer=True),
    Field("bool", 3, BOOL, pointer=True),
    Field("string", 4, STRING, pointer=True),
    Field("version", 5, STRING, pointer=True),
    Field("ints", 6, ListOf(INT64)),
    Field("bools", 7, ListOf(BOOL)),
    Field("strings", 8, STRINGS),
    Field("versions", 9, STRINGS),
)

_CAPACITY_REQUEST_POLICY_RANGE = _struct(
    "CapacityRequestPolicyRange",
    "A range of amounts that can be requested.",
    Field("min", 1, QUANTITY, pointer=True, required=True),
    Field("max", 2, QUANTITY, pointer=True),
    Field("step", 3, QUANTITY, pointer=True),
)

_CAPACITY_REQUEST_POLICY = _struct(
    "CapacityRequestPolicy",
    "The amounts of a capacity that can be requested.",
    Field("default", 1, QUANTITY, omitempty=False, pointer=True),
    Field("validValues", 3, ListOf(QUANTITY)),
    Field("validRange", 4, _CAPACITY_REQUEST_POLICY_RANGE, pointer=True),
)

_DEVICE_CAPACITY = _struct(
    "DeviceCapacity",
    "A capacity of a device.",
    Field("value", 1, QUANTITY, omitempty=False),
    Field("requestPolicy", 2, _CAPACITY_REQUEST_POLICY, pointer=True),
)

_COUNTER = _struct(
    "Counter",
    "An amount that devices share.",
    Field("value", 1, QUANTITY, omitempty=False),
)

_DEVICE_COUNTER_CONSUMPTION = _struct(
    "DeviceCounterConsumption",
    "The amounts that a device takes from a set of counters.",
    Field("counterSet", 1, STRING, omitempty=False),
    Field("counters", 2, MapOf(_COUNTER), required=True),
)

_DEVICE_TAINT = _struct(
    "DeviceTaint",
    "A mark on a device that repels claims without a matching toleration.",
    Field("key", 1, STRING, omitempty=False),
    Field("value", 2, STRING),
    Field("effect", 3, DEVICE_TAINT_EFFECT, omitempty=False),
    Field("timeAdded", 4, TIME, pointer=True),
)

_NODE_ALLOCATABLE_RESOURCE_MAPPING = _struct(
    "NodeAllocatableResourceMapping",
    "The node resources that a device uses.",
    Field("capacityKey", 1, String("v1.QualifiedName"), pointer=True),
    Field("allocationMultiplier", 2, QUANTITY, pointer=True),
)

_DEVICE = _struct(
    "Device",
    "A device of a slice.",
    Field("name", 1, STRING, omitempty=False),
    Field("attributes", 2, MapOf(_DEVICE_ATTRIBUTE, "map[v1.QualifiedName]v1.DeviceAttribute")),
    Field("capacity", 3, MapOf(_DEVICE_CAPACITY, "map[v1.QualifiedName]v1.DeviceCapacity")),
    Field("consumesCounters", 4, ListOf(_DEVICE_COUNTER_CONSUMPTION)),
    Field("nodeName", 5, STRING, pointer=True),
    Field("nodeSelector", 6, NODE_SELECTOR, pointer=True),
    Field("allNodes", 7, BOOL, pointer=True),
    Field("taints", 8, ListOf(_DEVICE_TAINT)),
    Field("bindsToNode", 9, BOOL, pointer=True),
    Field("bindingConditions", 10, STRINGS),
    Field("bindingFailureConditions", 11, STRINGS),
    Field("allowMultipleAllocations", 12, BOOL, pointer=True),
    Field(
        "nodeAllocatableResourceMappings",
        13,
        MapOf(_NODE_ALLOCATABLE_RESOURCE_MAPPING, "map[v1.ResourceName]v1.NodeAllocatableResourceMapping"),
    ),
)

_COUNTER_SET = _struct(
    "CounterSet",
    "A set of amounts that devices share.",
    Field("name", 1, STRING, omitempty=False),
    Field("counters", 2, MapOf(_COUNTER), required=True),
)

_RESOURCE_SLICE_SPEC = _struct(
    "ResourceSliceSpec",
    "The devices of a slice, and the nodes that can use them.",
    Field("driver", 1, STRING, omitempty=False),
    Field("pool", 2, _RESOURCE_POOL, omitempty=False),
    Field("nodeName", 3, STRING, pointer=True),
    Field("nodeSelector", 4, NODE_SELECTOR, pointer=True),
    Field("allNodes", 5, BOOL, pointer=True),
    Field("devices", 6, ListOf(_DEVICE)),
    Field("perDeviceNodeSelection", 7, BOOL, pointer=True),
    Field("sharedCounters", 8, ListOf(_COUNTER_SET)),
)

RESOURCE_SLICE_FIELDS = (Field("spec", 2, _RESOURCE_SLICE_SPEC, "The desired state.", omitempty=False),)
