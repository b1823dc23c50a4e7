"""The RBAC informer on a running server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from polykind.store.sqlite import SqliteStore
from tests.support.live import Live, live
from tests.support.observers import owner

ROLES = "/apis/rbac.authorization.k8s.io/v1"
NAMESPACE = f"{ROLES}/namespaces/default"
SERVICES = "/api/v1/namespaces/default/services"


def flags(folder: Path) -> dict[str, Any]:
    tokens = folder / "tokens.csv"
    tokens.write_text('anns,ann,1,"makers"\n')
    return {"token_auth_file": tokens, "authorization_mode": ("RBAC",)}


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Live]:
    async with live(tmp_path, **flags(tmp_path)) as running:
        yield running


def role(name: str, *verbs: str) -> dict[str, Any]:
    return {"metadata": {"name": name}, "rules": [{"verbs": verbs, "apiGroups": [""], "resources": ["services"]}]}


def binding(name: str, resource: str = "Role") -> dict[str, Any]:
    ref = {"apiGroup": "rbac.authorization.k8s.io", "kind": resource, "name": name}
    return {"metadata": {"name": name}, "roleRef": ref, "subjects": [{"kind": "User", "name": "ann"}]}


async def status(running: Live, path: str = SERVICES) -> int:
    """Return the status of a GET by the user ann."""
    async with running.another() as client:
        client.token = "anns"
        return (await client.call("GET", path)).status


async def test_rbac_change_is_in_effect_when_its_write_returns(running: Live) -> None:
    assert await status(running) == 403
    await running.ask("POST", f"{NAMESPACE}/roles", role("reader", "list"))
    assert await status(running) == 403
    await running.ask("POST", f"{NAMESPACE}/rolebindings", binding("reader"))
    assert await status(running) == 200
    assert await status(running, SERVICES.replace("default", "other")) == 403
    await running.ask("PUT", f"{NAMESPACE}/roles/reader", role("reader", "watch"))
    assert await status(running) == 403
    await running.ask("PUT", f"{NAMESPACE}/roles/reader", role("reader", "*"))
    assert await status(running) == 200
    await running.ask("DELETE", f"{NAMESPACE}/rolebindings/reader")
    assert await status(running) == 403


async def test_cluster_role_is_bound_in_one_namespace_or_in_all(running: Live) -> None:
    await running.ask("POST", f"{ROLES}/clusterroles", role("reader", "list"))
    await running.ask("POST", f"{NAMESPACE}/rolebindings", binding("reader", "ClusterRole"))
    assert [await status(running), await status(running, "/api/v1/services")] == [200, 403]
    await running.ask("POST", f"{ROLES}/clusterrolebindings", binding("reader", "ClusterRole"))
    assert [await status(running), await status(running, "/api/v1/services")] == [200, 200]
    await running.ask("DELETE", f"{ROLES}/clusterroles/reader")
    assert [await status(running), await status(running, "/api/v1/services")] == [403, 403]


async def test_stored_roles_are_in_effect_after_a_restart(tmp_path: Path) -> None:
    async with live(tmp_path, **flags(tmp_path)) as running:
        await running.ask("POST", f"{NAMESPACE}/roles", role("reader", "list"))
        await running.ask("POST", f"{NAMESPACE}/rolebindings", binding("reader"))
    async with live(tmp_path, **flags(tmp_path)) as running:
        assert await status(running) == 200


async def test_invalid_stored_roles_grant_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    store = SqliteStore(tmp_path / "data")
    async with live(tmp_path, store=store, **flags(tmp_path)) as running:
        await running.ask("POST", f"{NAMESPACE}/roles", role("reader", "list"))
        await running.ask("POST", f"{NAMESPACE}/rolebindings", binding("reader"))
        assert await status(running) == 200
        await store.put("/registry/roles/default/reader", b'{"metadata":{"name":"reader"},"rules":[7]}', expect=None)
        assert await status(running) == 403
        assert "RBAC: cannot decode stored Role default/reader, ignoring it: " in caplog.text
        await store.put("/registry/rolebindings/default/reader", b"nonsense", expect=None)
        assert await status(running) == 403


async def test_reset_lists_bindings_again(running: Live) -> None:
    await running.ask("POST", f"{NAMESPACE}/roles", role("reader", "list"))
    await running.ask("POST", f"{NAMESPACE}/rolebindings", binding("reader"))
    resource = running.server.registry.resource("rbac.authorization.k8s.io", "rolebindings")
    assert resource is not None
    (informer,) = (
        observer for observer in resource.cache.observers if owner(observer) == "polykind.controllers.rbac_informer"
    )
    resource.cache.observers.remove(informer)
    await running.ask("DELETE", f"{NAMESPACE}/rolebindings/reader")
    assert await status(running) == 200
    informer.on_reset()
    await running.ask("GET", f"{NAMESPACE}/rolebindings")
    assert await status(running) == 403


async def test_roles_are_served_but_ignored_without_rbac_mode(tmp_path: Path) -> None:
    settings = {**flags(tmp_path), "authorization_mode": ("AlwaysDeny",)}
    async with live(tmp_path, **settings) as running:
        await running.ask("POST", f"{NAMESPACE}/roles", role("reader", "list"))
        await running.ask("POST", f"{NAMESPACE}/rolebindings", binding("reader"))
        assert await status(running) == 403
