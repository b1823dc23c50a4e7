"""Representations of custom objects: normalized with the stored version's schema."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from polykind import errors
from polykind.cache.cached_object import CachedObject, Representation, labels_of
from polykind.codec import json_codec
from polykind.codec.table import TableFormat
from polykind.contract import JsonObject
from polykind.conversion.monitored_converter import MonitoredConverter
from polykind.golang.fmt import go_quote
from polykind.resources.representer import Representer
from polykind.schema import object_meta
from polykind.workers import INLINE_BYTES

if TYPE_CHECKING:
    from polykind.resources.custom import CustomResource

_MANY_COLUMNS = 200


class CustomRepresenter(Representer):
    """Returns custom objects at one version. A conversion changes only the apiVersion."""

    def __init__(self, resource: CustomResource, version_entry: JsonObject, *, has_status: bool) -> None:
        version, converter = version_entry["name"], resource.converter
        super().__init__(
            resource.cache,
            version,
            resource.api_version(version),
            resource.list_kind,
            on_shared=converter.shared if isinstance(converter, MonitoredConverter) else None,
        )
        self._resource = resource
        self._columns = version_entry.get("additionalPrinterColumns")
        self._has_status = has_status

    @cached_property
    def table(self) -> TableFormat:
        return TableFormat(self._columns)

    @property
    def has_many_columns(self) -> bool:
        return "table" not in self.__dict__ and len(self._columns or ()) > _MANY_COLUMNS

    # ------------------------------------------------------------------ storing

    async def to_storage(self, obj: JsonObject) -> JsonObject:
        resource = self._resource
        if self.version == resource.storage:
            return obj
        stored = {**obj, "apiVersion": resource.api_version(resource.storage)}
        resource.schema(resource.storage).prune(stored)
        return stored

    @cached_property
    def adds_no_floats(self) -> bool:
        return self.version == self._resource.storage and not self._resource.schema(self.version).has_floats

    @cached_property
    def stores_normalized(self) -> bool:
        return self.version == self._resource.storage and not self._has_default_status

    @property
    def _has_default_status(self) -> bool:
        """True if the schema has a default for the status. A create drops the status, but a read sets the default."""
        root = self._resource.openapi(self.version) or {}
        status = (root.get("properties") or {}).get("status") or {}
        return self._has_status and status.get("default") is not None

    # ------------------------------------------------------------------ showing

    def show(self, cached: CachedObject) -> Representation | None:
        obj = self._read(cached)
        if cached.version != self.version:
            obj["apiVersion"] = self.api_version
            self._resource.schema(self.version).prune(obj)
        return self._encode(cached, obj)

    def _read(self, cached: CachedObject) -> JsonObject:
        """Decode a stored object, pruned and defaulted with the current schema of the version it is stored at."""
        resource = self._resource
        if cached.version not in resource.declared:
            # A value that cannot be decoded has no version. Raise the decode error instead.
            cached.decode()
            stored = resource.api_version(cached.version)
            raise errors.UnknownReasonError(f"request to convert CR from an invalid group/version: {stored}")
        obj = cached.decode()
        meta, _ = object_meta.coerce(obj.get("metadata"), strict=False, kind=resource.kind, version=cached.version)
        if not meta.get("generation"):
            meta["generation"] = 1
        obj["metadata"] = meta
        schema = resource.schema(cached.version)
        if len(cached.raw) > INLINE_BYTES:
            schema.check_default_size(cached.raw, obj)
        schema.prune_and_default_stored(obj)
        return obj

    def _encode(self, cached: CachedObject, obj: JsonObject) -> Representation:
        data = json_codec.encode(obj)
        if data == cached.data and cached.version == self.version:
            return cached
        return Representation(data, labels_of(obj))

    async def convert(self, obj: JsonObject, api_version: str) -> JsonObject | None:
        resource = self._resource
        group, _, version = api_version.rpartition("/")
        if group != resource.group or version not in resource.declared:
            raise errors.UnknownReasonError(_unknown_version_message(obj, api_version, resource.group))
        if obj.keys() <= {"apiVersion", "kind"}:
            # A create starts from an empty object, which needs no conversion.
            return {**obj, "apiVersion": api_version}
        return await self._convert_to(obj, api_version)

    async def _convert_to(self, obj: JsonObject, api_version: str) -> JsonObject:
        """Convert an object to another version of the CRD."""
        return {**obj, "apiVersion": api_version}


def _unknown_version_message(obj: JsonObject, api_version: str, group: str) -> str:
    """Return kube-apiserver's error for a conversion to a version that the CRD does not declare."""
    wanted, _, version = api_version.rpartition("/")
    if "/" in wanted:
        return f"unexpected GroupVersion string: {api_version}"
    target = api_version if wanted else version
    if wanted != group:
        source = f"{obj.get('apiVersion')}, Kind={obj.get('kind')}"
        return f"{source} is unstructured and is not suitable for converting to {go_quote(target)}"
    return f"request to convert CR to an invalid group/version: {target}"
