"""The fields of Leases."""

from __future__ import annotations

from polykind.apis.coordination.types import COORDINATION_V1
from polykind.apis.machinery.structs import Field
from polykind.apis.machinery.value_types import INT32, MICRO_TIME, STRING, String

_struct = COORDINATION_V1.struct


_LEASE_SPEC = _struct(
    "LeaseSpec",
    "The holder and the times of a lease.",
    Field("holderIdentity", 1, STRING, "The holder of the lease.", pointer=True),
    Field("leaseDurationSeconds", 2, INT32, "The time for which the lease is valid after its renewal.", pointer=True),
    Field("acquireTime", 3, MICRO_TIME, "The time at which the holder acquired the lease.", pointer=True),
    Field("renewTime", 4, MICRO_TIME, "The time of the last renewal.", pointer=True),
    Field("leaseTransitions", 5, INT32, "The number of changes of the holder.", pointer=True),
    Field("strategy", 6, String("v1.CoordinatedLeaseStrategy"), pointer=True),
    Field("preferredHolder", 7, STRING, pointer=True),
)

LEASE_FIELDS = (Field("spec", 2, _LEASE_SPEC, "The desired state."),)
