"""Server-side apply of objects, which waits until CRDs are established."""

from __future__ import annotations

from collections.abc import Iterable

from polykind.contract import JsonObject
from polykind.testing.exceptions import Refused
from polykind.testing.server_client import Client, Connection, ResourcePaths, object_path
from polykind.testing.waiting import Condition, Wait
from polykind.toolkit.declare.conversions import describe_object

FIELD_MANAGER = "polykind-testing"
_CRD_KIND = "CustomResourceDefinition"
_V1BETA1 = "apiextensions.k8s.io/v1beta1"


def apply_objects(client: Client, objects: Iterable[JsonObject]) -> list[JsonObject]:
    """Apply objects and return them as the server stores them. Raises Refused with the object and the message."""
    out: list[JsonObject] = []
    fresh: list[JsonObject] = []
    with client.connect() as connection:
        resources = ResourcePaths(connection)
        for obj in objects:
            if fresh and obj["kind"] != _CRD_KIND:
                _wait_until_established(client, fresh)
                fresh, resources = [], ResourcePaths(connection)
            try:
                out.append(_apply_object(connection, resources, obj))
            except Refused as error:
                raise Refused(f"{describe_object(obj)} was not applied: {error}", error.status) from None
            if obj["kind"] == _CRD_KIND:
                fresh.append(out[-1])
        _wait_until_established(client, fresh)
    return out


def _apply_object(connection: Connection, resources: ResourcePaths, obj: JsonObject) -> JsonObject:
    collection = resources.collection(obj)
    metadata = obj.get("metadata") or {}
    if not metadata.get("name"):
        # Only a create generates a name from generateName.
        return connection.request("POST", collection, obj)
    # Remove fields of exported objects that only the server may set.
    own = {key: value for key, value in metadata.items() if key not in ("resourceVersion", "uid", "managedFields")}
    body = {**obj, "metadata": own}
    if (obj["kind"], obj["apiVersion"]) == (_CRD_KIND, _V1BETA1):
        return _create_or_replace(connection, collection, body)
    where = object_path(
        collection, metadata["name"], fieldManager=FIELD_MANAGER, force="true", fieldValidation="Strict"
    )
    return connection.request("PATCH", where, body, "application/apply-patch+yaml")


def _create_or_replace(connection: Connection, collection: str, body: JsonObject) -> JsonObject:
    """Create or replace a v1beta1 CRD, as kubectl does for types without server-side apply."""
    try:
        return connection.request("POST", collection, body)
    except Refused as error:
        if error.status != 409:
            raise
    where = object_path(collection, body["metadata"]["name"])
    revision = connection.request("GET", where)["metadata"]["resourceVersion"]
    return connection.request("PUT", where, {**body, "metadata": {**body["metadata"], "resourceVersion": revision}})


def _wait_until_established(client: Client, crds: list[JsonObject]) -> None:
    for crd in crds:
        Wait(client, crd, Condition("condition=Established"), 30.0).run()
