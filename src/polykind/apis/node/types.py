"""The kind of the node.k8s.io group: RuntimeClass."""

from __future__ import annotations

from polykind.apis.machinery.kinds import Kind
from polykind.apis.machinery.structs import GroupVersion
from polykind.apis.machinery.type_tables import type_table

NODE_V1 = GroupVersion("node.k8s.io", "v1", type_table("node", "v1"), group_priority=16300, version_priority=15)

RUNTIME_CLASS = Kind(
    NODE_V1,
    "RuntimeClass",
    columns="polykind.apis.node.columns:RUNTIME_CLASS",
    plural="runtimeclasses",
    strategy="polykind.strategies.node.strategy:RuntimeClassStrategy",
)

KINDS = (RUNTIME_CLASS,)
