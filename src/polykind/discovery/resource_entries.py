"""Discovery entries: the information about a resource that discovery documents contain, and its source, the CRD."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Final

import msgspec
import orjson

from polykind.contract import JsonObject
from polykind.crd.structural import is_structural
from polykind.crd.summary import load_full
from polykind.crd.versions import storage_version_hash

_VERBS: Final = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
_TERMINATING_VERBS: Final = ("delete", "deletecollection", "get", "list", "watch")
_SUBRESOURCE_VERBS: Final = ("get", "patch", "update")


class SubresourceEntry(msgspec.Struct, frozen=True):
    """The entry of a subresource. `group` and `version` are empty if its kind is in the resource's group version."""

    name: str
    kind: str
    verbs: tuple[str, ...] = _SUBRESOURCE_VERBS
    group: str = ""
    version: str = ""


class ResourceEntry(msgspec.Struct, frozen=True, dict=True):
    """The entry of a resource at one version.

    `group` and `version` are empty for a built-in resource, because kube-apiserver omits them in its documents.
    """

    name: str
    singular: str
    kind: str
    namespaced: bool
    verbs: tuple[str, ...] = _VERBS
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    storage_hash: str = ""
    subresources: tuple[SubresourceEntry, ...] = ()
    group: str = ""
    version: str = ""

    @property
    def stored(self) -> bool:
        """True if the server stores objects of the resource. False for reviews, such as SubjectAccessReviews."""
        return "get" in self.verbs

    @cached_property
    def listed(self) -> bytes:
        """The JSON of the resource and its subresources as items of an APIResourceList, separated by commas."""
        items = [
            _without_empty(
                name=self.name,
                singularName=self.singular,
                namespaced=self.namespaced,
                kind=self.kind,
                verbs=self.verbs,
                shortNames=self.short_names,
                categories=self.categories,
                storageVersionHash=self.storage_hash,
            )
        ]
        items += [
            _without_empty(
                name=f"{self.name}/{sub.name}",
                singularName="",
                namespaced=self.namespaced,
                group=sub.group,
                version=sub.version,
                kind=sub.kind,
                verbs=sub.verbs,
            )
            for sub in self.subresources
        ]
        return b",".join(map(orjson.dumps, items))

    @cached_property
    def aggregated(self) -> bytes:
        """The JSON of the resource as an item of an APIVersionDiscovery."""
        return orjson.dumps(
            _without_empty(
                resource=self.name,
                responseKind={"group": self.group, "version": self.version, "kind": self.kind},
                scope="Namespaced" if self.namespaced else "Cluster",
                singularResource=self.singular,
                verbs=self.verbs,
                shortNames=self.short_names,
                categories=self.categories,
                subresources=[self._subresource(sub) for sub in self.subresources],
            )
        )

    def _subresource(self, sub: SubresourceEntry) -> JsonObject:
        group, version = (sub.group, sub.version) if sub.version else (self.group, self.version)
        return {
            "subresource": sub.name,
            "responseKind": {"group": group, "version": version, "kind": sub.kind},
            "verbs": sub.verbs,
        }


_REQUIRED_FIELDS: Final = frozenset({"singularName", "namespaced", "singularResource", "verbs"})


def _without_empty(**fields: Any) -> JsonObject:
    return {key: value for key, value in fields.items() if value or key in _REQUIRED_FIELDS}


class GroupVersionEntry(msgspec.Struct, frozen=True):
    """A built-in group version. `group_priority` sorts all groups, `version_priority` the versions of the group."""

    group: str
    version: str
    group_priority: int
    version_priority: int
    resources: tuple[ResourceEntry, ...]


