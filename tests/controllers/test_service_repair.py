"""The repair of Service allocations at the start of a server."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.live import live

SERVICES = "/api/v1/namespaces/default/services"
ADDRESSES = "/apis/networking.k8s.io/v1/ipaddresses"
MERGE = "application/merge-patch+json"


async def test_allocations_without_a_service_are_released(tmp_path: Path) -> None:
    exposed = {"type": "NodePort", "ports": [{"port": 80, "nodePort": 30001}]}
    async with live(tmp_path, service_node_port_range="30000-30001") as running:
        kept = await running.ask("POST", SERVICES, {"metadata": {"name": "kept"}, "spec": exposed})
        lost = await running.ask("POST", SERVICES, {"metadata": {"name": "lost"}, "spec": {"ports": [{"port": 80}]}})
        # A crash between the two writes of a create leaves the allocations, but no service.
        await running.ask("PATCH", f"{SERVICES}/lost", {"spec": {"type": "NodePort"}}, kind=MERGE)
        await running.server.store.delete("/registry/services/specs/default/lost", expect=None)
    async with live(tmp_path, service_node_port_range="30000-30001") as running:
        found = {item["metadata"]["name"] for item in (await running.ask("GET", ADDRESSES))["items"]}
        assert found == {"10.0.0.1", kept["spec"]["clusterIP"]}
        assert lost["spec"]["clusterIP"] not in found
        again = await running.ask(
            "POST", SERVICES, {"metadata": {"name": "b"}, "spec": {**exposed, "ports": [{"port": 1}]}}
        )
        assert again["spec"]["ports"][0]["nodePort"] == 30000


async def test_addresses_of_others_are_kept(tmp_path: Path) -> None:
    parent = {"resource": "services", "namespace": "default", "name": "none"}
    async with live(tmp_path) as running:
        await running.ask("POST", ADDRESSES, {"metadata": {"name": "192.0.2.1"}, "spec": {"parentRef": parent}})
    async with live(tmp_path) as running:
        await running.ask("GET", f"{ADDRESSES}/192.0.2.1")


@pytest.mark.parametrize(
    "damaged",
    [
        "/registry/services/specs/default/kubernetes",
        "/registry/ipaddresses/10.0.0.1",
        "/registry/servicecidrs/kubernetes",
        "/registry/ranges/servicenodeports",
    ],
)
async def test_damaged_value_neither_ends_the_start_nor_releases_an_allocation(tmp_path: Path, damaged: str) -> None:
    exposed = {"type": "NodePort", "ports": [{"port": 80}]}
    async with live(tmp_path) as running:
        kept = await running.ask("POST", SERVICES, {"metadata": {"name": "kept"}, "spec": exposed})
        data = running.server.settings.data_dir
    with closing(sqlite3.connect(data / "polykind.db")) as connection:
        changed = connection.execute("UPDATE log SET value = value || x'00' WHERE key = ?", (damaged,)).rowcount
        connection.commit()
    assert changed
    async with live(tmp_path) as running:
        assert await running.ask("GET", f"{SERVICES}/kept") == kept
        await running.ask("GET", f"{ADDRESSES}/{kept['spec']['clusterIP']}")
        if "servicecidrs" not in damaged:
            other = await running.ask("POST", SERVICES, {"metadata": {"name": "other"}, "spec": exposed})
            assert other["spec"]["ports"][0]["nodePort"] != kept["spec"]["ports"][0]["nodePort"]


async def test_deleted_address_of_a_service_is_created_again(tmp_path: Path) -> None:
    async with live(tmp_path) as running:
        made = await running.ask("POST", SERVICES, {"metadata": {"name": "a"}, "spec": {"ports": [{"port": 80}]}})
        address = f"{ADDRESSES}/{made['spec']['clusterIP']}"
        first = await running.ask("GET", address)
        await running.ask("DELETE", address)
        name, uid = first["metadata"]["name"], first["metadata"]["uid"]
        event = await running.until(
            ADDRESSES, lambda _, obj: obj["metadata"]["name"] == name and obj["metadata"]["uid"] != uid
        )
        assert event["object"]["spec"] == first["spec"]
        await running.ask("DELETE", f"{SERVICES}/a")
        await running.ask("GET", address, expect=404)


async def test_missing_addresses_are_created_at_the_start(tmp_path: Path) -> None:
    async with live(tmp_path) as running:
        spec = {"ports": [{"port": 80}]}
        made = await running.ask("POST", SERVICES, {"metadata": {"name": "a"}, "spec": spec})
        await running.ask("POST", SERVICES, {"metadata": {"name": "b"}, "spec": {**spec, "clusterIP": "None"}})
        address = made["spec"]["clusterIP"]
        await running.server.controllers._address_repair.close()
        await running.server.store.delete(f"/registry/ipaddresses/{address}", expect=None)
    async with live(tmp_path) as running:
        created = await running.ask("GET", f"{ADDRESSES}/{address}")
        assert created["spec"]["parentRef"] == {"resource": "services", "namespace": "default", "name": "a"}
