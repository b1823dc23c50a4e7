"""The default roles and bindings on a running server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from polykind.contract import UnavailableError
from polykind.store.sqlite import SqliteStore
from tests.support.live import Live, live

ROLES = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
NAMESPACED = "/apis/rbac.authorization.k8s.io/v1/namespaces/kube-system/roles"
BINDINGS = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"
MERGE = "application/merge-patch+json"
RBAC: dict[str, Any] = {"authorization_mode": ("RBAC",)}


async def names(running: Live, path: str) -> list[str]:
    return [item["metadata"]["name"] for item in (await running.ask("GET", path))["items"]]


async def test_default_roles_and_bindings_exist_after_the_first_start(tmp_path: Path) -> None:
    async with live(tmp_path, **RBAC) as running:
        roles, bindings = await names(running, ROLES), await names(running, BINDINGS)
        assert {"admin", "cluster-admin", "edit", "view", "system:basic-user", "system:node"} <= set(roles)
        assert (len(roles), len(bindings)) == (69, 50)
        assert set(bindings) < set(roles)
        readers = await running.ask("GET", f"{NAMESPACED}/extension-apiserver-authentication-reader")
        assert readers["rules"][0]["resourceNames"] == ["extension-apiserver-authentication"]
        assert await running.ask("GET", "/readyz/poststarthook/rbac/bootstrap-roles") == b"ok"
        admin = await running.ask("GET", f"{BINDINGS}/cluster-admin")
        (entry,) = admin["metadata"]["managedFields"]
        assert (entry["manager"], entry["operation"]) == ("kube-apiserver", "Update")
        assert admin["metadata"]["labels"] == {"kubernetes.io/bootstrapping": "rbac-defaults"}
        assert admin["metadata"]["annotations"] == {"rbac.authorization.kubernetes.io/autoupdate": "true"}
        assert admin["subjects"] == [
            {"kind": "Group", "apiGroup": "rbac.authorization.k8s.io", "name": "system:masters"}
        ]


async def test_no_default_roles_without_rbac_mode(tmp_path: Path) -> None:
    async with live(tmp_path, authorization_mode=("AlwaysAllow",)) as running:
        assert await names(running, ROLES) == await names(running, BINDINGS) == []


async def test_next_start_restores_what_is_missing_and_writes_nothing_else(
    tmp_path: Path,
) -> None:
    async with live(tmp_path, **RBAC) as running:
        await running.ask("PATCH", f"{ROLES}/system:basic-user", {"rules": None}, kind=MERGE)
        await running.ask("PATCH", f"{BINDINGS}/system:discovery", {"subjects": None}, kind=MERGE)
        await running.ask("DELETE", f"{ROLES}/system:monitoring")
        before = (await running.ask("GET", f"{BINDINGS}/cluster-admin"))["metadata"]
    async with live(tmp_path, **RBAC) as running:
        resources = [rule["resources"] for rule in (await running.ask("GET", f"{ROLES}/system:basic-user"))["rules"]]
        assert resources == [["selfsubjectaccessreviews"], ["selfsubjectrulesreviews"], ["selfsubjectreviews"]]
        (subject,) = (await running.ask("GET", f"{BINDINGS}/system:discovery"))["subjects"]
        assert subject["name"] == "system:authenticated"
        await running.ask("GET", f"{ROLES}/system:monitoring")
        assert (await running.ask("GET", f"{BINDINGS}/cluster-admin"))["metadata"] == before


async def test_roles_without_autoupdate_are_not_changed(tmp_path: Path) -> None:
    autoupdate_off = {"metadata": {"annotations": {"rbac.authorization.kubernetes.io/autoupdate": "false"}}}
    async with live(tmp_path, **RBAC) as running:
        await running.ask("PATCH", f"{ROLES}/system:basic-user", {"rules": None, **autoupdate_off}, kind=MERGE)
        await running.ask("PATCH", f"{BINDINGS}/system:discovery", {"subjects": None, **autoupdate_off}, kind=MERGE)
    async with live(tmp_path, **RBAC) as running:
        assert (await running.ask("GET", f"{ROLES}/system:basic-user"))["rules"] is None
        assert "subjects" not in await running.ask("GET", f"{BINDINGS}/system:discovery")


async def test_missing_public_info_viewer_gets_the_subjects_of_discovery(tmp_path: Path) -> None:
    subject = {"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "ann"}
    off = {"rbac.authorization.kubernetes.io/autoupdate": "false"}
    for choice, added in ((off, set()), (None, {"system:authenticated", "system:unauthenticated"})):
        async with live(tmp_path, **RBAC) as running:
            patch = {"metadata": {"annotations": choice}, "subjects": [subject]}
            await running.ask("PATCH", f"{BINDINGS}/system:discovery", patch, kind=MERGE)
            await running.ask("DELETE", f"{BINDINGS}/system:public-info-viewer")
        async with live(tmp_path, **RBAC) as running:
            made = await running.ask("GET", f"{BINDINGS}/system:public-info-viewer")
            assert {one["name"] for one in made["subjects"]} == {"ann", *added}


async def test_binding_to_another_role_is_recreated(tmp_path: Path) -> None:
    async with live(tmp_path, **RBAC) as running:
        await running.ask("DELETE", f"{BINDINGS}/system:discovery")
        other = {"metadata": {"name": "system:discovery"}, "roleRef": {"kind": "ClusterRole", "name": "view"}}
        created = await running.ask("POST", BINDINGS, other)
    async with live(tmp_path, **RBAC) as running:
        binding = await running.ask("GET", f"{BINDINGS}/system:discovery")
        assert binding["roleRef"]["name"] == "system:discovery"
        assert binding["metadata"]["uid"] != created["metadata"]["uid"]


async def test_role_that_cannot_be_written_does_not_block_others_or_the_start(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    class FailingStore(SqliteStore):
        async def put(self, key: str, value: bytes, *, expect: int | None) -> int:
            if key.endswith("clusterroles/edit"):
                raise UnavailableError("the disk is full")
            return await super().put(key, value, expect=expect)

    async with live(tmp_path, store=FailingStore(tmp_path / "data"), **RBAC) as running:
        not_ready = await running.ask("GET", "/readyz/poststarthook/rbac/bootstrap-roles", expect=500)
        problem = b"not finished: ClusterRole edit: the disk is full"
        assert not_ready == b"internal server error: %b\n" % problem
        assert "view" in await names(running, ROLES)
        assert "cluster-admin" in await names(running, BINDINGS)
    assert "ClusterRole edit: the disk is full" in caplog.text


async def test_damaged_role_is_named_and_does_not_keep_the_server_unready(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with live(tmp_path, **RBAC) as running:
        stored = await running.server.store.get("/registry/clusterroles/edit")
        assert stored is not None
        await running.server.store.put(stored.key, b"damaged", expect=stored.revision)
    async with live(tmp_path, **RBAC) as running:
        assert await running.ask("GET", "/readyz") == b"ok"
        assert "cluster-admin" in await names(running, BINDINGS)
    assert "ClusterRole edit is unreadable and grants nothing" in caplog.text
