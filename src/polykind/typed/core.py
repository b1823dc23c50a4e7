"""Namespace, and the Scale that stands for an object's replicas."""

from __future__ import annotations

from polykind.typed.kinds import INT32, STRING, TIME, Field, ListOf, String, Struct
from polykind.typed.meta import OBJECT_META, TYPE_META

NAMESPACE_CONDITION = Struct(
    "v1.NamespaceCondition",
    (
        Field("type", String("v1.NamespaceConditionType"), 1, omitempty=False),
        Field("status", String("v1.ConditionStatus"), 2, omitempty=False),
        Field("lastTransitionTime", TIME, 4),
        Field("reason", STRING, 5),
        Field("message", STRING, 6),
    ),
)

NAMESPACE = Struct(
    "v1.Namespace",
    (
        *TYPE_META,
        Field("metadata", OBJECT_META, 1),
        Field("spec", Struct("v1.NamespaceSpec", (Field("finalizers", ListOf(String("v1.FinalizerName")), 1),)), 2),
        Field(
            "status",
            Struct(
                "v1.NamespaceStatus",
                (
                    Field("phase", String("v1.NamespacePhase"), 1),
                    Field("conditions", ListOf(NAMESPACE_CONDITION), 2),
                ),
            ),
            3,
        ),
    ),
    kind="Namespace",
    version="v1",
)

SCALE = Struct(
    "v1.Scale",
    (
        *TYPE_META,
        Field("metadata", OBJECT_META, 1),
        Field("spec", Struct("v1.ScaleSpec", (Field("replicas", INT32, 1),)), 2),
        Field(
            "status",
            Struct("v1.ScaleStatus", (Field("replicas", INT32, 1, omitempty=False), Field("selector", STRING, 2))),
            3,
        ),
    ),
    kind="Scale",
    version="v1",
)
