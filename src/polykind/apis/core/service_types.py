"""The fields of Services and Endpoints."""

from __future__ import annotations

from polykind.apis.core.reference_types import OBJECT_REFERENCE
from polykind.apis.core.types import CORE_V1
from polykind.apis.machinery.structs import Field
from polykind.apis.machinery.value_types import BOOL, INT32, INT_OR_STRING, STRING, STRING_MAP, STRINGS, ListOf, String
from polykind.apis.meta.types import CONDITION

_struct = CORE_V1.struct

_IP_FAMILY = String("v1.IPFamily", ("", "IPv4", "IPv6"))
_IP_FAMILY_POLICY = String("v1.IPFamilyPolicy", ("PreferDualStack", "RequireDualStack", "SingleStack"))
_PROTOCOL = String("v1.Protocol", ("SCTP", "TCP", "UDP"))
_SERVICE_AFFINITY = String("v1.ServiceAffinity", ("ClientIP", "None"))
_SERVICE_EXTERNAL_TRAFFIC_POLICY = String("v1.ServiceExternalTrafficPolicy", ("Cluster", "Local"))
_SERVICE_INTERNAL_TRAFFIC_POLICY = String("v1.ServiceInternalTrafficPolicy", ("Cluster", "Local"))
_SERVICE_TYPE = String("v1.ServiceType", ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort"))

_SERVICE_PORT = _struct(
    "ServicePort",
    "",
    Field("name", 1, STRING),
    Field("protocol", 2, _PROTOCOL, default="TCP"),
    Field("appProtocol", 6, STRING, pointer=True),
    Field("port", 3, INT32, omitempty=False),
    Field("targetPort", 4, INT_OR_STRING),
    Field("nodePort", 5, INT32),
)

_CLIENT_IP_CONFIG = _struct(
    "ClientIPConfig",
    "",
    Field("timeoutSeconds", 1, INT32, pointer=True),
)

_SESSION_AFFINITY_CONFIG = _struct(
    "SessionAffinityConfig",
    "",
    Field("clientIP", 1, _CLIENT_IP_CONFIG, pointer=True),
)

_SERVICE_SPEC = _struct(
    "ServiceSpec",
    "",
    Field("ports", 1, ListOf(_SERVICE_PORT), keys=("port", "protocol"), merge_key="port"),
    Field("selector", 2, STRING_MAP, map_type="atomic"),
    Field("clusterIP", 3, STRING),
    Field("clusterIPs", 18, STRINGS),
    Field("type", 4, _SERVICE_TYPE),
    Field("externalIPs", 5, STRINGS),
    Field("sessionAffinity", 7, _SERVICE_AFFINITY),
    Field("loadBalancerIP", 8, STRING),
    Field("loadBalancerSourceRanges", 9, STRINGS),
    Field("externalName", 10, STRING),
    Field("externalTrafficPolicy", 11, _SERVICE_EXTERNAL_TRAFFIC_POLICY),
    Field("healthCheckNodePort", 12, INT32),
    Field("publishNotReadyAddresses", 13, BOOL),
    Field("sessionAffinityConfig", 14, _SESSION_AFFINITY_CONFIG, pointer=True),
    Field("ipFamilies", 19, ListOf(_IP_FAMILY)),
    Field("ipFamilyPolicy", 17, _IP_FAMILY_POLICY, pointer=True),
    Field("allocateLoadBalancerNodePorts", 20, BOOL, pointer=True),
    Field("loadBalancerClass", 21, STRING, pointer=True),
    Field("internalTrafficPolicy", 22, _SERVICE_INTERNAL_TRAFFIC_POLICY, pointer=True),
    Field("trafficDistribution", 23, STRING, pointer=True),
)

_PORT_STATUS = _struct(
    "PortStatus",
    "",
    Field("port", 1, INT32, omitempty=False),
    Field("protocol", 2, _PROTOCOL, omitempty=False),
    Field("error", 3, STRING, pointer=True),
)

_LOAD_BALANCER_INGRESS = _struct(
    "LoadBalancerIngress",
    "",
    Field("ip", 1, STRING),
    Field("hostname", 2, STRING),
    Field("ipMode", 3, String("v1.LoadBalancerIPMode"), pointer=True),
    Field("ports", 4, ListOf(_PORT_STATUS)),
)

_LOAD_BALANCER_STATUS = _struct(
    "LoadBalancerStatus",
    "",
    Field("ingress", 1, ListOf(_LOAD_BALANCER_INGRESS)),
)

_SERVICE_STATUS = _struct(
    "ServiceStatus",
    "",
    Field("loadBalancer", 1, _LOAD_BALANCER_STATUS),
    Field("conditions", 2, ListOf(CONDITION), keys=("type",), merge_key="type"),
)

SERVICE_FIELDS = (
    Field("spec", 2, _SERVICE_SPEC, "The desired state."),
    Field("status", 3, _SERVICE_STATUS, "The observed state."),
)

_ENDPOINT_ADDRESS = _struct(
    "EndpointAddress",
    "",
    Field("ip", 1, STRING, omitempty=False),
    Field("hostname", 3, STRING),
    Field("nodeName", 4, STRING, pointer=True),
    Field("targetRef", 2, OBJECT_REFERENCE, pointer=True),
    atomic=True,
)

_ENDPOINT_PORT = _struct(
    "EndpointPort",
    "",
    Field("name", 1, STRING),
    Field("port", 2, INT32, omitempty=False),
    Field("protocol", 3, _PROTOCOL),
    Field("appProtocol", 4, STRING, pointer=True),
    atomic=True,
)

_ENDPOINT_SUBSET = _struct(
    "EndpointSubset",
    "",
    Field("addresses", 1, ListOf(_ENDPOINT_ADDRESS)),
    Field("notReadyAddresses", 2, ListOf(_ENDPOINT_ADDRESS)),
    Field("ports", 3, ListOf(_ENDPOINT_PORT)),
)

ENDPOINTS_FIELDS = (Field("subsets", 2, ListOf(_ENDPOINT_SUBSET)),)
