"""The flags for the addresses and ports of Services."""

from __future__ import annotations

import pytest

from polykind.apis.core.service_network import ServiceNetworkError, parse_service_network


def test_defaults() -> None:
    network = parse_service_network("", "30000-32767")
    assert (network.cidrs, network.families, network.server_ip) == (("10.0.0.0/24",), ("IPv4",), "10.0.0.1")
    assert network.node_port_range == "30000-32767"


def test_dual_stack() -> None:
    network = parse_service_network("2001:db8::/112,10.96.7.1/16", "30000")
    assert (network.cidrs, network.families) == (("2001:db8::/112", "10.96.0.0/16"), ("IPv6", "IPv4"))
    assert (network.server_ip, network.node_port_range) == ("2001:db8::1", "30000-30000")


@pytest.mark.parametrize(
    ("cidrs", "reason"),
    [
        ("x", r"--service-cluster-ip-range\[0\] is not a valid cidr"),
        ("10.0.0.0/24,x", r"--service-cluster-ip-range\[1\] is not an ip net"),
        ("10.0.0.0/24,::/64,::/64", "must not contain more than two entries"),
        ("10.0.0.0/24,10.1.0.0/24", "must be of different IP family"),
        ("10.0.0.0/30", "must be at least 8 IP addresses"),
        ("2001:db8::/48", "shortest allowed prefix length for service CIDR is 64, got 48"),
    ],
)
def test_invalid_cidrs(cidrs: str, reason: str) -> None:
    with pytest.raises(ServiceNetworkError, match=reason):
        parse_service_network(cidrs, "30000-32767")


@pytest.mark.parametrize(
    ("text", "ports"),
    [("30000-30001", "30000-30001"), ("30000+5", "30000-30005"), (" 1 ", "1-1")],
)
def test_port_ranges(text: str, ports: str) -> None:
    assert parse_service_network("", text).node_port_range == ports


@pytest.mark.parametrize("text", ["x", "1-x", "2-1", "1-65536", "1+65535", ""])
def test_invalid_port_ranges(text: str) -> None:
    with pytest.raises(ServiceNetworkError, match="--service-node-port-range"):
        parse_service_network("", text)
