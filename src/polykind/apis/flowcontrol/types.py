"""Kinds of the flowcontrol.apiserver.k8s.io group."""

from __future__ import annotations

from polykind.apis.machinery.kinds import Columns, Kind, Subresource
from polykind.apis.machinery.structs import GroupVersion
from polykind.apis.machinery.type_tables import type_table

FLOWCONTROL_V1 = GroupVersion(
    "flowcontrol.apiserver.k8s.io", "v1", type_table("flowcontrol", "v1"), group_priority=16100, version_priority=21
)


def _columns(kind: Kind) -> Columns:
    from polykind.apis.flowcontrol.columns import COLUMNS

    return COLUMNS[kind]


FLOW_SCHEMA = Kind(
    FLOWCONTROL_V1,
    "FlowSchema",
    columns=_columns,
    subresources=(Subresource("status"),),
    strategy="polykind.strategies.flowcontrol.strategy:FlowSchemaStrategy",
)

PRIORITY_LEVEL_CONFIGURATION = Kind(
    FLOWCONTROL_V1,
    "PriorityLevelConfiguration",
    columns=_columns,
    subresources=(Subresource("status"),),
    strategy="polykind.strategies.flowcontrol.strategy:PriorityLevelStrategy",
)

KINDS = (
    FLOW_SCHEMA,
    PRIORITY_LEVEL_CONFIGURATION,
)
