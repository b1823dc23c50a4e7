"""The fields of ServiceCIDRs and IPAddresses."""

from __future__ import annotations

from polykind.apis.machinery.structs import Field
from polykind.apis.machinery.value_types import STRING, STRINGS, ListOf
from polykind.apis.meta.types import CONDITION
from polykind.apis.networking.types import NETWORKING_V1

_struct = NETWORKING_V1.struct


_PARENT_REFERENCE = _struct(
    "ParentReference",
    "A reference to the object that uses an address.",
    Field("group", 1, STRING),
    Field("resource", 2, STRING, required=True),
    Field("namespace", 3, STRING),
    Field("name", 4, STRING, required=True),
)

_IP_ADDRESS_SPEC = _struct(
    "IPAddressSpec",
    "The use of an address.",
    Field("parentRef", 1, _PARENT_REFERENCE, pointer=True, required=True),
)

IP_ADDRESS_FIELDS = (Field("spec", 2, _IP_ADDRESS_SPEC, "The desired state.", required=True),)

_SERVICE_CIDR_SPEC = _struct(
    "ServiceCIDRSpec",
    "The ranges of a ServiceCIDR.",
    Field("cidrs", 1, STRINGS),
)

_SERVICE_CIDR_STATUS = _struct(
    "ServiceCIDRStatus",
    "The observed state of a ServiceCIDR.",
    Field("conditions", 1, ListOf(CONDITION), keys=("type",), merge_key="type"),
)

SERVICE_CIDR_FIELDS = (
    Field("spec", 2, _SERVICE_CIDR_SPEC, "The desired state."),
    Field("status", 3, _SERVICE_CIDR_STATUS, "The observed state."),
)
