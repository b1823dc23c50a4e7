"""Namespace, Service, and the Scale that stands for an object's replicas."""

from __future__ import annotations

from polykind.apis.machinery.fields import (
    BOOL,
    INT32,
    STRING,
    STRING_MAP,
    STRINGS,
    TIME,
    Field,
    IntOrString,
    ListOf,
    String,
    Struct,
)
from polykind.apis.meta.types import OBJECT_META, TYPE_META

NAMESPACE_CONDITION = Struct(
    "v1.NamespaceCondition",
    (
        Field("type", String("v1.NamespaceConditionType"), 1, omitempty=False),
        Field("status", String("v1.ConditionStatus"), 2, omitempty=False),
        Field("lastTransitionTime", TIME, 4),
        Field("reason", STRING, 5),
        Field("message", STRING, 6),
    ),
)

NAMESPACE = Struct(
    "v1.Namespace",
    (
        *TYPE_META,
        Field("metadata", OBJECT_META, 1),
        Field("spec", Struct("v1.NamespaceSpec", (Field("finalizers", ListOf(String("v1.FinalizerName")), 1),)), 2),
        Field(
            "status",
            Struct(
                "v1.NamespaceStatus",
                (
                    Field("phase", String("v1.NamespacePhase"), 1),
                    Field("conditions", ListOf(NAMESPACE_CONDITION), 2),
                ),
            ),
            3,
        ),
    ),
    kind="Namespace",
    version="v1",
)

SERVICE_PORT = Struct(
    "v1.ServicePort",
    (
        Field("name", STRING, 1),
        Field("protocol", String("v1.Protocol"), 2),
        Field("appProtocol", STRING, 6, pointer=True),
        Field("port", INT32, 3, omitempty=False),
        Field("targetPort", IntOrString("intstr.IntOrString"), 4),
        Field("nodePort", INT32, 5),
    ),
)

SERVICE_SPEC = Struct(
    "v1.ServiceSpec",
    (
        Field("ports", ListOf(SERVICE_PORT), 1),
        Field("selector", STRING_MAP, 2),
        Field("clusterIP", STRING, 3),
        Field("clusterIPs", STRINGS, 18),
        Field("type", String("v1.ServiceType"), 4),
        Field("externalIPs", STRINGS, 5),
        Field("sessionAffinity", String("v1.ServiceAffinity"), 7),
        Field("loadBalancerIP", STRING, 8),
        Field("loadBalancerSourceRanges", STRINGS, 9),
        Field("externalName", STRING, 10),
        Field("externalTrafficPolicy", String("v1.ServiceExternalTrafficPolicy"), 11),
        Field("healthCheckNodePort", INT32, 12),
        Field("publishNotReadyAddresses", BOOL, 13),
        Field("ipFamilies", ListOf(String("v1.IPFamily")), 19),
        Field("ipFamilyPolicy", String("v1.IPFamilyPolicy"), 17, pointer=True),
        Field("allocateLoadBalancerNodePorts", BOOL, 20, pointer=True),
        Field("loadBalancerClass", STRING, 21, pointer=True),
        Field("internalTrafficPolicy", String("v1.ServiceInternalTrafficPolicy"), 22, pointer=True),
        Field("trafficDistribution", STRING, 23, pointer=True),
    ),
)

SERVICE = Struct(
    "v1.Service",
    (
        *TYPE_META,
        Field("metadata", OBJECT_META, 1),
        Field("spec", SERVICE_SPEC, 2),
        Field("status", Struct("v1.ServiceStatus", (Field("loadBalancer", Struct("v1.LoadBalancerStatus"), 1),)), 3),
    ),
    kind="Service",
    version="v1",
)
"""Without what only a cluster's network fills in."""

SCALE = Struct(
    "v1.Scale",
    (
        *TYPE_META,
        Field("metadata", OBJECT_META, 1),
        Field("spec", Struct("v1.ScaleSpec", (Field("replicas", INT32, 1),)), 2),
        Field(
            "status",
            Struct("v1.ScaleStatus", (Field("replicas", INT32, 1, omitempty=False), Field("selector", STRING, 2))),
            3,
        ),
    ),
    kind="Scale",
    version="v1",
)
