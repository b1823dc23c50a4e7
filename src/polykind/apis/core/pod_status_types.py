"""The observed state of pods."""

from __future__ import annotations

from polykind.apis.core.container_types import RESOURCE_REQUIREMENTS, SIGNAL
from polykind.apis.core.types import CORE_V1
from polykind.apis.machinery.structs import Field
from polykind.apis.machinery.value_types import (
    BOOL,
    INT32,
    INT64,
    QUANTITY,
    RESOURCE_LIST,
    STRING,
    STRINGS,
    TIME,
    ListOf,
    MapOf,
    String,
)

_struct = CORE_V1.struct

_POD_PHASE = String("v1.PodPhase", ("Failed", "Pending", "Running", "Succeeded", "Unknown"))
_POD_QOS_CLASS = String("v1.PodQOSClass", ("BestEffort", "Burstable", "Guaranteed"))

_POD_CONDITION = _struct(
    "PodCondition",
    "One aspect of the state of a pod.",
    Field("type", 1, String("v1.PodConditionType"), "The aspect of the state, in CamelCase.", omitempty=False),
    Field("observedGeneration", 7, INT64),
    Field("status", 2, String("v1.ConditionStatus"), "True, False or Unknown.", omitempty=False),
    Field("lastProbeTime", 3, TIME, "The time of the last check."),
    Field("lastTransitionTime", 4, TIME, "The time of the last change of the status."),
    Field("reason", 5, STRING, "The reason for the last change, in CamelCase."),
    Field("message", 6, STRING, "A readable explanation."),
)

_HOST_IP = _struct(
    "HostIP",
    "An address of the pod's node.",
    Field("ip", 1, STRING, omitempty=False),
)

_POD_IP = _struct(
    "PodIP",
    "An address of the pod.",
    Field("ip", 1, STRING, omitempty=False),
)

_CONTAINER_STATE_WAITING = _struct(
    "ContainerStateWaiting",
    "The state of a container that is not running yet.",
    Field("reason", 1, STRING),
    Field("message", 2, STRING),
)

_CONTAINER_STATE_RUNNING = _struct(
    "ContainerStateRunning",
    "The state of a running container.",
    Field("startedAt", 1, TIME),
)

_CONTAINER_STATE_TERMINATED = _struct(
    "ContainerStateTerminated",
    "The state of a container that has ended.",
    Field("exitCode", 1, INT32, omitempty=False),
    Field("signal", 2, INT32),
    Field("reason", 3, STRING),
    Field("message", 4, STRING),
    Field("startedAt", 5, TIME),
    Field("finishedAt", 6, TIME),
    Field("containerID", 7, STRING),
)

_CONTAINER_STATE = _struct(
    "ContainerState",
    "The state of a container: waiting, running or terminated.",
    Field("waiting", 1, _CONTAINER_STATE_WAITING, "The state before the start.", pointer=True),
    Field("running", 2, _CONTAINER_STATE_RUNNING, "The state while running.", pointer=True),
    Field("terminated", 3, _CONTAINER_STATE_TERMINATED, "The state after the end.", pointer=True),
)

_IMAGE_VOLUME_STATUS = _struct(
    "ImageVolumeStatus",
    "The state of an image volume.",
    Field("imageRef", 1, STRING, required=True),
)

_VOLUME_STATUS = _struct(
    "VolumeStatus",
    "The state of a mounted volume.",
    Field("image", 1, _IMAGE_VOLUME_STATUS, pointer=True),
)

_VOLUME_MOUNT_STATUS = _struct(
    "VolumeMountStatus",
    "The state of a volume mount.",
    Field("name", 1, STRING, omitempty=False),
    Field("mountPath", 2, STRING, omitempty=False),
    Field("readOnly", 3, BOOL),
    Field("recursiveReadOnly", 4, String("v1.RecursiveReadOnlyMode"), pointer=True),
    Field("volumeStatus", 5, _VOLUME_STATUS, pointer=True),
)

_LINUX_CONTAINER_USER = _struct(
    "LinuxContainerUser",
    "The user and groups of a process on Linux.",
    Field("uid", 1, INT64, omitempty=False),
    Field("gid", 2, INT64, omitempty=False),
    Field("supplementalGroups", 3, ListOf(INT64)),
)

_CONTAINER_USER = _struct(
    "ContainerUser",
    "The user of the first process of a container.",
    Field("linux", 1, _LINUX_CONTAINER_USER, pointer=True),
)

_RESOURCE_HEALTH = _struct(
    "ResourceHealth",
    "The health of one allocated device.",
    Field("resourceID", 1, String("v1.ResourceID"), omitempty=False),
    Field("health", 2, String("v1.ResourceHealthStatus")),
    Field("message", 6, STRING, pointer=True),
)

_RESOURCE_STATUS = _struct(
    "ResourceStatus",
    "The health of an allocated resource.",
    Field("name", 1, String("v1.ResourceName"), omitempty=False),
    Field("resources", 2, ListOf(_RESOURCE_HEALTH), keys=("resourceID",)),
)

