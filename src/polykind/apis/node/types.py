"""The kind of the node.k8s.io group: RuntimeClass."""

from __future__ import annotations

from polykind.apis.machinery.kinds import Columns, Kind
from polykind.apis.machinery.structs import GroupVersion
from polykind.apis.machinery.type_tables import type_table

NODE_V1 = GroupVersion("node.k8s.io", "v1", type_table("node", "v1"), group_priority=16300, version_priority=15)


def _columns(kind: Kind) -> Columns:
    from polykind.apis.node.columns import COLUMNS

    return COLUMNS[kind]


RUNTIME_CLASS = Kind(
    NODE_V1,
    "RuntimeClass",
    columns=_columns,
    plural="runtimeclasses",
    strategy="polykind.strategies.node.strategy:RuntimeClassStrategy",
)

KINDS = (RUNTIME_CLASS,)
