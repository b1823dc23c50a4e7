"""The kind of the coordination.k8s.io group: Lease."""

from __future__ import annotations

from polykind.apis.machinery.kinds import Columns, Kind
from polykind.apis.machinery.structs import GroupVersion
from polykind.apis.machinery.type_tables import type_table

COORDINATION_V1 = GroupVersion(
    "coordination.k8s.io", "v1", type_table("coordination", "v1"), group_priority=16500, version_priority=15
)


def _columns(kind: Kind) -> Columns:
    from polykind.apis.coordination.columns import COLUMNS

    return COLUMNS[kind]


LEASE = Kind(
    COORDINATION_V1,
    "Lease",
    columns=_columns,
    namespaced=True,
    strategy="polykind.strategies.coordination.strategy:LeaseStrategy",
)

KINDS = (LEASE,)
