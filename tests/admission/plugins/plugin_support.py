"""A fake server for admission plugins: objects in memory, a fixed clock and fixed names."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Any

from polykind import errors
from polykind.admission.attributes import Attributes
from polykind.admission.plugins.builtin_plugin import BuiltinPlugin, PluginServices
from polykind.contract import JsonObject
from tests.admission.support import attributes_for


class FakeObjects:
    """Stored objects by group, plural, namespace and name."""

    def __init__(self) -> None:
        self.stored: dict[tuple[str, str, str, str], JsonObject] = {}
        self.conflicts = 0
        """The number of status writes that fail, because another writer is faster."""

    def put(self, group: str, plural: str, obj: JsonObject) -> None:
        meta = obj["metadata"]
        self.stored[group, plural, meta.get("namespace", ""), meta["name"]] = obj

    async def get(self, group: str, plural: str, namespace: str, name: str) -> JsonObject | None:
        return self.stored.get((group, plural, namespace, name))

    async def list(self, group: str, plural: str, namespace: str | None = None) -> list[JsonObject]:
        keys = sorted(key for key in self.stored if key[:2] == (group, plural) and namespace in (None, key[2]))
        return [self.stored[key] for key in keys]

    def resource_of_kind(self, group: str, version: str, kind: str) -> tuple[str, bool] | None:
        return (f"{kind.lower()}s", True) if group == "x.io" else None

    async def update_status(self, group: str, plural: str, obj: JsonObject) -> None:
        if self.conflicts:
            self.conflicts -= 1
            raise errors.conflict(plural, group, obj["metadata"]["name"], "the object has been modified")
        self.put(group, plural, obj)


class FixedClock:
    def now(self) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC)

    def monotonic(self) -> float:
        return 0.0


class FixedIds:
    def uid(self) -> str:
        return "u1"

    def suffix(self) -> str:
        return "abcde"


def services(objects: FakeObjects) -> PluginServices:
    return PluginServices(objects, objects, FixedClock(), FixedIds(), {})


def pod(name: str = "p", **spec: Any) -> JsonObject:
    containers = [{"name": "c", "image": "i"}]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"containers": containers, **spec},
    }


def request(obj: JsonObject | None, old: JsonObject | None = None, *, plural: str = "pods", **more: Any) -> Attributes:
    """Return the attributes of a write of a built-in object in the namespace `default`."""
    return attributes_for(obj, old, **{"group": "", "plural": plural, "version": "v1", **more})


def mutate(plugin: BuiltinPlugin, attributes: Attributes) -> JsonObject:
    """Run a plugin's mutating step and return the object."""
    assert attributes.obj is not None
    if plugin.handles(attributes):
        asyncio.run(plugin.mutate(attributes, attributes.obj))
    return attributes.obj


def rejection(plugin: BuiltinPlugin, attributes: Attributes) -> str:
    """Run a plugin's validating step. Return the message of the rejection, "" if the request is admitted."""
    obj = attributes.obj or attributes.old
    assert obj is not None
    if not plugin.handles(attributes):
        return ""
    try:
        asyncio.run(plugin.validate(attributes, obj))
    except errors.APIError as error:
        return error.message
    return ""
