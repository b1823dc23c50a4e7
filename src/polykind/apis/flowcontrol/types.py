"""Kinds of the flowcontrol.apiserver.k8s.io group."""

from __future__ import annotations

from polykind.apis.machinery.kinds import Kind, Subresource
from polykind.apis.machinery.structs import GroupVersion
from polykind.apis.machinery.type_tables import type_table

FLOWCONTROL_V1 = GroupVersion(
    "flowcontrol.apiserver.k8s.io", "v1", type_table("flowcontrol", "v1"), group_priority=16100, version_priority=21
)

FLOW_SCHEMA = Kind(
    FLOWCONTROL_V1,
    "FlowSchema",
    columns="polykind.apis.flowcontrol.columns:FLOW_SCHEMA",
    subresources=(Subresource("status"),),
    strategy="polykind.strategies.flowcontrol.strategy:FlowSchemaStrategy",
)

PRIORITY_LEVEL_CONFIGURATION = Kind(
    FLOWCONTROL_V1,
    "PriorityLevelConfiguration",
    columns="polykind.apis.flowcontrol.columns:PRIORITY_LEVEL_CONFIGURATION",
    subresources=(Subresource("status"),),
    strategy="polykind.strategies.flowcontrol.strategy:PriorityLevelStrategy",
)

KINDS = (
    FLOW_SCHEMA,
    PRIORITY_LEVEL_CONFIGURATION,
)
