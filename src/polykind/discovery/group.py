"""The discovery documents of one API group. They are encoded when first needed, and cached until the group changes."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from operator import attrgetter
from typing import Final

import orjson

from polykind.contract import JsonObject
from polykind.crd.versions import priority_key
from polykind.discovery.resource_entries import CrdEntries, GroupVersionEntry, ResourceEntry

CRD_GROUP_PRIORITY: Final = 1000
CRD_VERSION_PRIORITY: Final = 100

_by_name = attrgetter("name")


class Group:
    """One API group. `builtins` are its built-in versions, and `members` the entries of its CRDs."""

    def __init__(self, name: str, builtins: tuple[GroupVersionEntry, ...], members: tuple[CrdEntries, ...]) -> None:
        self.name = name
        self.builtins = builtins
        self.members = members
        self._lists: dict[str, bytes | None] = {}

    @cached_property
    def versions(self) -> list[str]:
        """The versions of the group, the preferred one first.

        As in kube-apiserver, a CRD adds its versions as soon as it is created, even if it is not established.
        """
        priorities = {version: CRD_VERSION_PRIORITY for member in self.members for version in member.versions}
        priorities |= {entry.version: entry.version_priority for entry in self.builtins}
        return sorted(priorities, key=lambda version: (-priorities[version], priority_key(version), version))

    @cached_property
    def sort_key(self) -> tuple[int, str]:
        """The key that sorts groups in an APIGroupList: by priority, then by the smallest `<version>.<group>`."""
        priorities = [
            (-CRD_GROUP_PRIORITY, f"{version}.{self.name}") for member in self.members for version in member.versions
        ]
        priorities += [(-entry.group_priority, f"{entry.version}.{self.name}") for entry in self.builtins]
        return min(priorities)

    @cached_property
    def aggregated_sort_key(self) -> tuple[int, str]:
        """The key that sorts groups in aggregated discovery: by priority, then by name."""
        return (min([-CRD_GROUP_PRIORITY, *(-entry.group_priority for entry in self.builtins)]), self.name)

    @cached_property
    def summary(self) -> bytes:
        """The JSON of the group as an item of an APIGroupList."""
        return orjson.dumps(self._fields())

    @cached_property
    def document(self) -> bytes:
        """The JSON of the group as an APIGroup, the document at /apis/<group>."""
        return orjson.dumps({"kind": "APIGroup", "apiVersion": "v1", **self._fields()}) + b"\n"

    def _fields(self) -> JsonObject:
        versions = [{"groupVersion": f"{self.name}/{version}", "version": version} for version in self.versions]
        return {"name": self.name, "versions": versions, "preferredVersion": versions[0]}

    def resources(self, version: str) -> list[ResourceEntry]:
        """Return the resources of a version, sorted by name. CRDs cannot add resources to a built-in version."""
        builtin = self.builtin(version)
        if builtin is not None:
            return list(builtin.resources)
        resources = [member.resources[version] for member in self.members if version in member.resources]
        resources.sort(key=_by_name)
        return resources

    def builtin(self, version: str) -> GroupVersionEntry | None:
        """Return the built-in version with this name, or None if there is no such version."""
        return next((entry for entry in self.builtins if entry.version == version), None)

    def serving(self, version: str) -> list[CrdEntries]:
        """Return the established CRDs that serve a version. Return an empty list if the version is built in."""
        if self.builtin(version) is not None:
            return []
        return [member for member in self.members if version in member.resources]

    def resource_list(self, version: str) -> bytes | None:
        """Return the JSON of the APIResourceList of a version, or None if the group serves nothing at that version."""
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
        return b'%s"groupVersion":%s,"resources":[%s]}\n' % (head, group_version, _join(r.listed for r in resources))

    @cached_property
    def aggregated(self) -> bytes:
        """The JSON of the group as an item of an APIGroupDiscoveryList, or empty bytes if the group serves nothing."""
        metadata = orjson.dumps({"name": self.name} if self.name else {})
        head, separator = b'{"metadata":%s,"versions":[' % metadata, b""
        # Copy the bytes of thousands of resources only once, with a single join.
        parts = [head]
        for version in self.versions:
            resources = self.resources(version)
            if resources:
                parts.append(b'%s{"version":%s,"resources":[' % (separator, orjson.dumps(version)))
                for resource in resources:
                    parts += (resource.aggregated, b",")
                parts[-1] = b'],"freshness":"Current"}'
                separator = b","
        return b"".join([*parts, b"]}"]) if separator else b""


def _join(parts: Iterable[bytes]) -> bytes:
    return b",".join(parts)
