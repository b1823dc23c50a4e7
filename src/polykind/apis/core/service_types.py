"""The fields of Services and Endpoints."""

from __future__ import annotations

from polykind.apis.core.container_types import PROTOCOL
from polykind.apis.core.reference_types import OBJECT_REFERENCE
from polykind.apis.core.types import CORE_V1
from polykind.apis.machinery.structs import Field
from polykind.apis.machinery.value_types import BOOL, INT32, INT_OR_STRING, STRING, STRING_MAP, STRINGS, ListOf, String
from polykind.apis.meta.types import CONDITION

_struct = CORE_V1.struct

_IP_FAMILY = String("v1.IPFamily", ("", "IPv4", "IPv6"))
_IP_FAMILY_POLICY = String("v1.IPFamilyPolicy", ("PreferDualStack", "RequireDualStack", "SingleStack"))
_SERVICE_AFFINITY = String("v1.ServiceAffinity", ("ClientIP", "None"))
_SERVICE_EXTERNAL_TRAFFIC_POLICY = String("v1.ServiceExternalTrafficPolicy", ("Cluster", "Local"))
_SERVICE_INTERNAL_TRAFFIC_POLICY = String("v1.ServiceInternalTrafficPolicy", ("Cluster", "Local"))
_SERVICE_TYPE = String("v1.ServiceType", ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort"))

_SERVICE_PORT = _struct(
    "ServicePort",
    "A port of a service.",
    Field("name", 1, STRING, "The name of the port."),
    Field("protocol", 2, PROTOCOL, "TCP, UDP or SCTP.", default="TCP"),
    Field("appProtocol", 6, STRING, "The application protocol of the port.", pointer=True),
    Field("port", 3, INT32, "The port number of the service.", omitempty=False),
    Field("targetPort", 4, INT_OR_STRING, "The number or name of the port of the pods."),
    Field("nodePort", 5, INT32, "The port on every node, for services of type NodePort and LoadBalancer."),
)

_CLIENT_IP_CONFIG = _struct(
    "ClientIPConfig",
    "The session affinity by client address.",
    Field("timeoutSeconds", 1, INT32, pointer=True),
)

_SESSION_AFFINITY_CONFIG = _struct(
    "SessionAffinityConfig",
    "The settings of the session affinity.",
    Field("clientIP", 1, _CLIENT_IP_CONFIG, pointer=True),
)

_SERVICE_SPEC = _struct(
    "ServiceSpec",
    "The desired state of a service.",
    Field("ports", 1, ListOf(_SERVICE_PORT), "The ports of the service.", keys=("port", "protocol"), merge_key="port"),
    Field("selector", 2, STRING_MAP, "The labels of the pods behind the service.", map_type="atomic"),
    Field("clusterIP", 3, STRING, "The virtual address, or None for a headless service."),
    Field("clusterIPs", 18, STRINGS, "The virtual addresses, one for each IP family."),
    Field("type", 4, _SERVICE_TYPE, "The type of the service."),
    Field("externalIPs", 5, STRINGS, "Further addresses at which nodes accept traffic."),
    Field("sessionAffinity", 7, _SERVICE_AFFINITY, "ClientIP to send the same client to the same pod, or None."),
    Field("loadBalancerIP", 8, STRING, "The wanted address of the load balancer. Deprecated."),
    Field("loadBalancerSourceRanges", 9, STRINGS, "The ranges of client addresses that the load balancer accepts."),
    Field("externalName", 10, STRING, "The host name to which a service of type ExternalName refers."),
    Field(
        "externalTrafficPolicy",
        11,
        _SERVICE_EXTERNAL_TRAFFIC_POLICY,
        "Cluster or Local: the pods that receive traffic from outside.",
    ),
    Field("healthCheckNodePort", 12, INT32, "The port of the health checks of the load balancer."),
    Field("publishNotReadyAddresses", 13, BOOL, "True to publish pods that are not ready."),
    Field("sessionAffinityConfig", 14, _SESSION_AFFINITY_CONFIG, "The settings of the session affinity.", pointer=True),
    Field("ipFamilies", 19, ListOf(_IP_FAMILY), "The IP families of the service."),
    Field("ipFamilyPolicy", 17, _IP_FAMILY_POLICY, "SingleStack, PreferDualStack or RequireDualStack.", pointer=True),
    Field(
        "allocateLoadBalancerNodePorts", 20, BOOL, "False to allocate no node ports for a load balancer.", pointer=True
    ),
    Field("loadBalancerClass", 21, STRING, "The class of the load balancer.", pointer=True),
    Field(
        "internalTrafficPolicy",
        22,
        _SERVICE_INTERNAL_TRAFFIC_POLICY,
        "Cluster or Local: the pods that receive traffic from inside.",
        pointer=True,
    ),
    Field("trafficDistribution", 23, STRING, "The preference for near pods.", pointer=True),
)

_PORT_STATUS = _struct(
    "PortStatus",
    "The state of a port of a load balancer.",
    Field("port", 1, INT32, omitempty=False),
    Field("protocol", 2, PROTOCOL, omitempty=False),
    Field("error", 3, STRING, pointer=True),
)

_LOAD_BALANCER_INGRESS = _struct(
    "LoadBalancerIngress",
    "An address at which a load balancer accepts traffic.",
    Field("ip", 1, STRING),
    Field("hostname", 2, STRING),
    Field("ipMode", 3, String("v1.LoadBalancerIPMode"), pointer=True),
    Field("ports", 4, ListOf(_PORT_STATUS)),
)

_LOAD_BALANCER_STATUS = _struct(
    "LoadBalancerStatus",
    "The state of a load balancer.",
    Field("ingress", 1, ListOf(_LOAD_BALANCER_INGRESS)),
)

_SERVICE_STATUS = _struct(
    "ServiceStatus",
    "The observed state of a service.",
    Field("loadBalancer", 1, _LOAD_BALANCER_STATUS, "The state of the load balancer."),
    Field("conditions", 2, ListOf(CONDITION), "The state of the service, by aspect.", keys=("type",), merge_key="type"),
)

SERVICE_FIELDS = (
    Field("spec", 2, _SERVICE_SPEC, "The desired state."),
    Field("status", 3, _SERVICE_STATUS, "The observed state."),
)

_ENDPOINT_ADDRESS = _struct(
    "EndpointAddress",
    "The address of an endpoint.",
    Field("ip", 1, STRING, omitempty=False),
    Field("hostname", 3, STRING),
    Field("nodeName", 4, STRING, pointer=True),
    Field("targetRef", 2, OBJECT_REFERENCE, pointer=True),
    atomic=True,
)

_ENDPOINT_PORT = _struct(
    "EndpointPort",
    "A port of endpoints.",
    Field("name", 1, STRING, "The name of the port."),
    Field("port", 2, INT32, "The number of the port.", omitempty=False),
    Field("protocol", 3, PROTOCOL, "TCP, UDP or SCTP."),
    Field("appProtocol", 4, STRING, "The application protocol of the port.", pointer=True),
    atomic=True,
)

_ENDPOINT_SUBSET = _struct(
    "EndpointSubset",
    "Addresses that have the same ports.",
    Field("addresses", 1, ListOf(_ENDPOINT_ADDRESS)),
    Field("notReadyAddresses", 2, ListOf(_ENDPOINT_ADDRESS)),
    Field("ports", 3, ListOf(_ENDPOINT_PORT)),
)

ENDPOINTS_FIELDS = (Field("subsets", 2, ListOf(_ENDPOINT_SUBSET), "The addresses, by their ports."),)
