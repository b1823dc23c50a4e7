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
    (
        Field("verbs", 1, STRINGS, omitempty=False, doc="The allowed verbs."),
        Field("apiGroups", 2, STRINGS, keep_empty=True, doc="The API groups of the resources; empty: the core group."),
        Field("resources", 3, STRINGS, keep_empty=True, doc="The resources, such as pods, pods/status or */scale."),
        Field("resourceNames", 4, STRINGS, keep_empty=True, doc="The names of the objects; an empty list allows all."),
        Field(
            "nonResourceURLs",
            5,
            STRINGS,
            keep_empty=True,
            doc="URL paths, of which * may be the last part. Only in a ClusterRole.",
        ),
    ),
    doc="The verbs that are allowed on resources or on other URL paths. * stands for all.",
)

_SUBJECT = RBAC_V1.struct(
    "Subject",
    (
        Field("kind", 1, STRING, omitempty=False, doc="User, Group or ServiceAccount."),
        Field("apiGroup", 2, STRING, doc="The API group of the kind; empty for service accounts."),
        Field("name", 3, STRING, omitempty=False, doc="The name of the user, group or service account."),
        Field("namespace", 4, STRING, doc="The namespace of a service account."),
    ),
    doc="A user, a group or a service account to which a role is granted.",
    atomic=True,
)

_ROLE_REF = RBAC_V1.struct(
    "RoleRef",
    (
        Field("apiGroup", 1, STRING, omitempty=False, required=False, doc="The API group of the role."),
        Field("kind", 2, STRING, omitempty=False, doc="Role or ClusterRole."),
        Field("name", 3, STRING, omitempty=False, doc="The name of the role."),
    ),
    doc="A reference to a role.",
    atomic=True,
)

_AGGREGATION_RULE = RBAC_V1.struct(
    "AggregationRule",
    (
        Field(
            "clusterRoleSelectors",
            1,
            ListOf(LABEL_SELECTOR),
            doc="Label selectors. The rules of every ClusterRole that matches one of them are included.",
        ),
    ),
    doc="A selection of ClusterRoles whose rules are combined.",
)


def _role(name: str, doc: str, *fields: Field, namespaced: bool = False) -> Kind:
    rules = Field("rules", 2, ListOf(_POLICY_RULE), omitempty=False, required=False, doc="The allowed requests.")
    return Kind(RBAC_V1, name, fields=(rules, *fields), doc=doc, namespaced=namespaced, known_versions=_KNOWN_VERSIONS)


def _role_ref(obj: JsonObject) -> str:
    ref = obj.get("roleRef") or {}
    return f"{ref.get('kind', '')}/{ref.get('name', '')}"


def _subjects(kind: str) -> Callable[[JsonObject], str]:
    """Return a cell with the names of a binding's subjects of one kind."""

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
        fields=(
            Field("subjects", 2, ListOf(_SUBJECT), doc="The users, groups and service accounts that have the role."),
            Field("roleRef", 3, _ROLE_REF, omitempty=False, doc=f"The granted role: {roles}. Cannot be changed."),
        ),
        doc=doc,
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
    )


ROLE = _role("Role", "Permissions within one namespace.", namespaced=True)
CLUSTER_ROLE = _role(
    "ClusterRole",
    "Permissions in all namespaces and on cluster-wide resources.",
    Field(
        "aggregationRule",
        3,
        _AGGREGATION_RULE,
        pointer=True,
        doc="The ClusterRoles whose rules are copied into `rules`. A controller overwrites other rules.",
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
