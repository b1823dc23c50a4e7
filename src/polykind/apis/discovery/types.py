"""The kind of the discovery.k8s.io group: EndpointSlice."""

from __future__ import annotations

from polykind.apis.machinery.kinds import Columns, Kind
from polykind.apis.machinery.structs import GroupVersion
from polykind.apis.machinery.type_tables import type_table

DISCOVERY_V1 = GroupVersion(
    "discovery.k8s.io", "v1", type_table("discovery", "v1"), group_priority=16200, version_priority=15
)


def _columns(kind: Kind) -> Columns:
    from polykind.apis.discovery.columns import COLUMNS

    return COLUMNS[kind]


ENDPOINT_SLICE = Kind(
    DISCOVERY_V1,
    "EndpointSlice",
    columns=_columns,
    namespaced=True,
    strategy="polykind.strategies.discovery.strategy:EndpointSliceStrategy",
)

KINDS = (ENDPOINT_SLICE,)
