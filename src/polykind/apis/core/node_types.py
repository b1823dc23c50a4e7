"""The fields of Nodes."""

from __future__ import annotations

from polykind.apis.core.affinity_types import TAINT
from polykind.apis.core.types import CORE_V1
from polykind.apis.machinery.structs import Field
from polykind.apis.machinery.value_types import BOOL, INT32, INT64, RESOURCE_LIST, STRING, STRINGS, TIME, ListOf, String
from polykind.apis.meta.types import UID

_struct = CORE_V1.struct

_NODE_PHASE = String("v1.NodePhase", ("Pending", "Running", "Terminated"))
_UNIQUE_VOLUME_NAME = String("v1.UniqueVolumeName")

_CONFIG_MAP_NODE_CONFIG_SOURCE = _struct(
    "ConfigMapNodeConfigSource",
    "",
    Field("namespace", 1, STRING, omitempty=False),
    Field("name", 2, STRING, omitempty=False),
    Field("uid", 3, UID),
    Field("resourceVersion", 4, STRING),
    Field("kubeletConfigKey", 5, STRING, omitempty=False),
)

_NODE_CONFIG_SOURCE = _struct(
    "NodeConfigSource",
    "",
    Field("configMap", 2, _CONFIG_MAP_NODE_CONFIG_SOURCE, pointer=True),
)

_NODE_SPEC = _struct(
    "NodeSpec",
    "",
    Field("podCIDR", 1, STRING),
    Field("podCIDRs", 7, STRINGS, list_type="set", patch_strategy="merge"),
    Field("providerID", 3, STRING),
    Field("unschedulable", 4, BOOL),
    Field("taints", 5, ListOf(TAINT)),
    Field("configSource", 6, _NODE_CONFIG_SOURCE, pointer=True),
    Field("externalID", 2, STRING),
)

_NODE_CONDITION = _struct(
    "NodeCondition",
    "",
    Field("type", 1, String("v1.NodeConditionType"), omitempty=False),
    Field("status", 2, String("v1.ConditionStatus"), "The observed state.", omitempty=False),
    Field("lastHeartbeatTime", 3, TIME),
    Field("lastTransitionTime", 4, TIME),
    Field("reason", 5, STRING),
    Field("message", 6, STRING),
)

_NODE_ADDRESS = _struct(
    "NodeAddress",
    "",
    Field("type", 1, String("v1.NodeAddressType"), omitempty=False),
    Field("address", 2, STRING, omitempty=False),
)

_DAEMON_ENDPOINT = _struct(
    "DaemonEndpoint",
    "",
    Field("Port", 1, INT32, omitempty=False),
)

_NODE_DAEMON_ENDPOINTS = _struct(
    "NodeDaemonEndpoints",
    "",
    Field("kubeletEndpoint", 1, _DAEMON_ENDPOINT),
)

_NODE_SWAP_STATUS = _struct(
    "NodeSwapStatus",
    "",
    Field("capacity", 1, INT64, pointer=True),
)

_NODE_SYSTEM_INFO = _struct(
    "NodeSystemInfo",
    "",
    Field("machineID", 1, STRING, omitempty=False),
    Field("systemUUID", 2, STRING, omitempty=False),
    Field("bootID", 3, STRING, omitempty=False),
    Field("kernelVersion", 4, STRING, omitempty=False),
    Field("osImage", 5, STRING, omitempty=False),
    Field("containerRuntimeVersion", 6, STRING, omitempty=False),
    Field("kubeletVersion", 7, STRING, omitempty=False),
    Field("kubeProxyVersion", 8, STRING, omitempty=False),
    Field("operatingSystem", 9, STRING, omitempty=False),
    Field("architecture", 10, STRING, omitempty=False),
    Field("swap", 11, _NODE_SWAP_STATUS, pointer=True),
)

_CONTAINER_IMAGE = _struct(
    "ContainerImage",
    "",
    Field("names", 1, STRINGS, omitempty=False, required=False),
    Field("sizeBytes", 2, INT64),
)

_ATTACHED_VOLUME = _struct(
    "AttachedVolume",
    "",
    Field("name", 1, _UNIQUE_VOLUME_NAME, omitempty=False),
    Field("devicePath", 2, STRING, omitempty=False),
)

_NODE_CONFIG_STATUS = _struct(
    "NodeConfigStatus",
    "",
    Field("assigned", 1, _NODE_CONFIG_SOURCE, pointer=True),
    Field("active", 2, _NODE_CONFIG_SOURCE, pointer=True),
    Field("lastKnownGood", 3, _NODE_CONFIG_SOURCE, pointer=True),
    Field("error", 4, STRING),
)

_NODE_RUNTIME_HANDLER_FEATURES = _struct(
    "NodeRuntimeHandlerFeatures",
    "",
    Field("recursiveReadOnlyMounts", 1, BOOL, pointer=True),
    Field("userNamespaces", 2, BOOL, pointer=True),
)

_NODE_RUNTIME_HANDLER = _struct(
    "NodeRuntimeHandler",
    "",
    Field("name", 1, STRING, omitempty=False, required=False),
    Field("features", 2, _NODE_RUNTIME_HANDLER_FEATURES, pointer=True),
)

_NODE_FEATURES = _struct(
    "NodeFeatures",
    "",
    Field("supplementalGroupsPolicy", 1, BOOL, pointer=True),
)

_NODE_STATUS = _struct(
    "NodeStatus",
    "",
    Field("capacity", 1, RESOURCE_LIST),
    Field("allocatable", 2, RESOURCE_LIST),
    Field("phase", 3, _NODE_PHASE),
    Field("conditions", 4, ListOf(_NODE_CONDITION), keys=("type",), merge_key="type"),
    Field("addresses", 5, ListOf(_NODE_ADDRESS), keys=("type",), merge_key="type"),
    Field("daemonEndpoints", 6, _NODE_DAEMON_ENDPOINTS),
    Field("nodeInfo", 7, _NODE_SYSTEM_INFO),
    Field("images", 8, ListOf(_CONTAINER_IMAGE)),
    Field("volumesInUse", 9, ListOf(_UNIQUE_VOLUME_NAME)),
    Field("volumesAttached", 10, ListOf(_ATTACHED_VOLUME)),
    Field("config", 11, _NODE_CONFIG_STATUS, pointer=True),
    Field("runtimeHandlers", 12, ListOf(_NODE_RUNTIME_HANDLER)),
    Field("features", 13, _NODE_FEATURES, pointer=True),
    Field("declaredFeatures", 14, STRINGS),
)

NODE_FIELDS = (
    Field("spec", 2, _NODE_SPEC, "The desired state."),
    Field("status", 3, _NODE_STATUS, "The observed state."),
)
