"""The observed state of pods."""

from __future__ import annotations

from polykind.apis.core.container_types import RESOURCE_REQUIREMENTS
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
_SIGNAL = String(
    "v1.Signal",
    (
        "SIGABRT",
        "SIGALRM",
        "SIGBUS",
        "SIGCHLD",
        "SIGCLD",
        "SIGCONT",
        "SIGFPE",
        "SIGHUP",
        "SIGILL",
        "SIGINT",
        "SIGIO",
        "SIGIOT",
        "SIGKILL",
        "SIGPIPE",
        "SIGPOLL",
        "SIGPROF",
        "SIGPWR",
        "SIGQUIT",
        "SIGRTMAX",
        "SIGRTMAX-1",
        "SIGRTMAX-10",
        "SIGRTMAX-11",
        "SIGRTMAX-12",
        "SIGRTMAX-13",
        "SIGRTMAX-14",
        "SIGRTMAX-2",
        "SIGRTMAX-3",
        "SIGRTMAX-4",
        "SIGRTMAX-5",
        "SIGRTMAX-6",
        "SIGRTMAX-7",
        "SIGRTMAX-8",
        "SIGRTMAX-9",
        "SIGRTMIN",
        "SIGRTMIN+1",
        "SIGRTMIN+10",
        "SIGRTMIN+11",
        "SIGRTMIN+12",
        "SIGRTMIN+13",
        "SIGRTMIN+14",
        "SIGRTMIN+15",
        "SIGRTMIN+2",
        "SIGRTMIN+3",
        "SIGRTMIN+4",
        "SIGRTMIN+5",
        "SIGRTMIN+6",
        "SIGRTMIN+7",
        "SIGRTMIN+8",
        "SIGRTMIN+9",
        "SIGSEGV",
        "SIGSTKFLT",
        "SIGSTOP",
        "SIGSYS",
        "SIGTERM",
        "SIGTRAP",
        "SIGTSTP",
        "SIGTTIN",
        "SIGTTOU",
        "SIGURG",
        "SIGUSR1",
        "SIGUSR2",
        "SIGVTALRM",
        "SIGWINCH",
        "SIGXCPU",
        "SIGXFSZ",
    ),
)

_POD_CONDITION = _struct(
    "PodCondition",
    "",
    Field("type", 1, String("v1.PodConditionType"), omitempty=False),
    Field("observedGeneration", 7, INT64),
    Field("status", 2, String("v1.ConditionStatus"), "The observed state.", omitempty=False),
    Field("lastProbeTime", 3, TIME),
    Field("lastTransitionTime", 4, TIME),
    Field("reason", 5, STRING),
    Field("message", 6, STRING),
)

_HOST_IP = _struct(
    "HostIP",
    "",
    Field("ip", 1, STRING, omitempty=False),
)

_POD_IP = _struct(
    "PodIP",
    "",
    Field("ip", 1, STRING, omitempty=False),
)

_CONTAINER_STATE_WAITING = _struct(
    "ContainerStateWaiting",
    "",
    Field("reason", 1, STRING),
    Field("message", 2, STRING),
)

_CONTAINER_STATE_RUNNING = _struct(
    "ContainerStateRunning",
    "",
    Field("startedAt", 1, TIME),
)

_CONTAINER_STATE_TERMINATED = _struct(
    "ContainerStateTerminated",
    "",
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
    "",
    Field("waiting", 1, _CONTAINER_STATE_WAITING, pointer=True),
    Field("running", 2, _CONTAINER_STATE_RUNNING, pointer=True),
    Field("terminated", 3, _CONTAINER_STATE_TERMINATED, pointer=True),
)

_IMAGE_VOLUME_STATUS = _struct(
    "ImageVolumeStatus",
    "",
    Field("imageRef", 1, STRING, required=True),
)

_VOLUME_STATUS = _struct(
    "VolumeStatus",
    "",
    Field("image", 1, _IMAGE_VOLUME_STATUS, pointer=True),
)

_VOLUME_MOUNT_STATUS = _struct(
    "VolumeMountStatus",
    "",
    Field("name", 1, STRING, omitempty=False),
    Field("mountPath", 2, STRING, omitempty=False),
    Field("readOnly", 3, BOOL),
    Field("recursiveReadOnly", 4, String("v1.RecursiveReadOnlyMode"), pointer=True),
    Field("volumeStatus", 5, _VOLUME_STATUS, pointer=True),
)

