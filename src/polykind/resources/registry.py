"""The registry of served resources."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from polykind.resources.resource import Resource, ServedVersion


class Registry:
    """All resources that are served now, found by group, version and plural or by kind."""

    def __init__(self) -> None:
        self._resources: dict[tuple[str, str], Resource] = {}
        self._versions: dict[tuple[str, str, str], ServedVersion] = {}
        self._by_kind: dict[tuple[str, str], Resource] = {}
        self.observers: list[Callable[[Resource], None]] = []
        """Functions to call with each resource that is added or replaced."""

    def find(self, group: str, version: str, plural: str) -> ServedVersion | None:
        return self._versions.get((group, version, plural))

    def resource(self, group: str, plural: str) -> Resource | None:
        return self._resources.get((group, plural))

    def resource_of_kind(self, group: str, kind: str) -> Resource | None:
        """Return the resource whose objects have a kind."""
        return self._by_kind.get((group, kind))

    def resources(self) -> Iterator[Resource]:
        return iter(list(self._resources.values()))

    def put(self, resource: Resource) -> None:
        """Serve a resource in place of the one with the same group and plural."""
        self.remove(resource.group, resource.plural)
        self._resources[resource.group, resource.plural] = resource
        self._by_kind[resource.group, resource.kind] = resource
        for version in resource.versions.values():
            self._versions[resource.group, version.version, resource.plural] = version
        for observer in self.observers:
            observer(resource)

    def add_review(self, version: ServedVersion) -> None:
        """Serve a review. A review is not stored, so it is not listed among the resources."""
        self._versions[version.resource.group, version.version, version.resource.plural] = version

    def find_review(self, group: str, plural: str) -> ServedVersion | None:
        """Return the review of a group and plural; None if there is none."""
        if (group, plural) in self._resources:
            return None
        return next((v for (g, _, p), v in self._versions.items() if (g, p) == (group, plural)), None)

    def remove(self, group: str, plural: str) -> Resource | None:
        """Stop serving a resource and return it. Return None if it was not served."""
        resource = self._resources.pop((group, plural), None)
        if resource is not None:
            if self._by_kind.get((group, resource.kind)) is resource:
                del self._by_kind[group, resource.kind]
            for version in resource.versions:
                self._versions.pop((group, version, plural), None)
        return resource
