"""Usage of served versions: the clients that request each version and would fail without it."""

from __future__ import annotations

from collections.abc import Iterator

MAX_CLIENTS = 100
"""The maximum number of clients counted separately per version. It limits memory, because clients can send any name."""
_MAX_AGENT = 256
"""Bytes of a User-Agent header. Clients whose headers differ only after them are counted together."""
OTHERS = ("", b"")
"""The key under which all clients beyond MAX_CLIENTS are counted together."""


class ClientUsage:
    """The requests of one client."""

    __slots__ = ("agent", "last", "reads", "user", "writes")

    def __init__(self, user: str, agent: str) -> None:
        self.user = user
        self.agent = agent
        """The first word of the User-Agent header. `agent` and `user` are empty in the entry OTHERS."""
        self.reads = self.writes = 0
        self.last = 0.0
        """The time at which the last request started, as the caller of `record` passed it."""


class VersionUsage:
    """The clients of one served version, by user name and User-Agent."""

    __slots__ = ("_clients",)

    def __init__(self) -> None:
        self._clients: dict[tuple[str, bytes], ClientUsage] = {}

    def record(self, user: str, agent: bytes, began: float, *, writes: bool) -> None:
        """Record a request that started at `began`."""
        client = self._clients.get((user, agent))
        if client is None:
            client = self._add(user, agent)
        client.last = began
        if writes:
            client.writes += 1
        else:
            client.reads += 1

    def _add(self, user: str, agent: bytes) -> ClientUsage:
        key = user, agent[:_MAX_AGENT]
        if key in self._clients:
            return self._clients[key]
        agent_name = key[1].decode("utf-8", "replace").partition(" ")[0]
        if len(self._clients) >= MAX_CLIENTS:
            key, user, agent_name = OTHERS, "", ""
            if key in self._clients:
                return self._clients[key]
        client = self._clients[key] = ClientUsage(user, agent_name)
        return client

    def __iter__(self) -> Iterator[ClientUsage]:
        """Iterate over the clients, most recent first."""
        return iter(sorted(self._clients.values(), key=lambda client: client.last, reverse=True))


class UsageRegistry:
    """The usage of every served version of every resource."""

    __slots__ = ("_versions",)

    def __init__(self) -> None:
        self._versions: dict[tuple[str, str, str], VersionUsage] = {}

    def of(self, group: str, version: str, resource: str) -> VersionUsage:
        return self._versions.setdefault((group, version, resource), VersionUsage())

    def forget(self, group: str, resource: str) -> None:
        """Drop the usage of a resource that is no longer served."""
        for key in [key for key in self._versions if (key[0], key[2]) == (group, resource)]:
            del self._versions[key]
