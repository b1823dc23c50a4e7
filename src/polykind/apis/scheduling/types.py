"""The kind of the scheduling.k8s.io group: PriorityClass."""

from __future__ import annotations

from polykind.apis.machinery.kinds import Columns, Kind
from polykind.apis.machinery.structs import GroupVersion
from polykind.apis.machinery.type_tables import type_table

SCHEDULING_V1 = GroupVersion(
    "scheduling.k8s.io", "v1", type_table("scheduling", "v1"), group_priority=16600, version_priority=15
)


def _columns(kind: Kind) -> Columns:
    from polykind.apis.scheduling.columns import COLUMNS

    return COLUMNS[kind]


PRIORITY_CLASS = Kind(
    SCHEDULING_V1,
    "PriorityClass",
    columns=_columns,
    plural="priorityclasses",
    short_names=("pc",),
    strategy="polykind.strategies.scheduling.strategy:PriorityClassStrategy",
)

KINDS = (PRIORITY_CLASS,)
