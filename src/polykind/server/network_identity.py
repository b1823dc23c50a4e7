"""The names and addresses by which clients reach the server."""

from __future__ import annotations

import ipaddress
import re
import socket
import struct
from contextlib import suppress
from pathlib import Path

ALL_ADDRESSES = ("0.0.0.0", "::")  # noqa: S104
"""The values of --bind-address that mean every address of the host."""
_LOCAL_NAMES = ("127.0.0.1", "::1", "localhost", "kubernetes.default.svc")
_GET_ADDRESS = 0x8915
"""SIOCGIFADDR of Linux, which returns the IPv4 address of an interface (netdevice(7))."""
_INTERFACES_IPV6 = Path("/proc/net/if_inet6")
_LINK_LOCAL = "20"
"""The scope of link-local addresses in if_inet6. Clients need a zone for them, which certificates cannot hold."""
_HOST_NAME = re.compile(
    r"(\*\.)?([a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?)(\.[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?)*", re.I
)


def serving_names(bind_address: str, advertise_address: str, alternative_names: tuple[str, ...]) -> list[str]:
    """Return the names and addresses for the serving certificate.

    If the server listens on all addresses, these include the host's name and all its addresses.
    """
    names = list(_LOCAL_NAMES)
    if bind_address in ALL_ADDRESSES:
        names += _host_names()
    else:
        names.append(bind_address)
    names += [name for name in (advertise_address, *alternative_names) if name]
    return list(dict.fromkeys(names))


def is_server_name(name: str) -> bool:
    """True if a certificate can have this name: an IP address, a host name, or a wildcard such as *.example.com."""
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return len(name) <= 253 and _HOST_NAME.fullmatch(name) is not None
    return True


def advertised_host(bind_address: str, advertise_address: str) -> str:
    """Return the address for kubeconfigs.

    It is the advertised address, unless the server listens on a loopback address only. A server that listens on all
    addresses and advertises none can be reached at the loopback address, wherever the host moves.
    """
    if bind_address in ALL_ADDRESSES:
        return advertise_address or ("127.0.0.1" if bind_address == ALL_ADDRESSES[0] else "::1")
    return bind_address if _is_loopback(bind_address) else advertise_address or bind_address


def format_host(host: str) -> str:
    """Return a host as it is in a URL: an IPv6 address in brackets."""
    return f"[{host}]" if ":" in host else host


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _host_names() -> list[str]:
    """Return the host's name and its addresses. No name server is asked, because that could delay the start."""
    name = socket.gethostname()
    return [*([name] if is_server_name(name) else []), *_ipv4_addresses(), *_ipv6_addresses()]


def _ipv4_addresses() -> list[str]:
    import fcntl

    addresses = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as query:
        for _, interface in socket.if_nameindex():
            # An interface without an IPv4 address fails, and so does every interface on systems other than Linux.
            with suppress(OSError):
                answer = fcntl.ioctl(query, _GET_ADDRESS, struct.pack("256s", interface.encode()[:15]))
                addresses.append(socket.inet_ntoa(answer[20:24]))
    return addresses


def _ipv6_addresses() -> list[str]:
    try:
        lines = _INTERFACES_IPV6.read_text().splitlines()
    except OSError:
        return []
    fields = [line.split() for line in lines]
    return [str(ipaddress.IPv6Address(int(row[0], 16))) for row in fields if len(row) > 3 and row[3] != _LINK_LOCAL]