_LINUX_CONTAINER_USER = _struct(
    "LinuxContainerUser",
    "",
    Field("uid", 1, INT64, omitempty=False),
    Field("gid", 2, INT64, omitempty=False),
    Field("supplementalGroups", 3, ListOf(INT64)),
)

_CONTAINER_USER = _struct(
    "ContainerUser",
    "",
    Field("linux", 1, _LINUX_CONTAINER_USER, pointer=True),
)

_RESOURCE_HEALTH = _struct(
    "ResourceHealth",
    "",
    Field("resourceID", 1, String("v1.ResourceID"), omitempty=False),
    Field("health", 2, String("v1.ResourceHealthStatus")),
    Field("message", 6, STRING, pointer=True),
)

_RESOURCE_STATUS = _struct(
    "ResourceStatus",
    "",
    Field("name", 1, String("v1.ResourceName"), omitempty=False),
    Field("resources", 2, ListOf(_RESOURCE_HEALTH), keys=("resourceID",)),
)

_CONTAINER_STATUS = _struct(
    "ContainerStatus",
    "",
    Field("name", 1, STRING, omitempty=False),
    Field("state", 2, _CONTAINER_STATE),
    Field("lastState", 3, _CONTAINER_STATE),
    Field("ready", 4, BOOL, omitempty=False),
    Field("restartCount", 5, INT32, omitempty=False),
    Field("image", 6, STRING, omitempty=False),
    Field("imageID", 7, STRING, omitempty=False),
    Field("containerID", 8, STRING),
    Field("started", 9, BOOL, pointer=True),
    Field("allocatedResources", 10, RESOURCE_LIST),
    Field("resources", 11, RESOURCE_REQUIREMENTS, pointer=True),
    Field("volumeMounts", 12, ListOf(_VOLUME_MOUNT_STATUS), keys=("mountPath",), merge_key="mountPath"),
    Field("user", 13, _CONTAINER_USER, pointer=True),
    Field("allocatedResourcesStatus", 14, ListOf(_RESOURCE_STATUS), keys=("name",), merge_key="name"),
    Field("stopSignal", 15, _SIGNAL, pointer=True),
)

_POD_RESOURCE_CLAIM_STATUS = _struct(
    "PodResourceClaimStatus",
    "",
    Field("name", 1, STRING, omitempty=False),
    Field("resourceClaimName", 2, STRING, pointer=True),
)

_CONTAINER_EXTENDED_RESOURCE_REQUEST = _struct(
    "ContainerExtendedResourceRequest",
    "",
    Field("containerName", 1, STRING, omitempty=False),
    Field("resourceName", 2, STRING, omitempty=False),
    Field("requestName", 3, STRING, omitempty=False),
)

_POD_EXTENDED_RESOURCE_CLAIM_STATUS = _struct(
    "PodExtendedResourceClaimStatus",
    "",
    Field("requestMappings", 1, ListOf(_CONTAINER_EXTENDED_RESOURCE_REQUEST), omitempty=False),
    Field("resourceClaimName", 2, STRING, omitempty=False),
)

_NODE_ALLOCATABLE_RESOURCE_CLAIM_STATUS = _struct(
    "NodeAllocatableResourceClaimStatus",
    "",
    Field("resourceClaimName", 1, STRING, omitempty=False),
    Field("containers", 2, STRINGS, list_type="set"),
    Field("resources", 3, MapOf(QUANTITY, "map[v1.ResourceName]resource.Quantity"), omitempty=False),
)

POD_STATUS = _struct(
    "PodStatus",
    "",
    Field("observedGeneration", 17, INT64),
    Field("phase", 1, _POD_PHASE),
    Field("conditions", 2, ListOf(_POD_CONDITION), keys=("type",), merge_key="type"),
    Field("message", 3, STRING),
    Field("reason", 4, STRING),
    Field("nominatedNodeName", 11, STRING),
    Field("hostIP", 5, STRING),
    Field("hostIPs", 16, ListOf(_HOST_IP), merge_key="ip"),
    Field("podIP", 6, STRING),
    Field("podIPs", 12, ListOf(_POD_IP), keys=("ip",), merge_key="ip"),
    Field("startTime", 7, TIME, pointer=True),
    Field("initContainerStatuses", 10, ListOf(_CONTAINER_STATUS)),
    Field("containerStatuses", 8, ListOf(_CONTAINER_STATUS)),
    Field("qosClass", 9, _POD_QOS_CLASS),
    Field("ephemeralContainerStatuses", 13, ListOf(_CONTAINER_STATUS)),
    Field("resize", 14, String("v1.PodResizeStatus")),
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
