"""The documents of one API group, made on demand from what its members say and kept until a member changes."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from operator import attrgetter
from typing import Final

import orjson

from polykind.contract import JsonObject
from polykind.crd.versions import priority_key
from polykind.discovery.entries import CrdEntries, GroupVersionEntry, ResourceEntry

CRD_GROUP_PRIORITY: Final = 1000
CRD_VERSION_PRIORITY: Final = 100

_by_name = attrgetter("name")


class Group:
    """One group: its built-in versions and the CRDs that name it."""

    def __init__(self, name: str, builtins: tuple[GroupVersionEntry, ...], members: tuple[CrdEntries, ...]) -> None:
        self.name = name
        self.builtins = builtins
        self.members = members
        self._lists: dict[str, bytes | None] = {}

    @cached_property
    def versions(self) -> list[str]:
        """The versions the group is said to have, the preferred one first.

        As in the reference a CRD counts here from its creation on, even before (or without ever) being established.
        """
        ranks = {version: CRD_VERSION_PRIORITY for member in self.members for version in member.versions}
        ranks |= {entry.version: entry.version_priority for entry in self.builtins}
        return sorted(ranks, key=lambda version: (-ranks[version], priority_key(version), version))

    @cached_property
    def place(self) -> tuple[int, str]:
        """Where the group stands in the list of groups: by priority, then by the least `<version>.<group>` it has."""
        ranks = [
            (-CRD_GROUP_PRIORITY, f"{version}.{self.name}") for member in self.members for version in member.versions
        ]
        ranks += [(-entry.group_priority, f"{entry.version}.{self.name}") for entry in self.builtins]
        return min(ranks)

    @cached_property
    def aggregated_place(self) -> tuple[int, str]:
        """Where the group stands in aggregated discovery: by priority, then by name."""
        return (min([-CRD_GROUP_PRIORITY, *(-entry.group_priority for entry in self.builtins)]), self.name)

    @cached_property
    def summary(self) -> bytes:
        """The group as an item of an APIGroupList."""
        return orjson.dumps(self._described())

    @cached_property
    def document(self) -> bytes:
        """The group as an APIGroup."""
        return orjson.dumps({"kind": "APIGroup", "apiVersion": "v1", **self._described()}) + b"\n"

    def _described(self) -> JsonObject:
        versions = [{"groupVersion": f"{self.name}/{version}", "version": version} for version in self.versions]
        return {"name": self.name, "versions": versions, "preferredVersion": versions[0]}

    def resources(self, version: str) -> list[ResourceEntry]:
        """What is served at a version, by name; a built-in version has nothing but what is built in."""
        builtin = self.builtin(version)
        if builtin is not None:
            return list(builtin.resources)
        return sorted((member.resources[version] for member in self.serving(version)), key=_by_name)

    def builtin(self, version: str) -> GroupVersionEntry | None:
        """The built-in version of that name."""
        return next((entry for entry in self.builtins if entry.version == version), None)

    def serving(self, version: str) -> list[CrdEntries]:
        """The established CRDs that serve a version, unless it is built in."""
        if self.builtin(version) is not None:
            return []
        return [member for member in self.members if version in member.resources]

    def resource_list(self, version: str) -> bytes | None:
        """The APIResourceList of a version, None if nothing is served there."""
        if version not in self.versions:
            return None
        if version not in self._lists:
            self._lists[version] = self._resource_list(version)
        return self._lists[version]

    def _resource_list(self, version: str) -> bytes | None:
        resources = self.resources(version)
        if not resources:
            return None
        group_version = orjson.dumps(f"{self.name}/{version}" if self.name else version)
        head = b'{"kind":"APIResourceList",'
        if self.name:
            head += b'"apiVersion":"v1",'
        return b'%s"groupVersion":%s,"resources":[%s]}\n' % (head, group_version, _joined(r.listed for r in resources))

    @cached_property
    def aggregated(self) -> bytes:
        """The group as an item of an APIGroupDiscoveryList, empty if nothing of it is served."""
        versions = []
        for version in self.versions:
            resources = self.resources(version)
            if resources:
                items = _joined(resource.aggregated for resource in resources)
                name = orjson.dumps(version)
                versions.append(b'{"version":%s,"resources":[%s],"freshness":"Current"}' % (name, items))
        if not versions:
            return b""
        metadata = orjson.dumps({"name": self.name} if self.name else {})
        return b'{"metadata":%s,"versions":[%s]}' % (metadata, _joined(versions))


def _joined(parts: Iterable[bytes]) -> bytes:
    return b",".join(parts)
