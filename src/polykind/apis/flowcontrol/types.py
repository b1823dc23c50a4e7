"""Kinds of the flowcontrol.apiserver.k8s.io group."""

from __future__ import annotations

from polykind.apis.machinery.kinds import Kind, Subresource
from polykind.apis.machinery.structs import GroupVersion

FLOWCONTROL_V1 = GroupVersion(
    "flowcontrol.apiserver.k8s.io", "v1", "io.k8s.api.flowcontrol.v1", group_priority=16100, version_priority=21
)

FLOW_SCHEMA = Kind(
    FLOWCONTROL_V1,
    "FlowSchema",
    "Rules that assign requests to a priority level.",
    fields_in="polykind.apis.flowcontrol.flow_schema_types:FLOW_SCHEMA_FIELDS",
    columns="polykind.apis.flowcontrol.columns:FLOW_SCHEMA",
    subresources=(Subresource("status"),),
    strategy="polykind.strategies.flowcontrol.strategy:FlowSchemaStrategy",
)

PRIORITY_LEVEL_CONFIGURATION = Kind(
    FLOWCONTROL_V1,
    "PriorityLevelConfiguration",
    "The share of the server's concurrency that one class of requests gets.",
    fields_in="polykind.apis.flowcontrol.priority_level_types:PRIORITY_LEVEL_CONFIGURATION_FIELDS",
    columns="polykind.apis.flowcontrol.columns:PRIORITY_LEVEL_CONFIGURATION",
    subresources=(Subresource("status"),),
    strategy="polykind.strategies.flowcontrol.strategy:PriorityLevelStrategy",
)

KINDS = (
    FLOW_SCHEMA,
    PRIORITY_LEVEL_CONFIGURATION,
)
