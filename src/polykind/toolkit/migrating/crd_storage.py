"""The facts of a CRD that a storage migration needs: versions, stored versions, and paths of objects."""

from __future__ import annotations

from urllib.parse import quote

from polykind.contract import JsonObject

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


class CRDStorage:
    """A CRD as read from a cluster."""

    def __init__(self, crd: JsonObject) -> None:
        spec = crd["spec"]
        self.crd = crd
        self.name: str = crd["metadata"]["name"]
        self.uid: str = crd["metadata"]["uid"]
        self.group: str = spec["group"]
        self.plural: str = spec["names"]["plural"]
        self.kind: str = spec["names"]["kind"]
        self.namespaced: bool = spec["scope"] == "Namespaced"
        self.versions: list[JsonObject] = spec["versions"]
        self.storage: str = next(entry["name"] for entry in self.versions if entry["storage"])
        self.declared = {entry["name"] for entry in self.versions}
        self.served: list[str] = [entry["name"] for entry in self.versions if entry["served"]]
        self.stored_versions: list[str] = (crd.get("status") or {}).get("storedVersions") or []

    @property
    def path(self) -> str:
        return f"{CRDS}/{self.name}"

    @property
    def endpoints(self) -> list[str]:
        """The served versions, the storage version first: a request at it converts only objects that need it."""
        return sorted(self.served, key=lambda version: version != self.storage)

    def collection(self, version: str) -> str:
        return f"/apis/{self.group}/{version}/{self.plural}"

    def object_path(self, version: str, metadata: JsonObject) -> str:
        name = quote(metadata["name"], safe="")
        if not self.namespaced:
            return f"{self.collection(version)}/{name}"
        return f"/apis/{self.group}/{version}/namespaces/{metadata['namespace']}/{self.plural}/{name}"

    def schema(self, version: str) -> JsonObject:
        """Return the OpenAPI schema of a version. It is empty if the version has none."""
        entry = next(entry for entry in self.versions if entry["name"] == version)
        return (entry.get("schema") or {}).get("openAPIV3Schema") or {}


def key_of(metadata: JsonObject) -> str:
    """Return the key of an object: namespace/name, or name. API servers list objects in the order of their keys."""
    namespace = metadata.get("namespace")
    return f"{namespace}/{metadata['name']}" if namespace else str(metadata["name"])
