"""The kind of the scheduling.k8s.io group: PriorityClass."""

from __future__ import annotations

from polykind.apis.machinery.kinds import Kind
from polykind.apis.machinery.structs import GroupVersion
from polykind.apis.machinery.type_tables import type_table

SCHEDULING_V1 = GroupVersion(
    "scheduling.k8s.io", "v1", type_table("scheduling", "v1"), group_priority=16600, version_priority=15
)

PRIORITY_CLASS = Kind(
    SCHEDULING_V1,
    "PriorityClass",
    columns="polykind.apis.scheduling.columns:PRIORITY_CLASS",
    plural="priorityclasses",
    short_names=("pc",),
    strategy="polykind.strategies.scheduling.strategy:PriorityClassStrategy",
)

KINDS = (PRIORITY_CLASS,)
