"""Objects applied as `kubectl apply --server-side` does; definitions are waited for until they are served."""

from __future__ import annotations

from collections.abc import Iterable

from polykind.contract import JsonObject
from polykind.testing.client import Client, Exchange
from polykind.testing.refused import Refused
from polykind.testing.resources import Resources, path
from polykind.testing.waiting import Condition, Wait
from polykind.toolkit.declare.conversions import subject

MANAGER = "polykind-testing"
_DEFINITION = "CustomResourceDefinition"
_OLD = "apiextensions.k8s.io/v1beta1"


def apply(client: Client, objects: Iterable[JsonObject]) -> list[JsonObject]:
    """The objects as the server has them. Raises Refused, naming the object and saying what the server said."""
    out: list[JsonObject] = []
    fresh: list[JsonObject] = []
    with client.connected() as exchange:
        resources = Resources(exchange)
        for obj in objects:
            if fresh and obj["kind"] != _DEFINITION:
                _served(client, fresh)
                fresh, resources = [], Resources(exchange)
            try:
                out.append(_applied(exchange, resources, obj))
            except Refused as error:
                raise Refused(f"{subject(obj)} was not applied: {error}", error.status) from None
            if obj["kind"] == _DEFINITION:
                fresh.append(out[-1])
        _served(client, fresh)
    return out


def _applied(exchange: Exchange, resources: Resources, obj: JsonObject) -> JsonObject:
    collection = resources.collection(obj)
    metadata = obj.get("metadata") or {}
    if not metadata.get("name"):
        # Only a create makes a name of generateName.
        return exchange.ask("POST", collection, obj)
    # Exports have what only the server may set.
    own = {key: value for key, value in metadata.items() if key not in ("resourceVersion", "uid", "managedFields")}
    body = {**obj, "metadata": own}
    if (obj["kind"], obj["apiVersion"]) == (_DEFINITION, _OLD):
        return _replaced(exchange, collection, body)
    where = path(collection, metadata["name"], fieldManager=MANAGER, force="true", fieldValidation="Strict")
    return exchange.ask("PATCH", where, body, "application/apply-patch+yaml")


def _replaced(exchange: Exchange, collection: str, body: JsonObject) -> JsonObject:
    """As kubectl does where the server cannot apply: no schema says what a definition of v1beta1 looks like."""
    try:
        return exchange.ask("POST", collection, body)
    except Refused as error:
        if error.status != 409:
            raise
    where = path(collection, body["metadata"]["name"])
    revision = exchange.ask("GET", where)["metadata"]["resourceVersion"]
    return exchange.ask("PUT", where, {**body, "metadata": {**body["metadata"], "resourceVersion": revision}})


def _served(client: Client, definitions: list[JsonObject]) -> None:
    for definition in definitions:
        Wait(client, definition, Condition("condition=Established"), 30.0).run()
