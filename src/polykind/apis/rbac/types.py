"""Kinds of role-based access control: roles and their bindings."""

from __future__ import annotations

from collections.abc import Callable

from polykind.apis.machinery.columns import AGE
from polykind.apis.machinery.kinds import Kind
from polykind.apis.machinery.structs import GroupVersion
from polykind.apis.machinery.type_tables import type_table
from polykind.codec.table import Column
from polykind.contract import JsonObject

GROUP = "rbac.authorization.k8s.io"
RBAC_V1 = GroupVersion(GROUP, "v1", type_table("rbac", "v1"), group_priority=17000, version_priority=15)
_KNOWN_VERSIONS = ("v1", "v1beta1", "v1alpha1")


def _role(name: str, *, namespaced: bool = False) -> Kind:
    return Kind(
        RBAC_V1,
        name,
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


def _binding(name: str, *, namespaced: bool = False) -> Kind:
    return Kind(
        RBAC_V1,
        name,
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


ROLE = _role("Role", namespaced=True)
CLUSTER_ROLE = _role("ClusterRole")
ROLE_BINDING = _binding("RoleBinding", namespaced=True)
CLUSTER_ROLE_BINDING = _binding("ClusterRoleBinding")

KINDS = (CLUSTER_ROLE, CLUSTER_ROLE_BINDING, ROLE, ROLE_BINDING)
