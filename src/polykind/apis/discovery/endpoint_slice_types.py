"""The fields of EndpointSlices."""

from __future__ import annotations

from polykind.apis.core.container_types import PROTOCOL
from polykind.apis.core.reference_types import OBJECT_REFERENCE
from polykind.apis.discovery.types import DISCOVERY_V1
from polykind.apis.machinery.structs import Field
from polykind.apis.machinery.value_types import BOOL, INT32, STRING, STRING_MAP, STRINGS, ListOf, String

_struct = DISCOVERY_V1.struct

_ADDRESS_TYPE = String("v1.AddressType", ("FQDN", "IPv4", "IPv6"))

_ENDPOINT_CONDITIONS = _struct(
    "EndpointConditions",
    "The state of an endpoint.",
    Field("ready", 1, BOOL, pointer=True),
    Field("serving", 2, BOOL, pointer=True),
    Field("terminating", 3, BOOL, pointer=True),
)

_FOR_ZONE = _struct(
    "ForZone",
    "A zone whose clients should use an endpoint.",
    Field("name", 1, STRING, omitempty=False),
)

_FOR_NODE = _struct(
    "ForNode",
    "A node whose clients should use an endpoint.",
    Field("name", 1, STRING, omitempty=False),
)

_ENDPOINT_HINTS = _struct(
    "EndpointHints",
    "The clients that should use an endpoint.",
    Field("forZones", 1, ListOf(_FOR_ZONE)),
    Field("forNodes", 2, ListOf(_FOR_NODE)),
)

_ENDPOINT = _struct(
    "Endpoint",
    "A network endpoint, usually a pod.",
    Field("addresses", 1, STRINGS, "The addresses of the endpoint.", omitempty=False, list_type="set"),
    Field("conditions", 2, _ENDPOINT_CONDITIONS, "The state of the endpoint."),
    Field("hostname", 3, STRING, "The host name of the endpoint.", pointer=True),
    Field("targetRef", 4, OBJECT_REFERENCE, "The object behind the endpoint.", pointer=True),
    Field("deprecatedTopology", 5, STRING_MAP),
    Field("nodeName", 6, STRING, "The node of the endpoint.", pointer=True),
    Field("zone", 7, STRING, "The zone of the endpoint.", pointer=True),
    Field("hints", 8, _ENDPOINT_HINTS, "The clients that should use the endpoint.", pointer=True),
)

_ENDPOINT_PORT = _struct(
    "EndpointPort",
    "A port of endpoints.",
    Field("name", 1, STRING, "The name of the port.", pointer=True),
    Field("protocol", 2, PROTOCOL, "TCP, UDP or SCTP.", pointer=True),
    Field("port", 3, INT32, "The number of the port.", pointer=True),
    Field("appProtocol", 4, STRING, "The application protocol of the port.", pointer=True),
    atomic=True,
)

ENDPOINT_SLICE_FIELDS = (
    Field("addressType", 4, _ADDRESS_TYPE, "IPv4, IPv6 or FQDN.", omitempty=False),
    Field("endpoints", 2, ListOf(_ENDPOINT), "The endpoints.", omitempty=False, required=False),
    Field("ports", 3, ListOf(_ENDPOINT_PORT), "The ports of every endpoint.", omitempty=False, required=False),
)
