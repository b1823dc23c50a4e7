"""The fields of Pods, pod templates and Bindings."""

from __future__ import annotations

from polykind.apis.core.affinity_types import AFFINITY, TOLERATION, TOPOLOGY_SPREAD_CONSTRAINT
from polykind.apis.core.container_types import (
    CONTAINER,
    EPHEMERAL_CONTAINER,
    RESOURCE_REQUIREMENTS,
)
from polykind.apis.core.pod_status_types import POD_STATUS
from polykind.apis.core.reference_types import LOCAL_OBJECT_REFERENCE, OBJECT_REFERENCE
from polykind.apis.core.security_context_types import (
    APP_ARMOR_PROFILE,
    SE_LINUX_OPTIONS,
    SECCOMP_PROFILE,
    WINDOWS_SECURITY_CONTEXT_OPTIONS,
)
from polykind.apis.core.types import CORE_V1
from polykind.apis.core.volume_types import VOLUME
from polykind.apis.machinery.structs import Field, Union
from polykind.apis.machinery.value_types import (
    BOOL,
    INT32,
    INT64,
    RESOURCE_LIST,
    STRING,
    STRING_MAP,
    STRINGS,
    ListOf,
    String,
)
from polykind.apis.meta.types import OBJECT_META
from polykind.apis.scheduling.priority_class_types import PREEMPTION_POLICY

_struct = CORE_V1.struct

_DNS_POLICY = String("v1.DNSPolicy", ("ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"))
_POD_FS_GROUP_CHANGE_POLICY = String("v1.PodFSGroupChangePolicy", ("Always", "OnRootMismatch"))
_RESTART_POLICY = String("v1.RestartPolicy", ("Always", "Never", "OnFailure"))
_SUPPLEMENTAL_GROUPS_POLICY = String("v1.SupplementalGroupsPolicy", ("Merge", "Strict"))

_SYSCTL = _struct(
    "Sysctl",
    "A kernel parameter.",
    Field("name", 1, STRING, omitempty=False),
    Field("value", 2, STRING, omitempty=False),
)

_POD_SECURITY_CONTEXT = _struct(
    "PodSecurityContext",
    "The security settings of all containers of a pod.",
    Field("seLinuxOptions", 1, SE_LINUX_OPTIONS, "The labels of SELinux.", pointer=True),
    Field("windowsOptions", 8, WINDOWS_SECURITY_CONTEXT_OPTIONS, "The settings for Windows.", pointer=True),
    Field("runAsUser", 2, INT64, "The user id of the first process of each container.", pointer=True),
    Field("runAsGroup", 6, INT64, "The group id of the first process of each container.", pointer=True),
    Field("runAsNonRoot", 3, BOOL, "True to refuse to run as root.", pointer=True),
    Field("supplementalGroups", 4, ListOf(INT64), "Further group ids of the first process."),
    Field("supplementalGroupsPolicy", 12, _SUPPLEMENTAL_GROUPS_POLICY, pointer=True),
    Field("fsGroup", 5, INT64, "The group id that owns the volumes.", pointer=True),
    Field("sysctls", 7, ListOf(_SYSCTL), "The kernel parameters."),
    Field("fsGroupChangePolicy", 9, _POD_FS_GROUP_CHANGE_POLICY, pointer=True),
    Field("seccompProfile", 10, SECCOMP_PROFILE, "The seccomp profile.", pointer=True),
    Field("appArmorProfile", 11, APP_ARMOR_PROFILE, "The AppArmor profile.", pointer=True),
    Field("seLinuxChangePolicy", 13, String("v1.PodSELinuxChangePolicy"), pointer=True),
)

_HOST_ALIAS = _struct(
    "HostAlias",
    "A line of the hosts file of the pod.",
    Field("ip", 1, STRING, "The address.", omitempty=False),
    Field("hostnames", 2, STRINGS, "The host names of the address."),
)

