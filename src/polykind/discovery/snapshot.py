"""A snapshot of the served resources, with its discovery and OpenAPI documents."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from functools import cached_property
from threading import Lock
from typing import Final

import orjson

from polykind.contract import JsonObject
from polykind.discovery.builtins import default_builtins
from polykind.discovery.document_cache import Document, DocumentCache
from polykind.discovery.group import Group
from polykind.discovery.openapi import documents
from polykind.discovery.openapi.endpoint_documents import Endpoint, root_endpoints
from polykind.discovery.resource_entries import CrdEntries, GroupVersionEntry, from_crd

_MANY_CRDS: Final = 200
_AGGREGATED_HEAD: Final = b'"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2",'


class Discovery:
    """An immutable snapshot of the served resources. The CRD controller creates a new snapshot whenever a CRD changes.

    Creating a snapshot is cheap: documents are encoded on first use, and entries and groups that have not changed since
    the snapshot `previous` are reused. A CRD is unchanged if it is the same object, or if its name and resourceVersion
    are equal. The caller must not modify the given CRDs afterwards, and may pass CrdEntries instead of CRDs.
    """

    def __init__(
        self,
        crds: Iterable[JsonObject | CrdEntries],
        builtins: Iterable[GroupVersionEntry] | None = None,
        *,
        previous: Discovery | None = None,
    ) -> None:
        self._crds = tuple(crds)
        self._crd_count = len(self._crds)
        self._builtins = tuple(default_builtins() if builtins is None else builtins)
        # Keep only the entries and groups of the previous snapshot. A reference to the snapshot itself would keep all
        # earlier snapshots in memory.
        self._reusable = previous._reusable_parts() if previous is not None else ({}, {})
        self._lock = Lock()
        self._built: tuple[dict[str, CrdEntries], dict[str, Group]] | None = None
        self._cache: DocumentCache = previous._cache if previous is not None else DocumentCache()

    def api_versions(self, address: str = "") -> bytes:
        """Return the document at /api. `address` is the host:port by which clients reach this server."""
        core = self._groups.get("")
        return _line(
            {
                "kind": "APIVersions",
                "versions": core.versions if core else [],
                "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": address}],
            }
        )

    def groups(self) -> bytes:
        """Return the document at /apis: an APIGroupList."""
        return self._group_list

    def group(self, name: str) -> bytes | None:
        """Return the document at /apis/<name>, an APIGroup, or None if there is no such group."""
        group = self._groups.get(name) if name else None
        return group.document if group else None

    def resources(self, group: str, version: str) -> bytes | None:
        """Return the document at /apis/<group>/<version>, or /api/<version> for the core group: an APIResourceList.

        Return None if the version is not served.
        """
        found = self._groups.get(group)
        return found.resource_list(version) if found else None

    def aggregated(self, core: bool = False) -> Document:
        """Return the aggregated discovery document at /apis, or at /api if `core` is true."""
        return self._aggregated_core if core else self._aggregated_groups

    def paths(self) -> list[str]:
        """Return the sorted URL paths of all groups and versions, for the index document at /."""
        result = []
        for group in self._groups.values():
            root = f"/apis/{group.name}" if group.name else "/api"
            result += [root, *(f"{root}/{version}" for version in group.versions)]
        return sorted([*result, "/apis", "/apis/"])

    def openapi_v3_index(self) -> bytes:
        """Return the document at /openapi/v3: the index of all v3 documents."""
        return self._openapi_index

    def openapi_v3(self, path: str) -> Document | None:
        """Return the document at /openapi/v3/<path>, such as apis/example.com/v1 or api/v1. Return None if there is no
        such document.

        Call this in a thread: building a document takes up to half a millisecond per resource. Documents are cached.
        """
        etag = self._openapi_tags.get(path)
        if etag is None:
            return None
        return self._cache.get(etag, lambda: self._openapi_document(path))

    def openapi_v2(self) -> Document:
        """Return the document at /openapi/v2 in JSON.

        Call this in a thread, because the document covers all resources.
        """
        return self._cache.get(self.openapi_v2_etag(), lambda: b"".join(self.openapi_v2_parts()))

    def openapi_v2_protobuf(self) -> Document:
        """Return the document at /openapi/v2 in protobuf, which kubectl requests. Call this in a thread."""
        etag = self.openapi_v2_etag()
        document = self._cache.get(
            f"{etag}+protobuf", lambda: documents.v2_protobuf(self._builtins, self._entries.values())
        )
        return Document(document.body, etag)

    def openapi_v2_parts(self) -> Iterator[bytes]:
        """Yield the v2 document in pieces, so that the caller can let other tasks run between two pieces."""
        return documents.v2_parts(self._builtins, self._entries.values())

    def openapi_v2_etag(self) -> str:
        """Return the ETag of the v2 document without building it."""
        published = (entries for entries in self._entries.values() if entries.resources)
        return documents.fingerprint("v2", published, self._builtins)

    @cached_property
    def _openapi_index(self) -> bytes:
        return documents.index(self._openapi_tags)

    @cached_property
    def _openapi_tags(self) -> dict[str, str]:
        """The ETag of every v3 document, by path."""
        result = {path: documents.fingerprint(path, (), self._builtins) for path in self._endpoints}
        for group in self._groups.values():
            root = f"apis/{group.name}" if group.name else "api"
            for version in group.versions:
                if group.resources(version):
                    builtin = [entry for entry in group.builtins if entry.version == version]
                    result[f"{root}/{version}"] = documents.fingerprint(
                        f"{root}/{version}", group.serving(version), builtin
                    )
        return result

    @cached_property
    def _endpoints(self) -> dict[str, Endpoint]:
        """The endpoints with a separate v3 document, by the path of the document."""
        return {endpoint.document: endpoint for endpoint in root_endpoints(entry.group for entry in self._builtins)}

    def _openapi_document(self, path: str) -> bytes:
        if path in self._endpoints:
            return documents.endpoint_document(self._endpoints[path])
        *_, name, version = path.split("/")
        group = self._groups["" if path == f"api/{version}" else name]
        builtin = group.builtin(version)
        return (
            documents.builtin_document(builtin) if builtin else documents.crd_document(group.serving(version), version)
        )

    @property
    def _entries(self) -> dict[str, CrdEntries]:
        return self._parts[0]

    @property
    def _groups(self) -> dict[str, Group]:
        return self._parts[1]

    @cached_property
    def _parts(self) -> tuple[dict[str, CrdEntries], dict[str, Group]]:
        """The entries of all CRDs, by name, and all API groups, by name."""
        with self._lock:
            # Several threads may need the parts at once. The first one builds them and frees what they are made of.
            if self._built is None:
                entries = self._build_entries()
                self._built = entries, self._build_groups(entries)
                self._crds, self._reusable = (), ({}, {})
            return self._built

    def _build_entries(self) -> dict[str, CrdEntries]:
        reusable, _ = self._reusable
        result = {}
        for crd in self._crds:
            if isinstance(crd, CrdEntries):
                result[crd.name] = crd
                continue
            name = crd["metadata"]["name"]
            entries = reusable.get(name)
            if entries is None or not _same_revision(entries.crd, crd):
                entries = from_crd(crd).reuse(entries)
            # Keep the new CRD object instead of the equal old one, so that the memory of the old one can be freed.
            entries.crd = crd
            result[name] = entries
        return result

    def _build_groups(self, entries_by_crd: dict[str, CrdEntries]) -> dict[str, Group]:
        """All API groups that have at least one version, by name."""
        _, reusable = self._reusable
        members: dict[str, list[CrdEntries]] = {}
        for entries in entries_by_crd.values():
            if entries.versions:
                members.setdefault(entries.group, []).append(entries)
        builtins: dict[str, list[GroupVersionEntry]] = {}
        for entry in self._builtins:
            builtins.setdefault(entry.group, []).append(entry)
        result = {}
        for name in builtins.keys() | members.keys():
            own_builtins, crds = tuple(builtins.get(name, ())), tuple(members.get(name, ()))
            group = reusable.get(name)
            if group is None or group.members != crds or group.builtins != own_builtins:
                group = Group(name, own_builtins, crds)
            result[name] = group
        return result

    def _reusable_parts(self) -> tuple[dict[str, CrdEntries], dict[str, Group]]:
        # If this snapshot was never used, it has no entries and groups. Return those of the snapshot before it.
        return self._built or self._reusable

    def prepare(self) -> None:
        """Build the parts of the discovery documents. For thousands of CRDs, call this in a thread first."""
        _ = self._group_list, self._aggregated_groups

    @property
    def prepared(self) -> bool:
        """True if discovery documents are ready, or if there are so few CRDs that they need no thread."""
        return self._crd_count < _MANY_CRDS or "_aggregated_groups" in self.__dict__

    @cached_property
    def _group_list(self) -> bytes:
        groups = sorted((group for name, group in self._groups.items() if name), key=lambda group: group.sort_key)
        return b'{"kind":"APIGroupList","apiVersion":"v1","groups":[%s]}\n' % b",".join(g.summary for g in groups)

    @cached_property
    def _aggregated_groups(self) -> Document:
        named = (group for name, group in self._groups.items() if name)
        return _discovery_list(sorted(named, key=lambda group: group.aggregated_sort_key))

    @cached_property
    def _aggregated_core(self) -> Document:
        core = self._groups.get("")
        return _discovery_list([core] if core else [])


def _discovery_list(groups: Iterable[Group]) -> Document:
    parts = [b"{", _AGGREGATED_HEAD, b'"metadata":{},"items":[']
    for group in groups:
        if group.aggregated:
            parts += (group.aggregated, b",")
    if parts[-1] == b",":
        parts.pop()
    body = b"".join([*parts, b"]}\n"])
    # As in kube-apiserver, the ETag is the hash of the list without apiVersion and kind.
    digest = hashlib.sha512(b"{")
    digest.update(memoryview(body)[1 + len(_AGGREGATED_HEAD) : -1])
    return Document(body, digest.hexdigest().upper())


def _same_revision(one: JsonObject, other: JsonObject) -> bool:
    if one is other:
        return True
    revision = one["metadata"].get("resourceVersion")
    return bool(revision) and revision == other["metadata"].get("resourceVersion")


def _line(value: JsonObject) -> bytes:
    return orjson.dumps(value) + b"\n"
