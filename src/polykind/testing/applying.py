"""Objects applied as `kubectl apply --server-side` does; definitions are waited for until they are served."""

from __future__ import annotations

from collections.abc import Iterable

from polykind.contract import JsonObject
from polykind.convert.declare import subject
from polykind.testing.client import Client, Exchange
from polykind.testing.refused import Refused
from polykind.testing.resources import Resources, path
from polykind.testing.waiting import Condition, Wait

MANAGER = "polykind-testing"
_DEFINITION = "CustomResourceDefinition"


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
    where = path(collection, metadata["name"], fieldManager=MANAGER, force="true", fieldValidation="Strict")
    return exchange.ask("PATCH", where, body, "application/apply-patch+yaml")


def _served(client: Client, definitions: list[JsonObject]) -> None:
    for definition in definitions:
        Wait(client, definition, Condition("condition=Established"), 30.0).run()