_CONTAINER_STATUS = _struct(
    "ContainerStatus",
    "The observed state of a container.",
    Field("name", 1, STRING, "The name of the container.", omitempty=False),
    Field("state", 2, _CONTAINER_STATE, "The current state."),
    Field("lastState", 3, _CONTAINER_STATE, "The state before the last restart."),
    Field("ready", 4, BOOL, "True if the container is ready.", omitempty=False),
    Field("restartCount", 5, INT32, "The number of restarts.", omitempty=False),
    Field("image", 6, STRING, "The image of the container.", omitempty=False),
    Field("imageID", 7, STRING, "The identifier of the image.", omitempty=False),
    Field("containerID", 8, STRING, "The identifier of the container."),
    Field("started", 9, BOOL, "True if the startup probe has succeeded.", pointer=True),
    Field("allocatedResources", 10, RESOURCE_LIST),
    Field("resources", 11, RESOURCE_REQUIREMENTS, pointer=True),
    Field("volumeMounts", 12, ListOf(_VOLUME_MOUNT_STATUS), keys=("mountPath",), merge_key="mountPath"),
    Field("user", 13, _CONTAINER_USER, pointer=True),
    Field("allocatedResourcesStatus", 14, ListOf(_RESOURCE_STATUS), keys=("name",), merge_key="name"),
    Field("stopSignal", 15, SIGNAL, pointer=True),
)

_POD_RESOURCE_CLAIM_STATUS = _struct(
    "PodResourceClaimStatus",
    "The claim that was created for a pod.",
    Field("name", 1, STRING, omitempty=False),
    Field("resourceClaimName", 2, STRING, pointer=True),
)

_CONTAINER_EXTENDED_RESOURCE_REQUEST = _struct(
    "ContainerExtendedResourceRequest",
    "The device requests that satisfy an extended resource.",
    Field("containerName", 1, STRING, omitempty=False),
    Field("resourceName", 2, STRING, omitempty=False),
    Field("requestName", 3, STRING, omitempty=False),
)

_POD_EXTENDED_RESOURCE_CLAIM_STATUS = _struct(
    "PodExtendedResourceClaimStatus",
    "The claim that satisfies the extended resources of a pod.",
    Field("requestMappings", 1, ListOf(_CONTAINER_EXTENDED_RESOURCE_REQUEST), omitempty=False),
    Field("resourceClaimName", 2, STRING, omitempty=False),
)

_NODE_ALLOCATABLE_RESOURCE_CLAIM_STATUS = _struct(
    "NodeAllocatableResourceClaimStatus",
    "The node resources that a claim uses.",
    Field("resourceClaimName", 1, STRING, omitempty=False),
    Field("containers", 2, STRINGS, list_type="set"),
    Field("resources", 3, MapOf(QUANTITY, "map[v1.ResourceName]resource.Quantity"), omitempty=False),
)

POD_STATUS = _struct(
    "PodStatus",
    "The observed state of a pod.",
    Field("observedGeneration", 17, INT64, "The generation that the kubelet has seen."),
    Field("phase", 1, _POD_PHASE, "Pending, Running, Succeeded, Failed or Unknown."),
    Field(
        "conditions", 2, ListOf(_POD_CONDITION), "The state of the pod, by aspect.", keys=("type",), merge_key="type"
    ),
    Field("message", 3, STRING, "A readable explanation of the phase."),
    Field("reason", 4, STRING, "The reason for the phase, in CamelCase."),
    Field("nominatedNodeName", 11, STRING, "The node on which the pod may run after evictions."),
    Field("hostIP", 5, STRING, "The address of the node."),
    Field("hostIPs", 16, ListOf(_HOST_IP), "The addresses of the node.", merge_key="ip"),
    Field("podIP", 6, STRING, "The address of the pod."),
    Field("podIPs", 12, ListOf(_POD_IP), "The addresses of the pod.", keys=("ip",), merge_key="ip"),
    Field("startTime", 7, TIME, "The time at which the kubelet accepted the pod.", pointer=True),
    Field("initContainerStatuses", 10, ListOf(_CONTAINER_STATUS), "The state of the init containers."),
    Field("containerStatuses", 8, ListOf(_CONTAINER_STATUS), "The state of the containers."),
    Field("qosClass", 9, _POD_QOS_CLASS, "Guaranteed, Burstable or BestEffort."),
    Field("ephemeralContainerStatuses", 13, ListOf(_CONTAINER_STATUS), "The state of the ephemeral containers."),
    Field(
        "resize",
        14,
        String("v1.PodResizeStatus"),
        "The progress of a change of resources. Deprecated: see the conditions.",
    ),
    Field(
        "resourceClaimStatuses",
        15,
        ListOf(_POD_RESOURCE_CLAIM_STATUS),
        keys=("name",),
        merge_key="name",
        patch_strategy="merge,retainKeys",
    ),
    Field("extendedResourceClaimStatus", 18, _POD_EXTENDED_RESOURCE_CLAIM_STATUS, pointer=True),
    Field("allocatedResources", 19, RESOURCE_LIST),
    Field("resources", 20, RESOURCE_REQUIREMENTS, pointer=True),
    Field("nodeAllocatableResourceClaimStatuses", 21, ListOf(_NODE_ALLOCATABLE_RESOURCE_CLAIM_STATUS)),
)
