"""The ranges of IP addresses and ports from which the server allocates values for Services."""

from __future__ import annotations

from functools import cached_property

import msgspec

from polykind.addresses import IPNetwork, parse_cidr

DEFAULT_CIDR = "10.0.0.0/24"
DEFAULT_NODE_PORTS = "30000-32767"
_SHORTEST_IPV6_PREFIX = 64


class ServiceNetworkError(ValueError):
    """A range of addresses or ports is invalid. The message is the same as kube-apiserver's, if it has one."""


class ServiceNetwork(msgspec.Struct, frozen=True, dict=True):
    """The ranges for cluster IPs, one for each IP family, and the range of node ports."""

    cidrs: tuple[str, ...] = (DEFAULT_CIDR,)
    first_node_port: int = 30000
    node_port_count: int = 2768

    @cached_property
    def networks(self) -> tuple[IPNetwork, ...]:
        return tuple(parsed[1] for cidr in self.cidrs if (parsed := parse_cidr(cidr)) is not None)

    @cached_property
    def families(self) -> tuple[str, ...]:
        """The IP families of the cluster, its default family first."""
        return tuple(f"IPv{network.version}" for network in self.networks)

    @property
    def node_port_range(self) -> str:
        return f"{self.first_node_port}-{self.first_node_port + self.node_port_count - 1}"

    @property
    def server_ip(self) -> str:
        """The cluster IP of the service `kubernetes`, through which pods reach the API server."""
        return str(self.networks[0].network_address + 1)


def parse_service_network(cidrs: str, node_ports: str) -> ServiceNetwork:
    """Parse --service-cluster-ip-range and --service-node-port-range. Raise ServiceNetworkError if one is invalid."""
    first, count = _parse_port_range(node_ports)
    return ServiceNetwork(_parse_cidrs(cidrs), first, count)


def _parse_cidrs(text: str) -> tuple[str, ...]:
    parts = text.split(",") if text else [DEFAULT_CIDR]
    if len(parts) > 2:
        raise ServiceNetworkError("--service-cluster-ip-range must not contain more than two entries")
    networks = []
    for index, part in enumerate(parts):
        parsed = parse_cidr(part)
        if parsed is None:
            reason = "a valid cidr" if index == 0 else "an ip net"
            raise ServiceNetworkError(f"--service-cluster-ip-range[{index}] is not {reason}")
        network = parsed[1]
        if network.num_addresses < 8:
            size = f"the service cluster IP range must be at least 8 IP addresses: {network}"
            raise ServiceNetworkError(f"--service-cluster-ip-range[{index}]: {size}")
        if network.version == 6 and network.prefixlen < _SHORTEST_IPV6_PREFIX:
            size = f"shortest allowed prefix length for service CIDR is {_SHORTEST_IPV6_PREFIX}"
            raise ServiceNetworkError(f"--service-cluster-ip-range[{index}]: {size}, got {network.prefixlen}")
        networks.append(network)
    if len(networks) == 2 and networks[0].version == networks[1].version:
        reason = "must be of different IP family"
        raise ServiceNetworkError(f"--service-cluster-ip-range[0] and --service-cluster-ip-range[1] {reason}")
    return tuple(str(network) for network in networks)


def _parse_port_range(text: str) -> tuple[int, int]:
    """Return the first port and the number of ports of a range such as 30000-32767, 30000+2767 or 30000."""
    text = text.strip()
    low, hyphen, high = text.partition("-")
    if not hyphen:
        low, plus, high = text.partition("+")
        hyphen = plus
    try:
        first = int(low)
        last = first if not hyphen else int(high) if "-" in text else first + int(high)
    except ValueError:
        raise ServiceNetworkError(f"--service-node-port-range: unable to parse port range: {text}") from None
    if first > 65535 or last > 65535:
        raise ServiceNetworkError(f"--service-node-port-range: the port range cannot be greater than 65535: {text}")
    if last < first:
        raise ServiceNetworkError(f"--service-node-port-range: end port cannot be less than start port: {text}")
    return first, last - first + 1
