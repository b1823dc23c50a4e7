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
    "A ConfigMap with the configuration of a kubelet.",
    Field("namespace", 1, STRING, omitempty=False),
    Field("name", 2, STRING, omitempty=False),
    Field("uid", 3, UID),
    Field("resourceVersion", 4, STRING),
    Field("kubeletConfigKey", 5, STRING, omitempty=False),
)

_NODE_CONFIG_SOURCE = _struct(
    "NodeConfigSource",
    "The source of the configuration of a node. Deprecated.",
    Field("configMap", 2, _CONFIG_MAP_NODE_CONFIG_SOURCE, pointer=True),
)

_NODE_SPEC = _struct(
    "NodeSpec",
    "The desired state of a node.",
    Field("podCIDR", 1, STRING, "The range of the addresses of pods."),
    Field(
        "podCIDRs",
        7,
        STRINGS,
        "The ranges of the addresses of pods, one for each IP family.",
        list_type="set",
        patch_strategy="merge",
    ),
    Field("providerID", 3, STRING, "The identifier of the machine at its cloud provider."),
    Field("unschedulable", 4, BOOL, "True if no new pods are scheduled on the node."),
    Field("taints", 5, ListOf(TAINT), "The taints of the node."),
    Field("configSource", 6, _NODE_CONFIG_SOURCE, pointer=True),
    Field("externalID", 2, STRING),
)

_NODE_CONDITION = _struct(
    "NodeCondition",
    "One aspect of the state of a node.",
    Field("type", 1, String("v1.NodeConditionType"), "The aspect of the state, in CamelCase.", omitempty=False),
    Field("status", 2, String("v1.ConditionStatus"), "True, False or Unknown.", omitempty=False),
    Field("lastHeartbeatTime", 3, TIME, "The time of the last report."),
    Field("lastTransitionTime", 4, TIME, "The time of the last change of the status."),
    Field("reason", 5, STRING, "The reason for the last change, in CamelCase."),
    Field("message", 6, STRING, "A readable explanation."),
)

_NODE_ADDRESS = _struct(
    "NodeAddress",
    "An address of a node.",
    Field(
        "type",
        1,
        String("v1.NodeAddressType"),
        "Hostname, InternalIP, ExternalIP, InternalDNS or ExternalDNS.",
        omitempty=False,
    ),
    Field("address", 2, STRING, "The address.", omitempty=False),
)

_DAEMON_ENDPOINT = _struct(
    "DaemonEndpoint",
    "The port of a daemon on a node.",
    Field("Port", 1, INT32, omitempty=False),
)

_NODE_DAEMON_ENDPOINTS = _struct(
    "NodeDaemonEndpoints",
    "The ports of the daemons on a node.",
    Field("kubeletEndpoint", 1, _DAEMON_ENDPOINT),
)

_NODE_SWAP_STATUS = _struct(
    "NodeSwapStatus",
    "The swap space of a node.",
    Field("capacity", 1, INT64, pointer=True),
)

_NODE_SYSTEM_INFO = _struct(
    "NodeSystemInfo",
    "The identity and the versions of a node.",
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
    "A container image on a node.",
    Field("names", 1, STRINGS, omitempty=False, required=False),
    Field("sizeBytes", 2, INT64),
)

_ATTACHED_VOLUME = _struct(
    "AttachedVolume",
    "A volume that is attached to a node.",
    Field("name", 1, _UNIQUE_VOLUME_NAME, omitempty=False),
    Field("devicePath", 2, STRING, omitempty=False),
)

_NODE_CONFIG_STATUS = _struct(
    "NodeConfigStatus",
    "The state of the configuration of a node. Deprecated.",
    Field("assigned", 1, _NODE_CONFIG_SOURCE, pointer=True),
    Field("active", 2, _NODE_CONFIG_SOURCE, pointer=True),
    Field("lastKnownGood", 3, _NODE_CONFIG_SOURCE, pointer=True),
    Field("error", 4, STRING),
)

_NODE_RUNTIME_HANDLER_FEATURES = _struct(
    "NodeRuntimeHandlerFeatures",
    "The features of a runtime handler.",
    Field("recursiveReadOnlyMounts", 1, BOOL, pointer=True),
    Field("userNamespaces", 2, BOOL, pointer=True),
)

_NODE_RUNTIME_HANDLER = _struct(
    "NodeRuntimeHandler",
    "A runtime handler of a node.",
    Field("name", 1, STRING, omitempty=False, required=False),
    Field("features", 2, _NODE_RUNTIME_HANDLER_FEATURES, pointer=True),
)

_NODE_FEATURES = _struct(
    "NodeFeatures",
    "The features of the container runtime of a node.",
    Field("supplementalGroupsPolicy", 1, BOOL, pointer=True),
)

_NODE_STATUS = _struct(
    "NodeStatus",
    "The observed state of a node.",
    Field("capacity", 1, RESOURCE_LIST, "All resources of the node."),
    Field("allocatable", 2, RESOURCE_LIST, "The resources for pods."),
    Field("phase", 3, _NODE_PHASE),
    Field(
        "conditions", 4, ListOf(_NODE_CONDITION), "The state of the node, by aspect.", keys=("type",), merge_key="type"
    ),
    Field("addresses", 5, ListOf(_NODE_ADDRESS), "The addresses of the node.", keys=("type",), merge_key="type"),
    Field("daemonEndpoints", 6, _NODE_DAEMON_ENDPOINTS),
    Field("nodeInfo", 7, _NODE_SYSTEM_INFO, "The identity and the versions of the node."),
    Field("images", 8, ListOf(_CONTAINER_IMAGE), "The container images on the node."),
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
