"""Who may do what: roles, and who has them."""

from __future__ import annotations

from polykind.apis.machinery.fields import STRING, STRINGS, Field, ListOf, Struct
from polykind.apis.meta.types import LABEL_SELECTOR, OBJECT_META, TYPE_META

_POLICY_RULE = Struct(
    "v1.PolicyRule",
    (
        Field("verbs", STRINGS, 1, omitempty=False),
        Field("apiGroups", STRINGS, 2, seen=True),
        Field("resources", STRINGS, 3, seen=True),
        Field("resourceNames", STRINGS, 4, seen=True),
        Field("nonResourceURLs", STRINGS, 5, seen=True),
    ),
)

_SUBJECT = Struct(
    "v1.Subject",
    (
        Field("kind", STRING, 1, omitempty=False),
        Field("apiGroup", STRING, 2),
        Field("name", STRING, 3, omitempty=False),
        Field("namespace", STRING, 4),
    ),
)

_ROLE_REF = Struct(
    "v1.RoleRef",
    (
        Field("apiGroup", STRING, 1, omitempty=False),
        Field("kind", STRING, 2, omitempty=False),
        Field("name", STRING, 3, omitempty=False),
    ),
)

_AGGREGATION_RULE = Struct("v1.AggregationRule", (Field("clusterRoleSelectors", ListOf(LABEL_SELECTOR), 1),))


def _stored(kind: str, *fields: Field) -> Struct:
    return Struct(f"v1.{kind}", (*TYPE_META, Field("metadata", OBJECT_META, 1), *fields), kind=kind, version="v1")


def _role(kind: str, *more: Field) -> Struct:
    return _stored(kind, Field("rules", ListOf(_POLICY_RULE), 2, omitempty=False), *more)


def _binding(kind: str) -> Struct:
    return _stored(kind, Field("subjects", ListOf(_SUBJECT), 2), Field("roleRef", _ROLE_REF, 3, omitempty=False))


ROLE = _role("Role")
CLUSTER_ROLE = _role("ClusterRole", Field("aggregationRule", _AGGREGATION_RULE, 3, pointer=True))
ROLE_BINDING = _binding("RoleBinding")
CLUSTER_ROLE_BINDING = _binding("ClusterRoleBinding")
