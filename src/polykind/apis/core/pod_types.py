"""The fields of Pods, pod templates and Bindings."""

from __future__ import annotations

from polykind.apis.core.affinity_types import AFFINITY, TOLERATION, TOPOLOGY_SPREAD_CONSTRAINT
from polykind.apis.core.container_types import (
    APP_ARMOR_PROFILE,
    CONTAINER,
    EPHEMERAL_CONTAINER,
    RESOURCE_REQUIREMENTS,
    SE_LINUX_OPTIONS,
    SECCOMP_PROFILE,
    WINDOWS_SECURITY_CONTEXT_OPTIONS,
)
from polykind.apis.core.pod_status_types import POD_STATUS
from polykind.apis.core.reference_types import LOCAL_OBJECT_REFERENCE, OBJECT_REFERENCE
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

_struct = CORE_V1.struct

_DNS_POLICY = String("v1.DNSPolicy", ("ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"))
_POD_FS_GROUP_CHANGE_POLICY = String("v1.PodFSGroupChangePolicy", ("Always", "OnRootMismatch"))
_PREEMPTION_POLICY = String("v1.PreemptionPolicy", ("Never", "PreemptLowerPriority"))
_RESTART_POLICY = String("v1.RestartPolicy", ("Always", "Never", "OnFailure"))
_SUPPLEMENTAL_GROUPS_POLICY = String("v1.SupplementalGroupsPolicy", ("Merge", "Strict"))

_SYSCTL = _struct(
    "Sysctl",
    "",
    Field("name", 1, STRING, omitempty=False),
    Field("value", 2, STRING, omitempty=False),
)

_POD_SECURITY_CONTEXT = _struct(
    "PodSecurityContext",
    "",
    Field("seLinuxOptions", 1, SE_LINUX_OPTIONS, pointer=True),
    Field("windowsOptions", 8, WINDOWS_SECURITY_CONTEXT_OPTIONS, pointer=True),
    Field("runAsUser", 2, INT64, pointer=True),
    Field("runAsGroup", 6, INT64, pointer=True),
    Field("runAsNonRoot", 3, BOOL, pointer=True),
    Field("supplementalGroups", 4, ListOf(INT64)),
    Field("supplementalGroupsPolicy", 12, _SUPPLEMENTAL_GROUPS_POLICY, pointer=True),
    Field("fsGroup", 5, INT64, pointer=True),
    Field("sysctls", 7, ListOf(_SYSCTL)),
    Field("fsGroupChangePolicy", 9, _POD_FS_GROUP_CHANGE_POLICY, pointer=True),
    Field("seccompProfile", 10, SECCOMP_PROFILE, pointer=True),
    Field("appArmorProfile", 11, APP_ARMOR_PROFILE, pointer=True),
    Field("seLinuxChangePolicy", 13, String("v1.PodSELinuxChangePolicy"), pointer=True),
)

_HOST_ALIAS = _struct(
    "HostAlias",
    "",
    Field("ip", 1, STRING, omitempty=False),
    Field("hostnames", 2, STRINGS),
)

_POD_DNS_CONFIG_OPTION = _struct(
    "PodDNSConfigOption",
    "",
    Field("name", 1, STRING),
    Field("value", 2, STRING, pointer=True),
)

_POD_DNS_CONFIG = _struct(
    "PodDNSConfig",
    "",
    Field("nameservers", 1, STRINGS),
    Field("searches", 2, STRINGS),
    Field("options", 3, ListOf(_POD_DNS_CONFIG_OPTION)),
)

_POD_READINESS_GATE = _struct(
    "PodReadinessGate",
    "",
    Field("conditionType", 1, String("v1.PodConditionType"), omitempty=False),
)

_POD_OS = _struct(
    "PodOS",
    "",
    Field("name", 1, String("v1.OSName"), omitempty=False),
)

_POD_SCHEDULING_GATE = _struct(
    "PodSchedulingGate",
    "",
    Field("name", 1, STRING, omitempty=False),
)

_POD_RESOURCE_CLAIM = _struct(
    "PodResourceClaim",
    "",
    Field("name", 1, STRING, omitempty=False),
    Field("resourceClaimName", 3, STRING, pointer=True),
    Field("resourceClaimTemplateName", 4, STRING, pointer=True),
)

