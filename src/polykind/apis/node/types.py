"""The kind of the node.k8s.io group: RuntimeClass."""

from __future__ import annotations

from polykind.apis.machinery.kinds import Kind
from polykind.apis.machinery.structs import GroupVersion

NODE_V1 = GroupVersion("node.k8s.io", "v1", "io.k8s.api.node.v1", group_priority=16300, version_priority=15)

RUNTIME_CLASS = Kind(
    NODE_V1,
    "RuntimeClass",
    "A container runtime that pods can choose.",
    fields_in="polykind.apis.node.runtime_class_types:RUNTIME_CLASS_FIELDS",
    columns="polykind.apis.node.columns:RUNTIME_CLASS",
    plural="runtimeclasses",
    strategy="polykind.strategies.node.strategy:RuntimeClassStrategy",
)

KINDS = (RUNTIME_CLASS,)
