"""The kind of the scheduling.k8s.io group: PriorityClass."""

from __future__ import annotations

from polykind.apis.machinery.kinds import Kind
from polykind.apis.machinery.structs import GroupVersion

SCHEDULING_V1 = GroupVersion(
    "scheduling.k8s.io", "v1", "io.k8s.api.scheduling.v1", group_priority=16600, version_priority=15
)

PRIORITY_CLASS = Kind(
    SCHEDULING_V1,
    "PriorityClass",
    "A name for a scheduling priority.",
    fields_in="polykind.apis.scheduling.priority_class_types:PRIORITY_CLASS_FIELDS",
    columns="polykind.apis.scheduling.columns:PRIORITY_CLASS",
    plural="priorityclasses",
    short_names=("pc",),
    strategy="polykind.strategies.scheduling.strategy:PriorityClassStrategy",
)

KINDS = (PRIORITY_CLASS,)