class CrdEntries(msgspec.Struct, eq=False, dict=True):
    """The discovery entries of a CRD: its served versions, and its resource at each version.

    `resources` is empty until the CRD is established.
    """

    name: str
    group: str
    versions: tuple[str, ...]
    resources: Mapping[str, ResourceEntry]
    crd: JsonObject
    """The CRD, or its summary without schemas."""
    fragments: dict[str, bytes] = {}
    """Compressed parts of OpenAPI documents, by the kind of document."""

    def reuse(self, previous: CrdEntries | None) -> CrdEntries:
        """Take over the OpenAPI parts of the previous entries of this CRD, unless its spec has changed. Return self."""
        if previous is not None and previous.revision == self.revision:
            self.fragments = previous.fragments
        return self

    def prepare(self) -> CrdEntries:
        """Encode the entries for aggregated discovery now, so that the first request does not have to. Return self."""
        for resource in self.resources.values():
            _ = resource.aggregated
        return self

    @cached_property
    def revision(self) -> str:
        """A string that changes whenever the CRD's spec changes, and with it the CRD's OpenAPI schemas."""
        metadata = self.crd["metadata"]
        uid, generation = metadata.get("uid"), metadata.get("generation")
        if uid and generation:
            return f"{self.name}/{uid}/{generation}"
        content = repr(load_full(self.crd)["spec"]).encode(errors="surrogatepass")
        return f"{self.name}/{hashlib.sha256(content).hexdigest()}"

    def structural_schemas(self) -> dict[str, JsonObject]:
        """Return the structural schemas of the CRD, by version, for OpenAPI. Each call decodes the CRD again."""
        spec, schemas = load_full(self.crd)["spec"], {}
        # Only a CRD with preserveUnknownFields can have schemas that are not structural.
        prunes = spec.get("preserveUnknownFields") is not True
        for version in map(_object, _items(spec.get("versions"))):
            schema = _object(version.get("schema")).get("openAPIV3Schema")
            if isinstance(schema, dict) and (prunes or is_structural(schema)):
                schemas[_text(version.get("name"))] = schema
        return schemas


def from_crd(crd: JsonObject) -> CrdEntries:
    """Return the entries of a v1 CustomResourceDefinition."""
    spec = _object(crd.get("spec"))
    served = [version for version in map(_object, _items(spec.get("versions"))) if version.get("served") is True]
    true_types = true_conditions(crd)
    return CrdEntries(
        name=crd["metadata"]["name"],
        group=_text(spec.get("group")),
        versions=tuple(_text(version.get("name")) for version in served),
        resources=_resources(crd, served, true_types) if "Established" in true_types else {},
        crd=crd,
    )


def true_conditions(crd: JsonObject) -> set[str]:
    """Return the types of the CRD's conditions whose status is True."""
    conditions = map(_object, _items(_object(crd.get("status")).get("conditions")))
    return {_text(schemas.get("type")) for schemas in conditions if schemas.get("status") == "True"}


def _resources(crd: JsonObject, served: Sequence[JsonObject], true_types: set[str]) -> dict[str, ResourceEntry]:
    spec, names = crd["spec"], _object(_object(crd.get("status")).get("acceptedNames"))
    # Like kube-apiserver, publish no storageVersionHash if the storage version is not served.
    storage_is_served = any(version.get("storage") is True for version in served)
    common: dict[str, Any] = {
        "name": _text(names.get("plural")),
        "singular": _text(names.get("singular")),
        "kind": _text(names.get("kind")),
        "namespaced": spec.get("scope") == "Namespaced",
        "verbs": _TERMINATING_VERBS if "Terminating" in true_types else _VERBS,
        "short_names": tuple(map(_text, _items(names.get("shortNames")))),
        "categories": tuple(map(_text, _items(names.get("categories")))),
        "storage_hash": storage_version_hash(crd) if storage_is_served else "",
        "group": _text(spec.get("group")),
    }
    return {
        _text(version.get("name")): ResourceEntry(
            version=_text(version.get("name")),
            subresources=_subresources(common["kind"], _object(version.get("subresources"))),
            **common,
        )
        for version in served
    }


def _subresources(kind: str, declared: JsonObject) -> tuple[SubresourceEntry, ...]:
    items = []
    if declared.get("status") is not None:
        items.append(SubresourceEntry("status", kind))
    if declared.get("scale") is not None:
        items.append(SubresourceEntry("scale", "Scale", group="autoscaling", version="v1"))
    return tuple(items)


def _object(value: Any) -> JsonObject:
    return value if isinstance(value, dict) else {}


def _items(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
