"""Who asks for a version: what must be known before it is taken away."""

from __future__ import annotations

from collections.abc import Iterator

MOST = 100
"""Clients told apart. The rest are counted together: their names are the clients' own, and have no end."""
OTHERS = ("", b"")


class ClientUsage:
    """What one client has asked for."""

    __slots__ = ("agent", "last", "reads", "user", "writes")

    def __init__(self, user: str, agent: str) -> None:
        self.user = user
        self.agent = agent
        """The program, as its User-Agent begins; empty with the user: all who are not told apart."""
        self.reads = self.writes = 0
        self.last = 0.0
        """When the last request began, on the clock of whoever counts."""


class VersionUsage:
    """Those who have asked for one version, by their names and programs."""

    __slots__ = ("_by",)

    def __init__(self) -> None:
        self._by: dict[tuple[str, bytes], ClientUsage] = {}

    def note(self, user: str, agent: bytes, began: float, *, writes: bool) -> None:
        use = self._by.get((user, agent))
        if use is None:
            use = self._begun(user, agent)
        use.last = began
        if writes:
            use.writes += 1
        else:
            use.reads += 1

    def _begun(self, user: str, agent: bytes) -> ClientUsage:
        key, program = (user, agent), agent.decode("utf-8", "replace").partition(" ")[0]
        if len(self._by) >= MOST:
            key, user, program = OTHERS, "", ""
            if key in self._by:
                return self._by[key]
        use = self._by[key] = ClientUsage(user, program)
        return use

    def __iter__(self) -> Iterator[ClientUsage]:
        """The last to ask first."""
        return iter(sorted(self._by.values(), key=lambda use: use.last, reverse=True))


class UsageRegistry:
    """The uses of every version of every resource."""

    __slots__ = ("_by",)

    def __init__(self) -> None:
        self._by: dict[tuple[str, str, str], VersionUsage] = {}

    def of(self, group: str, version: str, resource: str) -> VersionUsage:
        return self._by.setdefault((group, version, resource), VersionUsage())

    def forget(self, group: str, resource: str) -> None:
        """Drop what is known of a resource that is no longer served."""
        for key in [key for key in self._by if (key[0], key[2]) == (group, resource)]:
            del self._by[key]
