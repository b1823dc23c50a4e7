"""The Service `default/kubernetes`, its endpoints and the ServiceCIDR `kubernetes`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.live import Live, live

SERVICE = "/api/v1/namespaces/default/services/kubernetes"
ENDPOINTS = "/api/v1/namespaces/default/endpoints/kubernetes"
SLICE = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes"
CIDR = "/apis/networking.k8s.io/v1/servicecidrs/kubernetes"


async def endpoint_addresses(running: Live) -> tuple[list[str], list[str]]:
    """Return the addresses in the Endpoints object and in the EndpointSlice."""
    endpoints, endpoint_slice = await running.ask("GET", ENDPOINTS), await running.ask("GET", SLICE)
    listed = [address["ip"] for subset in endpoints.get("subsets") or () for address in subset["addresses"]]
    return listed, [endpoint["addresses"][0] for endpoint in endpoint_slice.get("endpoints") or ()]


async def test_endpoints_have_the_addresses_of_running_servers(tmp_path: Path) -> None:
    async with live(tmp_path, advertise_address="192.0.2.1") as running:
        assert await endpoint_addresses(running) == (["192.0.2.1"], ["192.0.2.1"])
        (port,) = (await running.ask("GET", SLICE))["ports"]
        assert port == {"name": "https", "port": running.server.port, "protocol": "TCP"}
    async with live(tmp_path, advertise_address="192.0.2.2") as running:
        assert await endpoint_addresses(running) == (["192.0.2.2"], ["192.0.2.2"])


@pytest.mark.parametrize("address", ["", "127.0.0.1"])
async def test_loopback_addresses_are_no_endpoints(tmp_path: Path, address: str) -> None:
    async with live(tmp_path, advertise_address=address) as running:
        await running.ask("GET", ENDPOINTS, expect=404)
        await running.ask("GET", SLICE, expect=404)


async def test_restart_changes_only_the_port(tmp_path: Path) -> None:
    async with live(tmp_path) as running:
        first = await running.ask("GET", SERVICE)
    async with live(tmp_path) as running:
        second = await running.ask("GET", SERVICE)
        assert second["spec"]["ports"][0]["targetPort"] == running.server.port
    assert second["metadata"]["uid"] == first["metadata"]["uid"]
    assert second["spec"]["clusterIP"] == first["spec"]["clusterIP"] == "10.0.0.1"


@pytest.mark.parametrize(
    ("cidrs", "expected"),
    [
        ("10.0.0.0/24,2001:db8::/112", ["10.0.0.0/24", "2001:db8::/112"]),
        ("10.1.0.0/24", ["10.0.0.0/24"]),
    ],
)
async def test_service_cidr_can_only_get_a_second_family(tmp_path: Path, cidrs: str, expected: list[str]) -> None:
    async with live(tmp_path) as running:
        assert (await running.ask("GET", CIDR))["spec"]["cidrs"] == ["10.0.0.0/24"]
    async with live(tmp_path, service_cluster_ip_range=cidrs) as running:
        assert (await running.ask("GET", CIDR))["spec"]["cidrs"] == expected
