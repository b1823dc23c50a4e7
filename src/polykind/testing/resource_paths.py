"""Where the objects of a kind are served, as the server's discovery tells it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlencode

from polykind.testing.exceptions import Refused
from polykind.testing.server_client import Connection


class ResourcePaths:
    """Looked up through one connection, each apiVersion once."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._known: dict[str, dict[str, tuple[str, bool]]] = {}

    def collection(self, obj: Mapping[str, Any]) -> str:
        """The path of the collection that an object belongs to. Raises Refused."""
        version, kind = str(obj.get("apiVersion", "")), str(obj.get("kind", ""))
        found = self._served(version).get(kind)
        if found is None:
            raise Refused(
                f"nothing here serves {kind or 'objects without a kind'} of {version or 'no apiVersion'}: "
                "apply its CustomResourceDefinition first (polykind_crds, or crds= of the marker). "
                "Polykind serves custom resources; Pods, Deployments, ConfigMaps and their like it does not"
            )
        plural, namespaced = found
        if not namespaced:
            return f"{_root(version)}/{plural}"
        namespace = (obj.get("metadata") or {}).get("namespace") or "default"
        return f"{_root(version)}/namespaces/{quote(namespace, safe='')}/{plural}"

    def _served(self, version: str) -> dict[str, tuple[str, bool]]:
        if version not in self._known:
            try:
                listed = self._connection.request("GET", _root(version))["resources"] if version else []
            except Refused as error:
                if error.status != 404:
                    raise
                listed = []
            self._known[version] = {
                one["kind"]: (one["name"], one["namespaced"]) for one in listed if "/" not in one["name"]
            }
        return self._known[version]


def object_path(collection: str, name: str, **options: str) -> str:
    """The path of one object of a collection."""
    return f"{collection}/{quote(name, safe='')}{f'?{urlencode(options)}' if options else ''}"


def _root(version: str) -> str:
    return f"/apis/{version}" if "/" in version else f"/api/{version}"