_POD_DNS_CONFIG_OPTION = _struct(
    "PodDNSConfigOption",
    "An option of the DNS resolver.",
    Field("name", 1, STRING),
    Field("value", 2, STRING, pointer=True),
)

_POD_DNS_CONFIG = _struct(
    "PodDNSConfig",
    "The settings of the DNS resolver of a pod.",
    Field("nameservers", 1, STRINGS),
    Field("searches", 2, STRINGS),
    Field("options", 3, ListOf(_POD_DNS_CONFIG_OPTION)),
)

_POD_READINESS_GATE = _struct(
    "PodReadinessGate",
    "A condition that must be true before a pod is ready.",
    Field("conditionType", 1, String("v1.PodConditionType"), "The type of the condition.", omitempty=False),
)

_POD_OS = _struct(
    "PodOS",
    "The operating system of a pod.",
    Field("name", 1, String("v1.OSName"), omitempty=False),
)

_POD_SCHEDULING_GATE = _struct(
    "PodSchedulingGate",
    "A gate that must be removed before a pod is scheduled.",
    Field("name", 1, STRING, omitempty=False),
)

_POD_RESOURCE_CLAIM = _struct(
    "PodResourceClaim",
    "A claim for devices that containers of the pod can use.",
    Field("name", 1, STRING, omitempty=False),
    Field("resourceClaimName", 3, STRING, pointer=True),
    Field("resourceClaimTemplateName", 4, STRING, pointer=True),
)

_POD_SCHEDULING_GROUP = _struct(
    "PodSchedulingGroup",
    "The group of pods that are scheduled together.",
    Field("podGroupName", 1, STRING, pointer=True),
    unions=(Union(("podGroupName",)),),
)

