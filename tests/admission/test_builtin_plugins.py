"""Built-in admission plugins in a running server."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from polykind.server.settings import Settings, SettingsError
from tests.support.live import Live, live

NAMESPACES = "/api/v1/namespaces"
MERGE = "application/merge-patch+json"
CRD = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "vats.x.io"},
    "spec": {
        "group": "x.io",
        "scope": "Namespaced",
        "names": {"plural": "vats", "singular": "vat", "kind": "Vat", "listKind": "VatList"},
        "versions": [
            {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
        ],
    },
}


def pod(name: str, **spec: Any) -> dict[str, Any]:
    containers = [{"name": "c", "image": "i"}]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": containers, **spec}}


async def add_quota(running: Live, namespace: str, **hard: str) -> str:
    """Create a quota whose usage is zero and return its path."""
    quotas = f"{NAMESPACES}/{namespace}/resourcequotas"
    limits = {name.replace("__", "/").replace("_", "."): value for name, value in hard.items()}
    await running.ask("POST", quotas, {"metadata": {"name": "q"}, "spec": {"hard": limits}})
    status = {"status": {"hard": limits, "used": dict.fromkeys(limits, "0")}}
    await running.ask("PATCH", f"{quotas}/q/status", status, kind=MERGE)
    return f"{quotas}/q"


async def test_pods_are_completed(tmp_path: Path) -> None:
    async with live(tmp_path) as running:
        spec = (await running.ask("POST", f"{NAMESPACES}/default/pods", pod("p")))["spec"]
        assert spec["priority"] == 0
        assert [toleration["effect"] for toleration in spec["tolerations"]] == ["NoExecute", "NoExecute"]


async def test_namespace_labels_enforce_a_security_level(tmp_path: Path) -> None:
    async with live(tmp_path) as running:
        labels = {"pod-security.kubernetes.io/enforce": "baseline"}
        await running.ask("POST", NAMESPACES, {"metadata": {"name": "safe", "labels": labels}})
        reply = await running.ask("POST", f"{NAMESPACES}/safe/pods", pod("p", hostPID=True), expect=403)
        assert 'violates PodSecurity "baseline:latest": host namespaces (hostPID=true)' in reply["message"]


async def test_disabled_plugin_does_nothing(tmp_path: Path) -> None:
    async with live(tmp_path, disable_admission_plugins=("ServiceAccount", "Priority")) as running:
        created = await running.ask("POST", f"{NAMESPACES}/default/pods", pod("p"))
        assert "priority" not in created["spec"]


async def test_quota_counts_custom_resources(tmp_path: Path) -> None:
    async with live(tmp_path) as running:
        await running.ask("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", CRD)
        quota = await add_quota(running, "default", count__vats_x_io="3")
        vats = "/apis/x.io/v1/namespaces/default/vats"

        async def create(name: str) -> int:
            async with running.another() as client:
                vat = {"apiVersion": "x.io/v1", "kind": "Vat", "metadata": {"name": name}}
                return (await client.call("POST", vats, vat)).status

        statuses = await asyncio.gather(*(create(f"v{number}") for number in range(5)))
        assert sorted(statuses) == [201, 201, 201, 403, 403]
        stored = await running.ask("GET", quota)
        assert stored["status"]["used"] == {"count/vats.x.io": "3"}
        managers = [(entry["manager"], entry.get("subresource")) for entry in stored["metadata"]["managedFields"]]
        assert ("kube-apiserver", "status") in managers
        await running.ask("DELETE", quota)
        assert await create("last") == 201


async def test_quota_survives_a_restart(tmp_path: Path) -> None:
    async with live(tmp_path) as running:
        await add_quota(running, "default", configmaps="1")
        await running.ask("POST", f"{NAMESPACES}/default/configmaps", {"metadata": {"name": "a"}})
    async with live(tmp_path) as running:
        reply = await running.ask("POST", f"{NAMESPACES}/default/configmaps", {"metadata": {"name": "b"}}, expect=403)
        assert (
            "exceeded quota: q, requested: configmaps=1, used: configmaps=1, limited: configmaps=1" in reply["message"]
        )


async def test_limits_apply_to_new_pods(tmp_path: Path) -> None:
    async with live(tmp_path) as running:
        limits = [{"type": "Container", "default": {"cpu": "1"}, "max": {"cpu": "2"}}]
        ranges = f"{NAMESPACES}/default/limitranges"
        await running.ask("POST", ranges, {"metadata": {"name": "l"}, "spec": {"limits": limits}})
        created = await running.ask("POST", f"{NAMESPACES}/default/pods", pod("p"))
        assert created["spec"]["containers"][0]["resources"]["limits"] == {"cpu": "1"}
        assert "kubernetes.io/limit-ranger" in created["metadata"]["annotations"]


def test_unknown_plugin_is_rejected() -> None:
    with pytest.raises(SettingsError, match='enable-admission-plugins plugin "Odd" is unknown'):
        Settings(enable_admission_plugins=("Odd",)).check()


async def test_choice_without_effect_is_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    chosen: dict[str, Any] = {
        "enable_admission_plugins": ("AlwaysAdmit",),
        "disable_admission_plugins": ("NamespaceLifecycle", "ServiceAccount"),
    }
    async with live(tmp_path, **chosen):
        assert "plugin AlwaysAdmit has no effect" in caplog.text
        assert "plugin NamespaceLifecycle cannot be disabled" in caplog.text
