"""The registry of served resources."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from polykind.resources.resource import Resource, ServedVersion


class DeclaredResource(NamedTuple):
    """A built-in resource that is served but not built yet, so that unused kinds cost neither time nor memory."""

    group: str
    plural: str
    kind: str
    versions: tuple[str, ...]
    namespaced: bool
    prefix: str
    """The prefix of the objects' keys in the store, or "" if objects are not stored."""
    build: Callable[[], Resource]


class Registry:
    """All resources that are served now, found by group, version and plural or by kind.

    A declared resource is built when it is first looked up.
    """

    def __init__(self) -> None:
        self._resources: dict[tuple[str, str], Resource] = {}
        self._versions: dict[tuple[str, str, str], ServedVersion] = {}
        self._by_kind: dict[tuple[str, str], Resource] = {}
        self._declared: dict[tuple[str, str], DeclaredResource] = {}
        self._declared_kinds: dict[tuple[str, str], str] = {}
        """The plural of each declared resource, by group and kind."""
        self._builtin: set[tuple[str, str]] = set()
        """The built-in API versions (group and version). As in kube-apiserver, CRDs cannot add resources to them."""
        self._disabled: set[tuple[str, str, str]] = set()
        """Group, version and plural of built-in resources without endpoints."""
        self.observers: list[Callable[[Resource], None]] = []
        """Functions to call with each resource that is added or replaced."""
        self.removal_observers: list[Callable[[Resource], None]] = []
        """Functions to call with each resource that is no longer served. They drop what they keep for the resource."""

    def find(self, group: str, version: str, plural: str) -> ServedVersion | None:
        found = self._versions.get((group, version, plural))
        if found is None and (group, plural) in self._declared:
            self._build(group, plural)
            return self._versions.get((group, version, plural))
        return found

    def resource(self, group: str, plural: str) -> Resource | None:
        self._build(group, plural)
        return self._resources.get((group, plural))

    def resource_of_kind(self, group: str, kind: str) -> Resource | None:
        """Return the resource whose objects have this kind, or None if no such resource is served."""
        self._build(group, self._declared_kinds.get((group, kind), ""))
        return self._by_kind.get((group, kind))

    def equivalents(self, resource: Resource, subresource: str) -> tuple[str, ...]:
        """Return the served apiVersions of the objects of a resource that have a subresource.

        Some objects are served in two groups: Events. As in kube-apiserver, these are the built-in resources whose
        objects are stored under the same prefix.
        """
        return tuple(
            f"{group}/{version}".removeprefix("/")
            for group, version in resource.versions_with(subresource)
            if (group, version, resource.plural) not in self._disabled
        )

    def resources(self) -> Iterator[Resource]:
        """Return the resources that have been built.

        All other resources have not been used since the server's start.
        """
        return iter(list(self._resources.values()))

    def declared(self) -> Iterator[DeclaredResource]:
        """Return the built-in resources that have not been built yet, because no request has used them."""
        return iter(list(self._declared.values()))

    def declare(self, declared: DeclaredResource) -> None:
        """Serve a resource that is built when it is first looked up."""
        self._declared[declared.group, declared.plural] = declared
        self._declared_kinds[declared.group, declared.kind] = declared.plural
        for version in declared.versions:
            if (declared.group, version, declared.plural) not in self._disabled:
                self._builtin.add((declared.group, version))

    @property
    def builtin_versions(self) -> frozenset[tuple[str, str]]:
        """The group and version of every built-in API version that is served."""
        return frozenset(self._builtin)

    def disable(self, group: str, version: str, plural: str) -> None:
        """Serve no endpoints for a built-in resource at this version."""
        self._disabled.add((group, version, plural))

    def build_for_key(self, key: str) -> None:
        """Build the declared resource that a key of the store belongs to. Do nothing if there is no such resource."""
        for declared in self.declared():
            if declared.prefix and key.startswith(declared.prefix):
                self._build(declared.group, declared.plural)

    def _build(self, group: str, plural: str) -> None:
        declared = self._declared.get((group, plural))
        if declared is None:
            return
        resource = declared.build()
        if declared.prefix:
            self.put(resource)
            return
        self._undeclare(group, plural)
        for version in resource.versions.values():
            self.add_review(version)

    def _undeclare(self, group: str, plural: str) -> None:
        declared = self._declared.pop((group, plural), None)
        if declared is not None:
            del self._declared_kinds[group, declared.kind]

    def has_builtin(self, group: str, plural: str) -> bool:
        """True if a built-in resource has this group and plural."""
        resource = self._resources.get((group, plural))
        return (group, plural) in self._declared or (resource is not None and resource.is_builtin)

    def put(self, resource: Resource) -> None:
        """Serve a resource and replace any resource with the same group and plural.

        A custom resource cannot replace a built-in one. It is not served at a group and version that are built in.
        """
        group = resource.group
        if not resource.is_builtin and self.has_builtin(group, resource.plural):
            return
        self._discard(group, resource.plural)
        self._resources[group, resource.plural] = resource
        if resource.is_builtin or (group, resource.kind) not in self._declared_kinds:
            holder = self._by_kind.get((group, resource.kind))
            if holder is None or resource.is_builtin or not holder.is_builtin:
                self._by_kind[group, resource.kind] = resource
        for version in resource.versions.values():
            if resource.is_builtin:
                if (group, version.version, resource.plural) in self._disabled:
                    continue
                self._builtin.add((group, version.version))
            elif (group, version.version) in self._builtin:
                continue
            self._versions[group, version.version, resource.plural] = version
        for observer in self.observers:
            observer(resource)

    def add_review(self, version: ServedVersion) -> None:
        """Serve a review, such as a SubjectAccessReview. `resources` does not return it, because it is not stored."""
        self._undeclare(version.resource.group, version.resource.plural)
        key = (version.resource.group, version.version, version.resource.plural)
        if key not in self._disabled:
            self._versions[key] = version

    def find_review(self, group: str, plural: str) -> ServedVersion | None:
        """Return the review of a group and plural, or None if there is no such review."""
        self._build(group, plural)
        if (group, plural) in self._resources:
            return None
        return next((v for (g, _, p), v in self._versions.items() if (g, p) == (group, plural)), None)

    def remove(self, group: str, plural: str) -> Resource | None:
        """Stop serving a resource and return it. Return None if it was not served."""
        resource = self._discard(group, plural)
        if resource is not None:
            for observer in self.removal_observers:
                observer(resource)
        return resource

    def _discard(self, group: str, plural: str) -> Resource | None:
        self._undeclare(group, plural)
        resource = self._resources.pop((group, plural), None)
        if resource is not None:
            if self._by_kind.get((group, resource.kind)) is resource:
                del self._by_kind[group, resource.kind]
            for version in resource.versions:
                self._versions.pop((group, version, plural), None)
        return resource
