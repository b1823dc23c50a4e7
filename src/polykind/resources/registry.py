"""Finding what a path means: group, version and plural to a served Version."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from polykind.resources.resource import Resource, ServedVersion


class Registry:
    """All that is served now."""

    def __init__(self) -> None:
        self._kinds: dict[tuple[str, str], Resource] = {}
        self._served: dict[tuple[str, str, str], ServedVersion] = {}
        self._named: dict[tuple[str, str], Resource] = {}
        self.followers: list[Callable[[Resource], None]] = []
        """Told of each resource that is served from now on, new or in another form than before."""

    def find(self, group: str, version: str, plural: str) -> ServedVersion | None:
        return self._served.get((group, version, plural))

    def kind(self, group: str, plural: str) -> Resource | None:
        return self._kinds.get((group, plural))

    def named(self, group: str, kind: str) -> Resource | None:
        """The resource whose objects are of a kind."""
        return self._named.get((group, kind))

    def kinds(self) -> Iterator[Resource]:
        return iter(list(self._kinds.values()))

    def put(self, kind: Resource) -> None:
        """Serve a resource, in the place of what was served under its name."""
        self.remove(kind.group, kind.plural)
        self._kinds[kind.group, kind.plural] = kind
        self._named[kind.group, kind.kind] = kind
        for version in kind.versions.values():
            self._served[kind.group, version.version, kind.plural] = version
        for follower in self.followers:
            follower(kind)

    def answer(self, version: ServedVersion) -> None:
        """Serve what is answered and not kept: only by its path is it found."""
        self._served[version.resource.group, version.version, version.resource.plural] = version

    def answered(self, group: str, plural: str) -> ServedVersion | None:
        """What is served under a name without being kept."""
        if (group, plural) in self._kinds:
            return None
        return next((v for (g, _, p), v in self._served.items() if (g, p) == (group, plural)), None)

    def remove(self, group: str, plural: str) -> Resource | None:
        kind = self._kinds.pop((group, plural), None)
        if kind is not None:
            if self._named.get((group, kind.kind)) is kind:
                del self._named[group, kind.kind]
            for version in kind.versions:
                self._served.pop((group, version, plural), None)
        return kind
