"""What discovery says of one resource, and how a CRD comes to say it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

import orjson

from polykind.contract import JsonObject
from polykind.crd.structural import is_structural
from polykind.crd.summary import load_full
from polykind.crd.versions import storage_version_hash

_VERBS: Final = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
_TERMINATING_VERBS: Final = ("delete", "deletecollection", "get", "list", "watch")
_SUBRESOURCE_VERBS: Final = ("get", "patch", "update")


@dataclass(frozen=True)
class SubresourceEntry:
    """A subresource; `group` and `version` are set where its kind is not of the resource's own group version."""

    name: str
    kind: str
    verbs: tuple[str, ...] = _SUBRESOURCE_VERBS
    group: str = ""
    version: str = ""


@dataclass(frozen=True)
class ResourceEntry:
    """One resource at one version. `group` and `version` stay empty for built-ins, as the reference leaves them out."""

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
    def kept(self) -> bool:
        """Whether its objects are there to be read again, and not only answered."""
        return "get" in self.verbs

    @cached_property
    def listed(self) -> bytes:
        """The resource and its subresources as items of an APIResourceList, joined by commas."""
        out = [
            _filled(
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
        out += [
            _filled(
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
        return b",".join(map(orjson.dumps, out))

    @cached_property
    def aggregated(self) -> bytes:
        """The resource as an item of an APIVersionDiscovery."""
        return orjson.dumps(
            _filled(
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


_ALWAYS: Final = frozenset({"singularName", "namespaced", "singularResource", "verbs"})


def _filled(**fields: Any) -> JsonObject:
    return {key: value for key, value in fields.items() if value or key in _ALWAYS}


@dataclass(frozen=True)
class GroupVersionEntry:
    """A built-in group version: where it ranks among groups and in its group, and the resources it has, by name."""

    group: str
    version: str
    group_priority: int
    version_priority: int
    resources: tuple[ResourceEntry, ...]


@dataclass(eq=False)
class CrdEntries:
    """What discovery knows of one CRD: the versions it serves, and once established its resource at each of them."""

    name: str
    group: str
    versions: tuple[str, ...]
    resources: Mapping[str, ResourceEntry]
    definition: JsonObject = field(repr=False)
    """The definition, or the outline of it."""

    def prepare(self) -> CrdEntries:
        """Encode what aggregated discovery tells of it, so that the first who asks for all need not wait for each."""
        for resource in self.resources.values():
            _ = resource.aggregated
        return self

    @cached_property
    def revision(self) -> str:
        """Changes with the definition's spec, and so with all that OpenAPI says of it."""
        metadata = self.definition["metadata"]
        uid, generation = metadata.get("uid"), metadata.get("generation")
        if uid and generation:
            return f"{self.name}/{uid}/{generation}"
        content = repr(load_full(self.definition)["spec"]).encode(errors="surrogatepass")
        return f"{self.name}/{hashlib.sha256(content).hexdigest()}"

    def structural_schemas(self) -> dict[str, JsonObject]:
        """The schemas to publish, by their versions. They are read anew at each call."""
        spec, found = load_full(self.definition)["spec"], {}
        # Only a definition that does not prune can have schemas that are not structural.
        pruned = spec.get("preserveUnknownFields") is not True
        for version in map(_object, _items(spec.get("versions"))):
            schema = _object(version.get("schema")).get("openAPIV3Schema")
            if isinstance(schema, dict) and (pruned or is_structural(schema)):
                found[_text(version.get("name"))] = schema
        return found


def from_crd(crd: JsonObject) -> CrdEntries:
    """The entries of a v1 CustomResourceDefinition as served."""
    spec = _object(crd.get("spec"))
    served = [version for version in map(_object, _items(spec.get("versions"))) if version.get("served") is True]
    true = true_conditions(crd)
    return CrdEntries(
        name=crd["metadata"]["name"],
        group=_text(spec.get("group")),
        versions=tuple(_text(version.get("name")) for version in served),
        resources=_resources(crd, served, true) if "Established" in true else {},
        definition=crd,
    )


def true_conditions(crd: JsonObject) -> set[str]:
    """The types of the conditions that hold."""
    conditions = map(_object, _items(_object(crd.get("status")).get("conditions")))
    return {_text(found.get("type")) for found in conditions if found.get("status") == "True"}


def _resources(crd: JsonObject, served: Sequence[JsonObject], true: set[str]) -> dict[str, ResourceEntry]:
    spec, names = crd["spec"], _object(_object(crd.get("status")).get("acceptedNames"))
    # A storage version that is not served has no hash.
    stored = any(version.get("storage") is True for version in served)
    common: dict[str, Any] = {
        "name": _text(names.get("plural")),
        "singular": _text(names.get("singular")),
        "kind": _text(names.get("kind")),
        "namespaced": spec.get("scope") == "Namespaced",
        "verbs": _TERMINATING_VERBS if "Terminating" in true else _VERBS,
        "short_names": tuple(map(_text, _items(names.get("shortNames")))),
        "categories": tuple(map(_text, _items(names.get("categories")))),
        "storage_hash": storage_version_hash(crd) if stored else "",
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
    out = []
    if declared.get("status") is not None:
        out.append(SubresourceEntry("status", kind))
    if declared.get("scale") is not None:
        out.append(SubresourceEntry("scale", "Scale", group="autoscaling", version="v1"))
    return tuple(out)


def _object(value: Any) -> JsonObject:
    return value if isinstance(value, dict) else {}


def _items(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
