"""Server-side apply of objects by the fixtures."""

from __future__ import annotations

from collections.abc import Iterable

from polykind.contract import JsonObject
from polykind.declare.conversions import describe_object
from polykind.testing.exceptions import Refused
from polykind.testing.server_client import Client, Connection, ResourcePaths, object_path
from polykind.testing.waiting import Condition, Wait

FIELD_MANAGER = "polykind-testing"
_CRD_KIND = "CustomResourceDefinition"
_V1BETA1 = "apiextensions.k8s.io/v1beta1"


async def apply_objects(client: Client, objects: Iterable[JsonObject]) -> list[JsonObject]:
    """Apply objects and return them as the server stores them.

    Raise Refused if the server rejects an object. The message names the object.
    """
    out: list[JsonObject] = []
    fresh: list[JsonObject] = []
    async with client.connect() as connection:
        resources = ResourcePaths(connection)
        for obj in objects:
            if fresh and obj["kind"] != _CRD_KIND:
                await _wait_until_established(client, fresh)
                fresh, resources = [], ResourcePaths(connection)
            try:
                out.append(await _apply_object(connection, resources, obj))
            except Refused as error:
                raise Refused(f"{describe_object(obj)} was not applied: {error}", error.status) from None
            if obj["kind"] == _CRD_KIND:
                fresh.append(out[-1])
        await _wait_until_established(client, fresh)
    return out


async def _apply_object(connection: Connection, resources: ResourcePaths, obj: JsonObject) -> JsonObject:
    collection = await resources.collection(obj)
    metadata = obj.get("metadata") or {}
    if not metadata.get("name"):
        # Server-side apply needs a name, so create an object that has only generateName.
        return await connection.request("POST", collection, obj)
    # Remove the fields that only the server may set. Objects that were exported from a server contain them.
    own = {key: value for key, value in metadata.items() if key not in ("resourceVersion", "uid", "managedFields")}
    body = {**obj, "metadata": own}
    if (obj["kind"], obj["apiVersion"]) == (_CRD_KIND, _V1BETA1):
        return await _create_or_replace(connection, collection, body)
    where = object_path(
        collection, metadata["name"], fieldManager=FIELD_MANAGER, force="true", fieldValidation="Strict"
    )
    return await connection.request("PATCH", where, body, "application/apply-patch+yaml")


async def _create_or_replace(connection: Connection, collection: str, body: JsonObject) -> JsonObject:
    """Create a v1beta1 CRD, or replace it if it exists. kubectl also does this for types without server-side apply."""
    try:
        return await connection.request("POST", collection, body)
    except Refused as error:
        if error.status != 409:
            raise
    where = object_path(collection, body["metadata"]["name"])
    revision = (await connection.request("GET", where))["metadata"]["resourceVersion"]
    return await connection.request(
        "PUT", where, {**body, "metadata": {**body["metadata"], "resourceVersion": revision}}
    )


async def _wait_until_established(client: Client, crds: list[JsonObject]) -> None:
    for crd in crds:
        await Wait(client, crd, Condition("condition=Established"), 30.0).run()
