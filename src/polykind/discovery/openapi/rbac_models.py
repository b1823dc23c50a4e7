"""Models of roles and of their bindings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from polykind.discovery.openapi.models import Model, listed, many, record, ref, stored, text
from polykind.discovery.openapi.schemas import META

_GROUP: Final = "rbac.authorization.k8s.io"
_V1: Final = "io.k8s.api.rbac.v1."
_RULES: Final = many(ref(f"{_V1}PolicyRule", default={}), "What it allows.")


def _kind(name: str, description: str, *required: str, **properties: Model) -> Mapping[str, Model]:
    return {
        f"{_V1}{name}": stored(description, _GROUP, "v1", name, *required, **properties),
        f"{_V1}{name}List": listed(f"{_V1}{name}", _GROUP, "v1", name),
    }


def _binding(name: str, description: str, roles: str) -> Mapping[str, Model]:
    return _kind(
        name,
        description,
        "roleRef",
        roleRef=ref(f"{_V1}RoleRef", f"The role that is given: {roles}; never changes.", default={}),
        subjects=many(ref(f"{_V1}Subject", default={}), "Who has the role."),
    )


RBAC_MODELS: Final[Mapping[str, Model]] = {
    **_kind("Role", "What is allowed in a namespace, to whom a binding gives it.", rules=_RULES),
    **_kind(
        "ClusterRole",
        "What is allowed in all namespaces or outside of them, to whom a binding gives it.",
        aggregationRule=ref(f"{_V1}AggregationRule", "The roles whose rules are this one's; others are overwritten."),
        rules=_RULES,
    ),
    **_binding("RoleBinding", "Gives a role to users in a namespace.", "one of its namespace, or a ClusterRole"),
    **_binding("ClusterRoleBinding", "Gives a role to users everywhere.", "a ClusterRole"),
    f"{_V1}AggregationRule": record(
        "Which roles another is put together of.",
        clusterRoleSelectors=many(
            ref(f"{META}LabelSelector", default={}), "Any of these selects a role by its labels."
        ),
    ),
    f"{_V1}PolicyRule": record(
        "What may be done with what: resources, or paths that are no resources. A star stands for all.",
        ("verbs",),
        apiGroups=many(text(default=""), "The groups of the resources; the empty one is the core."),
        nonResourceURLs=many(text(default=""), "Paths; a star may be their last part. Only in a ClusterRole."),
        resourceNames=many(text(default=""), "The names of the objects; all of them if there are none."),
        resources=many(text(default=""), "The resources, such as pods, pods/status or */scale."),
        verbs=many(text(default=""), "What may be done."),
    ),
    f"{_V1}RoleRef": {
        **record(
            "A role.",
            ("kind", "name"),
            apiGroup=text("The group of the role.", default=""),
            kind=text("Role or ClusterRole.", default=""),
            name=text("Its name.", default=""),
        ),
        "x-kubernetes-map-type": "atomic",
    },
    f"{_V1}Subject": {
        **record(
            "Who has a role.",
            ("kind", "name"),
            apiGroup=text("The group of the kind; none for service accounts."),
            kind=text("User, Group or ServiceAccount.", default=""),
            name=text("The name.", default=""),
            namespace=text("The namespace of a service account."),
        ),
        "x-kubernetes-map-type": "atomic",
    },
}
