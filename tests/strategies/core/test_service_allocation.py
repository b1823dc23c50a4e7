"""Allocation of cluster IPs and node ports, with a running server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from polykind.apis.machinery.protobuf_envelope import encode_envelope
from polykind.codec.protobuf_wire import bytes_field
from polykind.contract import JsonObject
from tests.support.live import Live, live

SERVICES = "/api/v1/namespaces/default/services"
ADDRESSES = "/apis/networking.k8s.io/v1/ipaddresses"
RANGE = "/registry/ranges/servicenodeports"
MERGE = "application/merge-patch+json"


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Live]:
    settings = {"service_cluster_ip_range": "10.0.0.0/28", "service_node_port_range": "30000-30003"}
    async with live(tmp_path, **settings) as server:  # type: ignore[arg-type]
        yield server


def service(name: str = "a", **spec: Any) -> JsonObject:
    return {"metadata": {"name": name}, "spec": {"ports": [{"port": 80}], **spec}}


async def allocated(running: Live) -> set[str]:
    return {item["metadata"]["name"] for item in (await running.ask("GET", ADDRESSES))["items"]}


async def create(running: Live, name: str = "a", *, expect: int = 201, query: str = "", **spec: Any) -> JsonObject:
    answer: JsonObject = await running.ask("POST", SERVICES + query, service(name, **spec), expect=expect)
    return answer


async def test_first_start_creates_the_kubernetes_service(running: Live) -> None:
    spec = (await running.ask("GET", f"{SERVICES}/kubernetes"))["spec"]
    assert (spec["clusterIP"], spec["ports"][0]["targetPort"]) == ("10.0.0.1", running.server.port)
    (cidr,) = (await running.ask("GET", "/apis/networking.k8s.io/v1/servicecidrs"))["items"]
    assert (cidr["metadata"]["name"], cidr["spec"]["cidrs"]) == ("kubernetes", ["10.0.0.0/28"])
    assert cidr["status"]["conditions"][0]["status"] == "True"
    assert await allocated(running) == {"10.0.0.1"}


async def test_address_is_allocated_and_released(running: Live) -> None:
    made = await create(running)
    ip = made["spec"]["clusterIP"]
    assert made["spec"]["clusterIPs"] == [ip]
    address = await running.ask("GET", f"{ADDRESSES}/{ip}")
    assert address["spec"]["parentRef"] == {"resource": "services", "namespace": "default", "name": "a"}
    await running.ask("DELETE", f"{SERVICES}/a")
    assert await allocated(running) == {"10.0.0.1"}


async def test_addresses_are_given_out_once_until_none_is_left(running: Live) -> None:
    ips = {(await create(running, f"s{index}"))["spec"]["clusterIP"] for index in range(13)}
    assert len(ips) == 13
    full = await create(running, "more", expect=500)
    assert full["message"].endswith('failed to allocate a serviceIP for Service "more": range is full')


@pytest.mark.parametrize(
    ("ip", "reason"),
    [
        ("10.0.0.1", "provided IP is already allocated"),
        ("10.0.1.1", "the provided network does not match the current range"),
        ("10.0.0.15", "the provided network does not match the current range"),
    ],
)
async def test_addresses_that_cannot_be_allocated(running: Live, ip: str, reason: str) -> None:
    refused = await create(running, expect=422, clusterIP=ip)
    assert f"failed to allocate IP {ip}: {reason}" in refused["message"]
    assert await allocated(running) == {"10.0.0.1"}


async def test_failed_write_releases_what_it_allocated(running: Live) -> None:
    await create(running, "a", type="NodePort", expect=422, ports=[{"port": 80}, {"port": 81}])
    assert await allocated(running) == {"10.0.0.1"}
    ports = [{"port": number, "name": f"p{number}"} for number in range(1, 5)]
    made = await create(running, "a", type="NodePort", ports=ports)
    assert {port["nodePort"] for port in made["spec"]["ports"]} == {30000, 30001, 30002, 30003}


async def test_node_ports_are_given_out_once(running: Live) -> None:
    await create(running, "a", type="NodePort", ports=[{"port": 80, "nodePort": 30002}])
    taken = await create(running, "b", type="NodePort", ports=[{"port": 80, "nodePort": 30002}], expect=422)
    assert "provided port is already allocated" in taken["message"]
    outside = await create(running, "b", type="NodePort", ports=[{"port": 80, "nodePort": 80}], expect=422)
    assert "The range of valid ports is 30000-30003" in outside["message"]
    await running.ask("PATCH", f"{SERVICES}/a", {"spec": {"type": "ClusterIP"}}, kind=MERGE)
    await create(running, "b", type="NodePort", ports=[{"port": 80, "nodePort": 30002}])


async def test_load_balancer_gets_a_health_check_port(running: Live) -> None:
    made = await create(running, type="LoadBalancer", externalTrafficPolicy="Local")
    health = made["spec"]["healthCheckNodePort"]
    assert health not in (made["spec"]["ports"][0]["nodePort"], 0)
    changed = await running.ask("PATCH", f"{SERVICES}/a", {"spec": {"externalTrafficPolicy": "Cluster"}}, kind=MERGE)
    assert "healthCheckNodePort" not in changed["spec"]
    await create(running, "b", type="NodePort", ports=[{"port": 80, "nodePort": health}])


async def test_dry_run_allocates_nothing(running: Live) -> None:
    made = await create(running, query="?dryRun=All", type="NodePort")
    assert (made["spec"]["clusterIP"], made["spec"]["ports"][0]["nodePort"]) == ("10.0.0.0", 32769)
    assert await allocated(running) == {"10.0.0.1"}
    assert await running.server.store.get(RANGE) is None


async def test_type_change_releases_and_allocates_the_address(running: Live) -> None:
    ip = (await create(running))["spec"]["clusterIP"]
    patch = {"spec": {"type": "ExternalName", "externalName": "example.com"}}
    external = await running.ask("PATCH", f"{SERVICES}/a", patch, kind=MERGE)
    assert "clusterIP" not in external["spec"]
    assert ip not in await allocated(running)
    back = await running.ask("PATCH", f"{SERVICES}/a", {"spec": {"type": "ClusterIP"}}, kind=MERGE)
    assert back["spec"]["clusterIP"] in await allocated(running)


async def test_same_manifest_again_keeps_allocated_values(running: Live) -> None:
    made = await create(running, type="NodePort")
    again = await running.ask("PUT", f"{SERVICES}/a", service("a", type="NodePort"))
    assert again["spec"] == made["spec"]


async def test_deleted_service_takes_its_endpoints_along(running: Live) -> None:
    endpoints = "/api/v1/namespaces/default/endpoints"
    await create(running)
    await running.ask("POST", endpoints, {"metadata": {"name": "a"}})
    await running.ask("DELETE", f"{SERVICES}/a")
    await running.ask("GET", f"{endpoints}/a", expect=404)


async def test_bitmap_of_kube_apiserver_is_understood(running: Live) -> None:
    message = bytes_field(2, b"30000-30003") + bytes_field(3, b"\x0e")
    await running.server.store.put(RANGE, encode_envelope("v1", "RangeAllocation", message), expect=0)
    made = await create(running, type="NodePort")
    assert made["spec"]["ports"][0]["nodePort"] == 30000


async def test_dual_stack_services_have_two_addresses(tmp_path: Path) -> None:
    async with live(tmp_path, service_cluster_ip_range="10.0.0.0/24,2001:db8::/112") as running:
        made = await create(running, ipFamilyPolicy="PreferDualStack")
        first, second = made["spec"]["clusterIPs"]
        assert (first.startswith("10.0.0."), second.startswith("2001:db8::")) == (True, True)
        patch = {"spec": {"ipFamilyPolicy": "SingleStack"}}
        single = await running.ask("PATCH", f"{SERVICES}/a", patch, kind=MERGE)
        assert single["spec"]["clusterIPs"] == [first]
        assert await allocated(running) == {"10.0.0.1", first}


async def test_default_network_that_is_not_ready_has_no_addresses(running: Live) -> None:
    cidr = "/apis/networking.k8s.io/v1/servicecidrs/kubernetes"
    now = {"lastTransitionTime": "2026-01-01T00:00:00Z", "reason": "r", "message": "m"}
    for status, expected in (("False", 500), ("True", 201)):
        condition = {"type": "Ready", "status": status, **now}
        await running.ask("PATCH", f"{cidr}/status", {"status": {"conditions": [condition]}}, kind=MERGE)
        body = {"metadata": {"name": f"s-{status.lower()}"}, "spec": {"ports": [{"port": 80}]}}
        reply = await running.ask("POST", SERVICES, body, expect=expected)
        assert expected == 201 or reply["message"].endswith("range is full")
    chosen = {"metadata": {"name": "chosen"}, "spec": {"ports": [{"port": 80}], "clusterIP": "10.0.0.9"}}
    condition = {"type": "Ready", "status": "Unknown", **now}
    await running.ask("PATCH", f"{cidr}/status", {"status": {"conditions": [condition]}}, kind=MERGE)
    refused = await running.ask("POST", SERVICES, chosen, expect=422)
    assert "the provided network does not match the current range" in refused["message"]
