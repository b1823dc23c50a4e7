"""The kind of the coordination.k8s.io group: Lease."""

from __future__ import annotations

from polykind.apis.machinery.kinds import Kind
from polykind.apis.machinery.structs import GroupVersion

COORDINATION_V1 = GroupVersion(
    "coordination.k8s.io", "v1", "io.k8s.api.coordination.v1", group_priority=16500, version_priority=15
)

LEASE = Kind(
    COORDINATION_V1,
    "Lease",
    "A lock that its holder renews, for leader elections and heartbeats.",
    fields_in="polykind.apis.coordination.lease_types:LEASE_FIELDS",
    columns="polykind.apis.coordination.columns:LEASE",
    namespaced=True,
    strategy="polykind.strategies.coordination.strategy:LeaseStrategy",
)

KINDS = (LEASE,)