_POD_SCHEDULING_GROUP = _struct(
    "PodSchedulingGroup",
    "",
    Field("podGroupName", 1, STRING, pointer=True),
    unions=(Union(("podGroupName",)),),
)

_POD_SPEC = _struct(
    "PodSpec",
    "",
    Field("volumes", 1, ListOf(VOLUME), keys=("name",), merge_key="name", patch_strategy="merge,retainKeys"),
    Field("initContainers", 20, ListOf(CONTAINER), keys=("name",), merge_key="name"),
    Field("containers", 2, ListOf(CONTAINER), omitempty=False, keys=("name",), merge_key="name"),
    Field("ephemeralContainers", 34, ListOf(EPHEMERAL_CONTAINER), keys=("name",), merge_key="name"),
    Field("restartPolicy", 3, _RESTART_POLICY),
    Field("terminationGracePeriodSeconds", 4, INT64, pointer=True),
    Field("activeDeadlineSeconds", 5, INT64, pointer=True),
    Field("dnsPolicy", 6, _DNS_POLICY),
    Field("nodeSelector", 7, STRING_MAP, map_type="atomic"),
    Field("serviceAccountName", 8, STRING),
    Field("serviceAccount", 9, STRING),
    Field("automountServiceAccountToken", 21, BOOL, pointer=True),
    Field("nodeName", 10, STRING),
    Field("hostNetwork", 11, BOOL),
    Field("hostPID", 12, BOOL),
    Field("hostIPC", 13, BOOL),
    Field("shareProcessNamespace", 27, BOOL, pointer=True),
    Field("securityContext", 14, _POD_SECURITY_CONTEXT, pointer=True),
    Field("imagePullSecrets", 15, ListOf(LOCAL_OBJECT_REFERENCE), keys=("name",), merge_key="name"),
    Field("hostname", 16, STRING),
    Field("subdomain", 17, STRING),
    Field("affinity", 18, AFFINITY, pointer=True),
    Field("schedulerName", 19, STRING),
    Field("tolerations", 22, ListOf(TOLERATION)),
    Field("hostAliases", 23, ListOf(_HOST_ALIAS), keys=("ip",), merge_key="ip"),
    Field("priorityClassName", 24, STRING),
    Field("priority", 25, INT32, pointer=True),
    Field("dnsConfig", 26, _POD_DNS_CONFIG, pointer=True),
    Field("readinessGates", 28, ListOf(_POD_READINESS_GATE)),
    Field("runtimeClassName", 29, STRING, pointer=True),
    Field("enableServiceLinks", 30, BOOL, pointer=True),
    Field("preemptionPolicy", 31, _PREEMPTION_POLICY, pointer=True),
    Field("overhead", 32, RESOURCE_LIST),
    Field(
        "topologySpreadConstraints",
        33,
        ListOf(TOPOLOGY_SPREAD_CONSTRAINT),
        keys=("topologyKey", "whenUnsatisfiable"),
        merge_key="topologyKey",
    ),
    Field("setHostnameAsFQDN", 35, BOOL, pointer=True),
    Field("os", 36, _POD_OS, pointer=True),
    Field("hostUsers", 37, BOOL, pointer=True),
    Field("schedulingGates", 38, ListOf(_POD_SCHEDULING_GATE), keys=("name",), merge_key="name"),
    Field(
        "resourceClaims",
        39,
        ListOf(_POD_RESOURCE_CLAIM),
        keys=("name",),
        merge_key="name",
        patch_strategy="merge,retainKeys",
    ),
    Field("resources", 40, RESOURCE_REQUIREMENTS, pointer=True),
    Field("hostnameOverride", 41, STRING, pointer=True),
    Field("schedulingGroup", 43, _POD_SCHEDULING_GROUP, pointer=True),
)

POD_FIELDS = (
    Field("spec", 2, _POD_SPEC, "The desired state of the pod."),
    Field("status", 3, POD_STATUS, "The observed state of the pod. Set by the kubelet."),
)

POD_TEMPLATE_SPEC = _struct(
    "PodTemplateSpec",
    "",
    Field("metadata", 1, OBJECT_META),
    Field("spec", 2, _POD_SPEC, "The desired state."),
)

POD_TEMPLATE_FIELDS = (Field("template", 2, POD_TEMPLATE_SPEC),)

BINDING_FIELDS = (Field("target", 2, OBJECT_REFERENCE, omitempty=False),)
