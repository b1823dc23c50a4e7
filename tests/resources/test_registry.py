"""The registry: built-in resources and custom resources with their names."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support.live import DEFINITIONS, live
from tests.support.widgets import definition

_APPROVED = {"api-approved.kubernetes.io": "unapproved, for a test"}


async def test_crd_cannot_replace_a_builtin_resource(tmp_path: Path) -> None:
    crd = json.loads(json.dumps(definition()))
    crd["spec"] |= {"group": "rbac.authorization.k8s.io", "scope": "Namespaced"}
    crd["spec"]["names"] = {"plural": "roles", "singular": "role", "kind": "Role", "listKind": "RoleList"}
    crd["metadata"] = {"name": "roles.rbac.authorization.k8s.io", "annotations": _APPROVED}
    async with live(tmp_path) as running:
        await running.ask("POST", DEFINITIONS, crd)
        roles = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles"
        bad = {"metadata": {"name": "a"}, "rules": [{"verbs": []}]}
        assert (await running.ask("POST", roles, bad, expect=422))["details"]["causes"]
        resource = running.server.registry.resource_of_kind("rbac.authorization.k8s.io", "Role")
        assert resource is not None
        assert resource.is_builtin
        await running.ask("DELETE", f"{DEFINITIONS}/roles.rbac.authorization.k8s.io")
        assert (await running.ask("GET", roles))["items"] == []


async def test_crd_cannot_add_a_resource_to_a_builtin_version(tmp_path: Path) -> None:
    crd = json.loads(json.dumps(definition()))
    crd["spec"]["group"] = "rbac.authorization.k8s.io"
    crd["metadata"] = {"name": "widgets.rbac.authorization.k8s.io", "annotations": _APPROVED}
    versions = crd["spec"]["versions"]
    assert versions[0]["name"] == "v1"
    versions.append({**versions[0], "name": "v7", "storage": False})
    async with live(tmp_path) as running:
        await running.ask("POST", DEFINITIONS, crd)
        await running.ask("GET", "/apis/rbac.authorization.k8s.io/v7/namespaces/default/widgets")
        await running.ask("GET", "/apis/rbac.authorization.k8s.io/v1/namespaces/default/widgets", expect=404)
