"""A network of namespaces on a bridge, in which single pairs of processes can be cut off from each other."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

SUBNET = "10.213.77"
"""The first three bytes of all addresses: a part of 10.0.0.0/8 that is seldom used."""


def may_create_namespaces() -> bool:
    """True if this process may create network namespaces. Only root with all capabilities may."""
    if os.geteuid() or shutil.which("ip") is None:
        return False
    name = f"probe{os.getpid()}"
    if subprocess.run(["ip", "netns", "add", name], capture_output=True, check=False).returncode:
        return False
    _ip("netns", "del", name)
    return True


class Network:
    """Network namespaces that reach each other and this process by a bridge."""

    def __init__(self, number: int) -> None:
        mark = f"{os.getpid() % 100_000}"
        self._bridge = f"pkb{mark}"
        self.places = [(f"pkn{mark}x{n}", f"{SUBNET}.{n + 2}") for n in range(number)]
        """The name and the address of each namespace."""
        self._links = [f"pkv{mark}x{n}" for n in range(number)]

    def create(self) -> None:
        _ip("link", "add", self._bridge, "type", "bridge")
        _ip("address", "add", f"{SUBNET}.1/24", "dev", self._bridge)
        _ip("link", "set", self._bridge, "up")
        for (name, address), link in zip(self.places, self._links, strict=True):
            _ip("netns", "add", name)
            _ip("link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", name)
            _ip("link", "set", link, "master", self._bridge, "up")
            _ip("-n", name, "address", "add", f"{address}/24", "dev", "eth0")
            _ip("-n", name, "link", "set", "eth0", "up")
            _ip("-n", name, "link", "set", "lo", "up")

    def remove(self) -> None:
        for name, _ in self.places:
            subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)
        for link in (*self._links, self._bridge):
            subprocess.run(["ip", "link", "del", link], capture_output=True, check=False)

    def cut(self, one: str, other: str) -> None:
        """Drop all packets between two addresses."""
        self._change("add", one, other)

    def heal(self, one: str, other: str) -> None:
        self._change("del", one, other)

    def _change(self, action: str, one: str, other: str) -> None:
        names = {address: name for name, address in self.places}
        for here, there in ((one, other), (other, one)):
            _ip("-n", names[here], "route", action, "blackhole", f"{there}/32")


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True)


@contextmanager
def network(number: int) -> Iterator[Network]:
    made = Network(number)
    try:
        made.create()
        yield made
    finally:
        made.remove()


def pairs(one: str, others: Sequence[str]) -> list[tuple[str, str]]:
    """Return the pairs of an address with each of the others."""
    return [(one, other) for other in others if other != one]
