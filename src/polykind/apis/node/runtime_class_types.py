"""The fields of RuntimeClasses."""

from __future__ import annotations

from polykind.apis.core.affinity_types import TOLERATION
from polykind.apis.machinery.structs import Field
from polykind.apis.machinery.value_types import RESOURCE_LIST, STRING, STRING_MAP, ListOf
from polykind.apis.node.types import NODE_V1

_struct = NODE_V1.struct


_OVERHEAD = _struct(
    "Overhead",
    "The resources that a runtime needs for each pod.",
    Field("podFixed", 1, RESOURCE_LIST),
)

_SCHEDULING = _struct(
    "Scheduling",
    "The nodes that support a runtime.",
    Field("nodeSelector", 1, STRING_MAP, map_type="atomic"),
    Field("tolerations", 2, ListOf(TOLERATION)),
)

RUNTIME_CLASS_FIELDS = (
    Field("handler", 2, STRING, omitempty=False),
    Field("overhead", 3, _OVERHEAD, pointer=True),
    Field("scheduling", 4, _SCHEDULING, pointer=True),
)
