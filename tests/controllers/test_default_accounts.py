"""The service account and the CA certificate that pods expect in every namespace."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tests.support.live import Live, live

ACCOUNT = "/api/v1/namespaces/{}/serviceaccounts/default"
ROOT_CA = "/api/v1/namespaces/{}/configmaps/kube-root-ca.crt"


async def appears(running: Live, path: str) -> object:
    """Return an object as soon as it exists."""
    async with asyncio.timeout(20):
        while (reply := await running.client.call("GET", path)).status == 404:
            await asyncio.sleep(0.01)
    return reply.body


async def test_new_namespaces_are_completed(tmp_path: Path) -> None:
    async with live(tmp_path, disable_admission_plugins=()) as running:
        await running.ask("POST", "/api/v1/namespaces", {"metadata": {"name": "garden"}})
        for namespace in ("default", "garden"):
            await appears(running, ACCOUNT.format(namespace))
            await appears(running, ROOT_CA.format(namespace))
        data = (await running.ask("GET", ROOT_CA.format("garden")))["data"]
        assert data["ca.crt"].startswith("-----BEGIN CERTIFICATE-----")


async def test_deleted_objects_come_back(tmp_path: Path) -> None:
    async with live(tmp_path, disable_admission_plugins=()) as running:
        for path in (ACCOUNT.format("default"), ROOT_CA.format("default")):
            await appears(running, path)
            before = (await running.ask("GET", path))["metadata"]["uid"]
            await running.ask("DELETE", path)
            await appears(running, path)
            assert (await running.ask("GET", path))["metadata"]["uid"] != before


async def test_disabled_plugin_leaves_namespaces_empty(tmp_path: Path) -> None:
    async with live(tmp_path) as running:
        assert (await running.ask("GET", "/api/v1/serviceaccounts"))["items"] == []
