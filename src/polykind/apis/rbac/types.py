"""Kinds of role-based access control: roles and their bindings."""

from __future__ import annotations

from collections.abc import Callable

from polykind.apis.machinery.columns import AGE
from polykind.apis.machinery.kinds import Kind
from polykind.apis.machinery.structs import Field, GroupVersion
from polykind.apis.machinery.value_types import STRING, STRINGS, ListOf
from polykind.apis.meta.types import LABEL_SELECTOR
from polykind.codec.table import Column
from polykind.contract import JsonObject

GROUP = "rbac.authorization.k8s.io"
RBAC_V1 = GroupVersion(GROUP, "v1", "io.k8s.api.rbac.v1", group_priority=17000, version_priority=15)
_KNOWN_VERSIONS = ("v1", "v1beta1", "v1alpha1")

_POLICY_RULE = RBAC_V1.struct(
    "PolicyRule",
    "The verbs that are allowed on resources or on other URL paths. * stands for all.",
    Field("verbs", 1, STRINGS, "The allowed verbs.", omitempty=False),
    Field("apiGroups", 2, STRINGS, "The API groups of the resources; empty: the core group.", keep_empty=True),
    Field("resources", 3, STRINGS, "The resources, such as pods, pods/status or */scale.", keep_empty=True),
    Field("resourceNames", 4, STRINGS, "The names of the objects; an empty list allows all.", keep_empty=True),
    Field(
        "nonResourceURLs",
        5,
        STRINGS,
        "URL paths, of which * may be the last part. Only in a ClusterRole.",
        keep_empty=True,
    ),
)

_SUBJECT = RBAC_V1.struct(
    "Subject",
    "A user, a group or a service account to which a role is granted.",
    Field("kind", 1, STRING, "User, Group or ServiceAccount.", omitempty=False),
    Field("apiGroup", 2, STRING, "The API group of the kind; empty for service accounts."),
    Field("name", 3, STRING, "The name of the user, group or service account.", omitempty=False),
    Field("namespace", 4, STRING, "The namespace of a service account."),
    atomic=True,
)

_ROLE_REF = RBAC_V1.struct(
    "RoleRef",
    "A reference to a role.",
    Field("apiGroup", 1, STRING, "The API group of the role.", omitempty=False, required=False),
    Field("kind", 2, STRING, "Role or ClusterRole.", omitempty=False),
    Field("name", 3, STRING, "The name of the role.", omitempty=False),
    atomic=True,
)

_AGGREGATION_RULE = RBAC_V1.struct(
    "AggregationRule",
    "A selection of ClusterRoles whose rules are combined.",
    Field(
        "clusterRoleSelectors",
        1,
        ListOf(LABEL_SELECTOR),
        "Label selectors. The rules of every ClusterRole that matches one of them are included.",
    ),
)


def _role(name: str, doc: str, *fields: Field, namespaced: bool = False) -> Kind:
    rules = Field("rules", 2, ListOf(_POLICY_RULE), "The allowed requests.", omitempty=False, required=False)
    return Kind(
        RBAC_V1,
        name,
        doc,
        rules,
        *fields,
        namespaced=namespaced,
        known_versions=_KNOWN_VERSIONS,
        strategy=f"polykind.strategies.rbac.strategy:{name}Strategy",
    )


def _role_ref(obj: JsonObject) -> str:
    ref = obj.get("roleRef") or {}
    return f"{ref.get('kind', '')}/{ref.get('name', '')}"


def _subjects(kind: str) -> Callable[[JsonObject], str]:
    """Return a function that computes a cell: the names of a binding's subjects of one kind."""

    def cell(obj: JsonObject) -> str:
        return ", ".join(
            f"{subject.get('namespace', '')}/{subject['name']}" if kind == "ServiceAccount" else subject["name"]
            for subject in obj.get("subjects") or ()
            if subject["kind"] == kind
        )

    return cell


def _binding(name: str, doc: str, roles: str, *, namespaced: bool = False) -> Kind:
    return Kind(
        RBAC_V1,
        name,
        doc,
        Field("subjects", 2, ListOf(_SUBJECT), "The users, groups and service accounts that have the role."),
        Field("roleRef", 3, _ROLE_REF, f"The granted role: {roles}. Cannot be changed.", omitempty=False),
        namespaced=namespaced,
        columns=(
            Column("Role", "string", "The granted role", _role_ref),
            AGE,
            Column("Users", "string", "The users that have the role", _subjects("User"), priority=1),
            Column("Groups", "string", "The groups that have the role", _subjects("Group"), priority=1),
            Column(
                "ServiceAccounts",
                "string",
                "The service accounts that have the role",
                _subjects("ServiceAccount"),
                priority=1,
            ),
        ),
        known_versions=_KNOWN_VERSIONS,
        strategy="polykind.strategies.rbac.strategy:BindingStrategy",
    )


ROLE = _role("Role", "Permissions within one namespace.", namespaced=True)
CLUSTER_ROLE = _role(
    "ClusterRole",
    "Permissions in all namespaces and on cluster-wide resources.",
    Field(
        "aggregationRule",
        3,
        _AGGREGATION_RULE,
        "The ClusterRoles whose rules are copied into `rules`. A controller overwrites other rules.",
        pointer=True,
    ),
)
ROLE_BINDING = _binding(
    "RoleBinding",
    "Grants a role within one namespace.",
    "a Role of the same namespace or a ClusterRole",
    namespaced=True,
)
CLUSTER_ROLE_BINDING = _binding("ClusterRoleBinding", "Grants a ClusterRole in all namespaces.", "a ClusterRole")

KINDS = (CLUSTER_ROLE, CLUSTER_ROLE_BINDING, ROLE, ROLE_BINDING)
