"""What is served at one moment, as the documents clients discover it by."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Final

import orjson

from polykind.contract import JsonObject
from polykind.discovery.builtins import BUILTINS
from polykind.discovery.entries import CrdEntries, GroupVersionEntry, from_crd
from polykind.discovery.group import Group
from polykind.discovery.lru_cache import Document, Shelf
from polykind.discovery.openapi.documents import (
    builtin_document,
    crd_document,
    fingerprint,
    index,
    v2_parts,
    v2_protobuf,
)

_AGGREGATED_HEAD: Final = b'"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2",'


class Discovery:
    """An immutable snapshot; make a new one whenever a CRD changes.

    Making one costs next to nothing: documents are encoded when first asked for, and what `previous` had worked out
    about CRDs and groups that have not changed since is taken over. A CRD is the same if it is the same object or has
    the same name and resourceVersion. The CRDs given must not be changed afterwards. Who has made the entries of a CRD
    gives these.
    """

    def __init__(
        self,
        crds: Iterable[JsonObject | CrdEntries],
        builtins: Iterable[GroupVersionEntry] = BUILTINS,
        *,
        previous: Discovery | None = None,
    ) -> None:
        self._crds = tuple(crds)
        self._builtins = tuple(builtins)
        # Only what the previous snapshot knows is kept, not the snapshot: a chain of them would never be freed.
        self._known = previous._knowledge() if previous is not None else ({}, {})
        self._built: Shelf = previous._built if previous is not None else Shelf()

    def api_versions(self, address: str = "") -> bytes:
        """The answer to /api; `address` is the host:port by which clients reach this server."""
        core = self._groups.get("")
        return _line(
            {
                "kind": "APIVersions",
                "versions": core.versions if core else [],
                "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": address}],
            }
        )

    def groups(self) -> bytes:
        """The answer to /apis: an APIGroupList."""
        return self._group_list

    def group(self, name: str) -> bytes | None:
        """The answer to /apis/<name>: an APIGroup."""
        group = self._groups.get(name) if name else None
        return group.document if group else None

    def resources(self, group: str, version: str) -> bytes | None:
        """The answer to /apis/<group>/<version>, or with an empty group to /api/<version>: an APIResourceList."""
        found = self._groups.get(group)
        return found.resource_list(version) if found else None

    def aggregated(self, core: bool = False) -> Document:
        """The answer to /apis, or if `core` to /api, for clients that ask for aggregated discovery."""
        return self._aggregated_core if core else self._aggregated_groups

    def paths(self) -> list[str]:
        """The paths of groups and versions, sorted, for the index at /."""
        out = []
        for group in self._groups.values():
            root = f"/apis/{group.name}" if group.name else "/api"
            out += [root, *(f"{root}/{version}" for version in group.versions)]
        return sorted([*out, "/apis", "/apis/"])

    def openapi_v3_index(self) -> bytes:
        """The answer to /openapi/v3: the address of every document."""
        return self._openapi_index

    def openapi_v3(self, path: str) -> Document | None:
        """The document at /openapi/v3/<path>, such as apis/example.com/v1 or api/v1.

        Building one takes up to half a millisecond per resource in it: call this in a thread. A few documents are kept.
        """
        etag = self._openapi_tags.get(path)
        if etag is None:
            return None
        return self._built.get(etag, lambda: self._openapi_document(path))

    def openapi_v2(self) -> Document:
        """The answer to /openapi/v2, in JSON. Built from all resources: call this in a thread."""
        return self._built.get(self.openapi_v2_etag(), lambda: b"".join(self.openapi_v2_parts()))

    def openapi_v2_protobuf(self) -> Document:
        """The answer to /openapi/v2 in protobuf, which kubectl asks for. Call this in a thread."""
        etag = self.openapi_v2_etag()
        built = self._built.get(f"{etag}+protobuf", lambda: v2_protobuf(self._builtins, self._entries.values()))
        return Document(built.body, etag)

    def openapi_v2_parts(self) -> Iterator[bytes]:
        """The same document in pieces, for who would rather build it bit by bit."""
        return v2_parts(self._builtins, self._entries.values())

    def openapi_v2_etag(self) -> str:
        """The tag of the v2 document, without building it."""
        published = (entries for entries in self._entries.values() if entries.resources)
        return fingerprint("v2", published, self._builtins)

    @cached_property
    def _openapi_index(self) -> bytes:
        return index(self._openapi_tags)

    @cached_property
    def _openapi_tags(self) -> dict[str, str]:
        """The tag of every v3 document by its path."""
        out = {}
        for group in self._groups.values():
            root = f"apis/{group.name}" if group.name else "api"
            for version in group.versions:
                if group.resources(version):
                    builtin = [entry for entry in group.builtins if entry.version == version]
                    out[f"{root}/{version}"] = fingerprint(f"{root}/{version}", group.serving(version), builtin)
        return out

    def _openapi_document(self, path: str) -> bytes:
        *_, name, version = path.split("/")
        group = self._groups["" if path == f"api/{version}" else name]
        builtin = group.builtin(version)
        return builtin_document(builtin) if builtin else crd_document(group.serving(version), version)

    @cached_property
    def _entries(self) -> dict[str, CrdEntries]:
        known, _ = self._known
        out = {}
        for crd in self._crds:
            if isinstance(crd, CrdEntries):
                out[crd.name] = crd
                continue
            name = crd["metadata"]["name"]
            entries = known.get(name)
            if entries is None or not _same(entries.definition, crd):
                entries = from_crd(crd)
            # An equal definition replaces the old one, so that nobody keeps two of them alive.
            entries.definition = crd
            out[name] = entries
        self._crds = ()
        return out

    @cached_property
    def _groups(self) -> dict[str, Group]:
        """Every group that has a version."""
        _, known = self._known
        members: dict[str, list[CrdEntries]] = {}
        for entries in self._entries.values():
            if entries.versions:
                members.setdefault(entries.group, []).append(entries)
        builtins: dict[str, list[GroupVersionEntry]] = {}
        for entry in self._builtins:
            builtins.setdefault(entry.group, []).append(entry)
        out = {}
        for name in builtins.keys() | members.keys():
            own, crds = tuple(builtins.get(name, ())), tuple(members.get(name, ()))
            group = known.get(name)
            if group is None or group.members != crds or group.builtins != own:
                group = Group(name, own, crds)
            out[name] = group
        self._known = ({}, {})
        return out

    def _knowledge(self) -> tuple[dict[str, CrdEntries], dict[str, Group]]:
        # A snapshot that was never asked anything has learnt nothing, and hands on what it was handed.
        return (self._entries, self._groups) if "_groups" in self.__dict__ else self._known

    @cached_property
    def _group_list(self) -> bytes:
        groups = sorted((group for name, group in self._groups.items() if name), key=lambda group: group.place)
        return b'{"kind":"APIGroupList","apiVersion":"v1","groups":[%s]}\n' % b",".join(g.summary for g in groups)

    @cached_property
    def _aggregated_groups(self) -> Document:
        named = (group for name, group in self._groups.items() if name)
        return _discovery_list(sorted(named, key=lambda group: group.aggregated_place))

    @cached_property
    def _aggregated_core(self) -> Document:
        core = self._groups.get("")
        return _discovery_list([core] if core else [])


def _discovery_list(groups: Iterable[Group]) -> Document:
    items = b",".join([group.aggregated for group in groups if group.aggregated])
    rest = b'"metadata":{},"items":[%s]}\n' % items
    # The tag is that of the list without its type, so that it says the same for every encoding.
    digest = hashlib.sha512(b"{")
    digest.update(memoryview(rest)[:-1])
    return Document(b"{" + _AGGREGATED_HEAD + rest, digest.hexdigest().upper())


def _same(one: JsonObject, other: JsonObject) -> bool:
    if one is other:
        return True
    revision = one["metadata"].get("resourceVersion")
    return bool(revision) and revision == other["metadata"].get("resourceVersion")


def _line(value: JsonObject) -> bytes:
    return orjson.dumps(value) + b"\n"
