"""The base class of built-in admission plugins, and the interfaces of the server's components that they use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import msgspec

from polykind import errors
from polykind.admission.attributes import CREATE, UPDATE, Attributes
from polykind.contract import Clock, IdSource, JsonObject


class ObjectReader(Protocol):
    """Reads stored objects of built-in kinds, at their storage version."""

    async def get(self, group: str, plural: str, namespace: str, name: str) -> JsonObject | None:
        """Return an object, or None if it does not exist. The namespace of cluster-scoped objects is empty."""

    async def list(self, group: str, plural: str, namespace: str | None = None) -> list[JsonObject]:
        """Return all objects of a namespace, or of all namespaces, in the order of their names."""

    def resource_of_kind(self, group: str, version: str, kind: str) -> tuple[str, bool] | None:
        """Return the plural of a kind, and True if its objects have a namespace.

        Return None if the kind is not served.
        """


class StatusWriter(Protocol):
    """Writes the status of stored objects on behalf of the server."""

    async def update_status(self, group: str, plural: str, obj: JsonObject) -> None:
        """Replace an object's status. Raise ConflictError if the object's resourceVersion is not the newest."""


class PluginServices(msgspec.Struct, frozen=True):
    """The components of the server that built-in plugins use."""

    objects: ObjectReader
    status: StatusWriter
    clock: Clock
    ids: IdSource
    flags: Mapping[str, int]
    """The values of flags that configure plugins, such as default-not-ready-toleration-seconds."""
    configurations: Mapping[str, JsonObject] = {}
    """The configurations of plugins in --admission-control-config-file, by the name of the plugin."""


class BuiltinPlugin:
    """One built-in admission plugin. Subclasses override `mutate`, `validate` or both.

    A plugin that changes `attributes.obj` replaces the changed parts and sets `attributes.changed`. On an update, parts
    of the new object that are equal to the old object's may be the same dict, so a plugin modifies no dict in place.
    """

    operations: tuple[str, ...] = (CREATE, UPDATE)
    subresources: tuple[str, ...] = ("",)
    """The subresources that the plugin handles. "" is the resource itself."""

    def __init__(self, services: PluginServices) -> None:
        self.services = services

    async def mutate(self, attributes: Attributes, obj: JsonObject) -> None:
        """Change the object of a create or an update. Raise APIError if the request is not allowed."""

    async def validate(self, attributes: Attributes, obj: JsonObject) -> None:
        """Raise APIError if the request is not allowed. `obj` is the old object if the operation is DELETE."""

    def handles(self, attributes: Attributes) -> bool:
        return attributes.operation in self.operations and attributes.resource.subresource in self.subresources


def forbidden(attributes: Attributes, reason: str, *, causes: list[JsonObject] | None = None) -> errors.ForbiddenError:
    """Return the error for a request that a plugin rejects. It shows the object's name or else its generateName."""
    meta = (attributes.obj or {}).get("metadata") or {}
    name = attributes.name or meta.get("name") or meta.get("generateName") or "Unknown"
    resource = attributes.resource
    return errors.ForbiddenError(resource.plural, resource.group, name, reason, causes=causes)


def replace_spec(attributes: Attributes, spec: JsonObject) -> None:
    """Replace the spec of the request's object. Do not modify the previous dict."""
    attributes.obj = {**(attributes.obj or {}), "spec": spec}
    attributes.changed = True


def replace_metadata(attributes: Attributes, **fields: object) -> None:
    """Set fields in the metadata of the request's object."""
    obj = attributes.obj or {}
    attributes.obj = {**obj, "metadata": {**obj["metadata"], **fields}}
    attributes.changed = True


def aggregate(reasons: list[str]) -> str:
    """Join reasons as Go prints an aggregated error: each reason once, and several reasons in brackets."""
    unique = list(dict.fromkeys(reasons))
    return unique[0] if len(unique) == 1 else f"[{', '.join(unique)}]"
