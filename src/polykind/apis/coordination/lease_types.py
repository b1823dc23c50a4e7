"""The fields of Leases."""

from __future__ import annotations

from polykind.apis.coordination.types import COORDINATION_V1
from polykind.apis.machinery.structs import Field
from polykind.apis.machinery.value_types import INT32, MICRO_TIME, STRING, String

_struct = COORDINATION_V1.struct


_LEASE_SPEC = _struct(
    "LeaseSpec",
    "",
    Field("holderIdentity", 1, STRING, pointer=True),
    Field("leaseDurationSeconds", 2, INT32, pointer=True),
    Field("acquireTime", 3, MICRO_TIME, pointer=True),
    Field("renewTime", 4, MICRO_TIME, pointer=True),
    Field("leaseTransitions", 5, INT32, pointer=True),
    Field("strategy", 6, String("v1.CoordinatedLeaseStrategy"), pointer=True),
    Field("preferredHolder", 7, STRING, pointer=True),
)

LEASE_FIELDS = (Field("spec", 2, _LEASE_SPEC, "The desired state."),)
