"""Kinds of the core group: ConfigMap, Namespace and Service."""

from __future__ import annotations

from functools import partial

from polykind.apis.machinery.columns import AGE, count, value_at
from polykind.apis.machinery.kinds import Kind, Subresource
from polykind.apis.machinery.structs import Field, GroupVersion, Struct
from polykind.apis.machinery.value_types import (
    BOOL,
    BYTES,
    INT32,
    INT_OR_STRING,
    STRING,
    STRING_MAP,
    STRINGS,
    TIME,
    ListOf,
    MapOf,
    String,
)
from polykind.codec.table import Column
from polykind.contract import JsonObject

CORE_V1 = GroupVersion("", "v1", "io.k8s.api.core.v1", group_priority=18000, version_priority=1)
_struct = partial(CORE_V1.struct, publishes_defaults=False)

CONFIG_MAP = Kind(
    CORE_V1,
    "ConfigMap",
    "Configuration that other objects use.",
    Field("immutable", 4, BOOL, "True if the data cannot be changed. Cannot be reset.", pointer=True),
    Field("data", 2, STRING_MAP, "Text values, by keys of alphanumeric characters, '-', '_' or '.'."),
    Field("binaryData", 3, MapOf(BYTES), "Binary values, by keys that are not in `data`."),
    namespaced=True,
    short_names=("cm",),
    columns=(Column("Data", "string", "The number of values", count("data", "binaryData")), AGE),
    strategy="polykind.apis.core.strategy:ConfigMapStrategy",
)

_NAMESPACE_CONDITION = _struct(
    "NamespaceCondition",
    "One aspect of the state of a namespace.",
    Field("type", 1, String("v1.NamespaceConditionType"), "The aspect of the deletion.", omitempty=False),
    Field("status", 2, String("v1.ConditionStatus"), "True, False or Unknown.", omitempty=False),
    Field("lastTransitionTime", 4, TIME, "The time of the last change of the status."),
    Field("reason", 5, STRING, "The reason for the last change, in CamelCase."),
    Field("message", 6, STRING, "A readable explanation."),
)

NAMESPACE = Kind(
    CORE_V1,
    "Namespace",
    "A scope for names.",
    Field(
        "spec",
        2,
        _struct(
            "NamespaceSpec",
            "The desired state of a namespace.",
            Field(
                "finalizers",
                1,
                ListOf(String("v1.FinalizerName")),
                "Finalizers that must be removed before the namespace is removed.",
            ),
        ),
        "The desired state of the namespace.",
    ),
    Field(
        "status",
        3,
        _struct(
            "NamespaceStatus",
            "The observed state of a namespace.",
            Field(
                "phase",
                1,
                String("v1.NamespacePhase"),
                "The phase of the namespace's life.",
                enum=("Active", "Terminating"),
            ),
            Field(
                "conditions",
                2,
                ListOf(_NAMESPACE_CONDITION),
                "The progress of the deletion.",
                list_type="map",
                keys=("type",),
                merge_key="type",
            ),
        ),
        "The observed state of the namespace.",
    ),
    publishes_defaults=False,
    short_names=("ns",),
    without_verbs=("deletecollection",),
    subresources=(Subresource("finalize", ("update",)), Subresource("status")),
    selectable=(".status.phase",),
    columns=(Column("Status", "string", "The phase of the namespace", value_at("status", "phase", default="")), AGE),
    strategy="polykind.apis.core.strategy:NamespaceStrategy",
)

_SERVICE_PORT = _struct(
    "ServicePort",
    "A port of a service.",
    Field("name", 1, STRING, "The name of the port."),
    Field("protocol", 2, String("v1.Protocol"), "TCP, UDP or SCTP.", default="TCP"),
    Field("appProtocol", 6, STRING, "The application protocol of the port.", pointer=True),
    Field("port", 3, INT32, "The port number of the service.", omitempty=False),
    Field("targetPort", 4, INT_OR_STRING, "The number or name of the port of the pods."),
    Field("nodePort", 5, INT32),
)

_SERVICE_SPEC = _struct(
    "ServiceSpec",
    "The desired state of a service.",
    Field(
        "ports",
        1,
        ListOf(_SERVICE_PORT),
        "The ports of the service.",
        list_type="map",
        keys=("port", "protocol"),
        merge_key="port",
    ),
    Field("selector", 2, STRING_MAP, "The labels of the pods behind the service.", map_type="atomic"),
    Field("clusterIP", 3, STRING),
    Field("clusterIPs", 18, STRINGS),
    Field(
        "type",
        4,
        String("v1.ServiceType"),
        "The type of the service.",
        enum=("ClusterIP", "ExternalName", "LoadBalancer", "NodePort"),
    ),
    Field("externalIPs", 5, STRINGS),
    Field("sessionAffinity", 7, String("v1.ServiceAffinity")),
    Field("loadBalancerIP", 8, STRING),
    Field("loadBalancerSourceRanges", 9, STRINGS),
    Field("externalName", 10, STRING, "The host name to which a service of type ExternalName refers."),
    Field("externalTrafficPolicy", 11, String("v1.ServiceExternalTrafficPolicy")),
    Field("healthCheckNodePort", 12, INT32),
    Field("publishNotReadyAddresses", 13, BOOL),
    Field("ipFamilies", 19, ListOf(String("v1.IPFamily"))),
    Field("ipFamilyPolicy", 17, String("v1.IPFamilyPolicy"), pointer=True),
    Field("allocateLoadBalancerNodePorts", 20, BOOL, pointer=True),
    Field("loadBalancerClass", 21, STRING, pointer=True),
    Field("internalTrafficPolicy", 22, String("v1.ServiceInternalTrafficPolicy"), pointer=True),
    Field("trafficDistribution", 23, STRING, pointer=True),
)


def _ports(obj: JsonObject) -> str:
    ports = (obj.get("spec") or {}).get("ports") or []
    return ",".join(f"{p.get('port')}/{p.get('protocol', 'TCP')}" for p in ports) or "<none>"


SERVICE = Kind(
    CORE_V1,
    "Service",
    "A name for a network endpoint; here the location of a webhook.",
    Field("spec", 2, _SERVICE_SPEC, "The desired state of the service."),
    Field(
        "status",
        3,
        _struct(
            "ServiceStatus",
            "The observed state of a service.",
            # The address fields that only a cluster's network assigns are left out.
            Field("loadBalancer", 1, Struct("v1.LoadBalancerStatus")),
        ),
        "The observed state of the service.",
    ),
    publishes_defaults=False,
    namespaced=True,
    short_names=("svc",),
    categories=("all",),
    subresources=(Subresource("status"),),
    selectable=(".spec.clusterIP", ".spec.type"),
    # A storage prefix of its own keeps them apart from the services of a Kubernetes cluster on the same etcd.
    storage_prefix="polykind/services",
    strategy="polykind.apis.core.strategy:ServiceStrategy",
    columns=(
        Column("Type", "string", "The type of the service", value_at("spec", "type", default="")),
        Column(
            "External-Name",
            "string",
            "The host name of an ExternalName service",
            value_at("spec", "externalName", default="<none>"),
        ),
        Column("Port(s)", "string", "The ports of the service", _ports),
        AGE,
    ),
)

KINDS = (CONFIG_MAP, NAMESPACE, SERVICE)