_POD_SPEC = _struct(
    "PodSpec",
    "The desired state of a pod.",
    Field(
        "volumes",
        1,
        ListOf(VOLUME),
        "The volumes that containers can mount.",
        keys=("name",),
        merge_key="name",
        patch_strategy="merge,retainKeys",
    ),
    Field(
        "initContainers",
        20,
        ListOf(CONTAINER),
        "Containers that run one after the other before the others start.",
        keys=("name",),
        merge_key="name",
    ),
    Field(
        "containers",
        2,
        ListOf(CONTAINER),
        "The containers, which start together.",
        omitempty=False,
        keys=("name",),
        merge_key="name",
    ),
    Field(
        "ephemeralContainers",
        34,
        ListOf(EPHEMERAL_CONTAINER),
        "Containers for debugging, which are added with the ephemeralcontainers subresource.",
        keys=("name",),
        merge_key="name",
    ),
    Field("restartPolicy", 3, _RESTART_POLICY, "Always, OnFailure or Never: when ended containers are restarted."),
    Field(
        "terminationGracePeriodSeconds",
        4,
        INT64,
        "The time that containers have to end after they are asked to.",
        pointer=True,
    ),
    Field("activeDeadlineSeconds", 5, INT64, "The time after which a pod that still runs fails.", pointer=True),
    Field("dnsPolicy", 6, _DNS_POLICY, "The source of the DNS settings."),
    Field("nodeSelector", 7, STRING_MAP, "The labels that a node must have.", map_type="atomic"),
    Field("serviceAccountName", 8, STRING, "The service account of the pod."),
    Field("serviceAccount", 9, STRING, "Deprecated: use serviceAccountName."),
    Field("automountServiceAccountToken", 21, BOOL, "False to mount no token of the service account.", pointer=True),
    Field("nodeName", 10, STRING, "The node on which the pod runs. Set by the scheduler."),
    Field("hostNetwork", 11, BOOL, "True to use the network of the node."),
    Field("hostPID", 12, BOOL, "True to see the processes of the node."),
    Field("hostIPC", 13, BOOL, "True to use the inter-process communication of the node."),
    Field("shareProcessNamespace", 27, BOOL, "True if containers see each other's processes.", pointer=True),
    Field("securityContext", 14, _POD_SECURITY_CONTEXT, "The security settings of all containers.", pointer=True),
    Field(
        "imagePullSecrets",
        15,
        ListOf(LOCAL_OBJECT_REFERENCE),
        "The Secrets with credentials for image registries.",
        keys=("name",),
        merge_key="name",
    ),
    Field("hostname", 16, STRING, "The host name of the pod."),
    Field("subdomain", 17, STRING, "The subdomain of the pod's host name."),
    Field("affinity", 18, AFFINITY, "The constraints on the placement of the pod.", pointer=True),
    Field("schedulerName", 19, STRING, "The scheduler of the pod."),
    Field("tolerations", 22, ListOf(TOLERATION), "The taints that the pod tolerates."),
    Field("hostAliases", 23, ListOf(_HOST_ALIAS), "Lines of the pod's hosts file.", keys=("ip",), merge_key="ip"),
    Field("priorityClassName", 24, STRING, "The name of the priority class."),
    Field("priority", 25, INT32, "The priority, from the priority class.", pointer=True),
    Field("dnsConfig", 26, _POD_DNS_CONFIG, "DNS settings besides those of dnsPolicy.", pointer=True),
    Field("readinessGates", 28, ListOf(_POD_READINESS_GATE), "Conditions that must be true before the pod is ready."),
    Field("runtimeClassName", 29, STRING, "The name of the runtime class.", pointer=True),
    Field("enableServiceLinks", 30, BOOL, "False to set no environment variables for services.", pointer=True),
    Field(
        "preemptionPolicy", 31, PREEMPTION_POLICY, "Never, or PreemptLowerPriority to evict other pods.", pointer=True
    ),
    Field("overhead", 32, RESOURCE_LIST, "The resources that the runtime needs for the pod."),
    Field(
        "topologySpreadConstraints",
        33,
        ListOf(TOPOLOGY_SPREAD_CONSTRAINT),
        "Rules that spread pods over the cluster.",
        keys=("topologyKey", "whenUnsatisfiable"),
        merge_key="topologyKey",
    ),
    Field("setHostnameAsFQDN", 35, BOOL, "True if the host name is the full domain name.", pointer=True),
    Field("os", 36, _POD_OS, "The operating system of the containers.", pointer=True),
    Field("hostUsers", 37, BOOL, "False to run in a user namespace of its own.", pointer=True),
    Field(
        "schedulingGates",
        38,
        ListOf(_POD_SCHEDULING_GATE),
        "Gates that must be removed before the pod is scheduled.",
        keys=("name",),
        merge_key="name",
    ),
    Field(
        "resourceClaims",
        39,
        ListOf(_POD_RESOURCE_CLAIM),
        "The claims for devices.",
        keys=("name",),
        merge_key="name",
        patch_strategy="merge,retainKeys",
    ),
    Field("resources", 40, RESOURCE_REQUIREMENTS, "The resources of all containers together.", pointer=True),
    Field("hostnameOverride", 41, STRING, "The host name that the pod sees.", pointer=True),
    Field("schedulingGroup", 43, _POD_SCHEDULING_GROUP, "The group with which the pod is scheduled.", pointer=True),
)

POD_FIELDS = (
    Field("spec", 2, _POD_SPEC, "The desired state of the pod."),
    Field("status", 3, POD_STATUS, "The observed state of the pod. Set by the kubelet."),
)

POD_TEMPLATE_SPEC = _struct(
    "PodTemplateSpec",
    "The metadata and the spec of the pods that a controller creates.",
    Field("metadata", 1, OBJECT_META, "The labels and annotations of the pods."),
    Field("spec", 2, _POD_SPEC, "The desired state of the pods."),
)

POD_TEMPLATE_FIELDS = (Field("template", 2, POD_TEMPLATE_SPEC),)

BINDING_FIELDS = (Field("target", 2, OBJECT_REFERENCE, omitempty=False),)
