"""Custom resources, built from a CustomResourceDefinition."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property, partial
from typing import TYPE_CHECKING

from polykind import errors, schema
from polykind.apply.ownership import STATUS_RESET, Reset
from polykind.apply.typemodel import TypeModel
from polykind.cache.resource_cache import ResourceCache
from polykind.contract import Converter, JsonObject
from polykind.conversion.monitored_converter import MonitoredConverter
from polykind.crd import versions as crd_versions
from polykind.crd.ca_bundle import has_invalid_ca_bundle
from polykind.crd.conditions import ESTABLISHED, is_true
from polykind.crd.structural import is_structural
from polykind.crd.summary import load_full
from polykind.resources.cel_loader import rules_of
from polykind.resources.conversion_cache import ConversionCache, ConversionCaches
from polykind.resources.conversion_fallback import ConversionFallback
from polykind.resources.custom_representer import CustomRepresenter
from polykind.resources.custom_strategy import CustomStrategy
from polykind.resources.resource import Decoded, ObjectCodec, Resource, ServedVersion
from polykind.schema import CompiledSchema, object_meta

if TYPE_CHECKING:
    from polykind.cel import Rules


class CustomResource(Resource):
    """A custom resource, built from the current state of its CRD. Every change of the CRD builds a new one."""

    def __init__(
        self,
        crd: JsonObject,
        cache: ResourceCache,
        converter: Converter | None,
        conversion_caches: ConversionCaches,
        watchable_since: int = 0,
        fallback: ConversionFallback | None = None,
    ) -> None:
        spec, names = crd["spec"], crd["status"]["acceptedNames"]
        super().__init__(
            cache,
            group=spec["group"],
            plural=spec["names"]["plural"],
            singular=names.get("singular") or spec["names"]["singular"],
            kind=spec["names"]["kind"],
            list_kind=names.get("listKind") or spec["names"]["listKind"],
            namespaced=spec["scope"] == "Namespaced",
            storage=crd_versions.storage_version(crd),
        )
        self.watchable_since = watchable_since
        self.update_status(crd)
        self.converter = converter
        """The converter. None if a conversion changes only the apiVersion."""
        presence = converter.presence if isinstance(converter, MonitoredConverter) else None
        self.conversions = ConversionCache(crd["metadata"]["name"], conversion_caches, presence)
        self.fallback = fallback
        """The source of representations while the converter is down. None if the server has no such fallback."""
        self.preserves_unknown = bool(spec.get("preserveUnknownFields"))
        self.declared = {entry["name"] for entry in spec["versions"]}
        """The names of all versions, served or not."""
        self._schemas: dict[str, CompiledSchema] = {}
        self._rules: dict[str, Rules | None] = {}
        for version_entry in spec["versions"]:
            if version_entry.get("served"):
                self.versions[version_entry["name"]] = self._build_version(version_entry)

    def update_status(self, crd: JsonObject) -> None:
        """Replace the CRD by one that differs only in metadata and status."""
        self.crd = crd
        """The CRD, or its summary without schemas."""
        self.creatable = not is_true(crd, "Terminating")

    def _build_version(self, version_entry: JsonObject) -> ServedVersion:
        version, subresources = version_entry["name"], version_entry.get("subresources") or {}
        has_status, scale = "status" in subresources, subresources.get("scale")
        unavailable: Callable[[], errors.APIError] | None = None
        if isinstance(self.converter, MonitoredConverter):
            if version != self.storage and self.converter.disabled_reason:
                unavailable = partial(errors.UnknownReasonError, self.converter.disabled_reason)
            if self._has_bad_ca_bundle:
                unavailable = partial(errors.InternalError, "error resolving resource")
        return ServedVersion(
            self,
            version,
            CustomCodec(self, version, has_status=has_status),
            CustomStrategy(self, version, has_status=has_status, scale=scale),
            self._build_representer(version_entry, has_status=has_status),
            has_status=has_status,
            scale=scale,
            # Compute the warning only if it is needed: it takes a search through all versions, possibly thousands.
            deprecation=(version_entry.get("deprecated") and crd_versions.deprecation_warning(self.crd, version)) or "",
            selectable=tuple(f["jsonPath"] for f in version_entry.get("selectableFields") or ()),
            converts=self.converter is not None,
            unavailable=unavailable,
        )

    def _build_representer(self, version_entry: JsonObject, *, has_status: bool) -> CustomRepresenter:
        if self.converter is None:
            return CustomRepresenter(self, version_entry, has_status=has_status)
        from polykind.resources.converting_representer import ConvertingRepresenter

        return ConvertingRepresenter(self, version_entry, self.converter, self.conversions, has_status=has_status)

    def storage_version(self) -> ServedVersion:
        """Return the storage version, even if it is not served. Objects stored at it need no conversion."""
        return self.declared_version(self.storage)

    def declared_version(self, version: str) -> ServedVersion:
        """Return a version of the CRD, even if it is not served."""
        served = self.versions.get(version)
        return served or self._build_version(
            next(entry for entry in self.crd["spec"]["versions"] if entry["name"] == version)
        )

    def drop_conversions(self) -> None:
        if self.converter is not None:
            self.conversions.drop("requested")

    def expire_watches(self, version: str, revision: int, error: errors.ExpiredError) -> None:
        """End the watches of a version with an error, and refuse watches from revisions before `revision`."""
        self.watchable_since = max(self.watchable_since, revision)
        for channel in list(self.channels.values()):
            if channel.view.version == version:
                channel.fail(error)

    @cached_property
    def _declared(self) -> Iterable[ServedVersion]:
        entries = self.crd["spec"]["versions"]
        return [self.versions.get(entry["name"]) or self._build_version(entry) for entry in entries]

    @cached_property
    def status_resets(self) -> Reset:
        """The fields that a status update cannot set, by apiVersion. Includes all served or stored versions with a
        status.
        """
        live = (v for v in self._declared if v.version in self.versions or v.version == self.storage)
        return {version.api_version: STATUS_RESET for version in live if version.has_status}

    @cached_property
    def _has_bad_ca_bundle(self) -> bool:
        """True if the webhook's CA bundle is unreadable. kube-apiserver then never establishes the CRD."""
        return not is_true(self.crd, ESTABLISHED) and has_invalid_ca_bundle(self.crd["spec"])

    def openapi(self, version: str) -> JsonObject | None:
        """Return the schema of a version as the CRD declares it."""
        return crd_versions.version_schema(self._full_crd, version)

    @cached_property
    def _full_crd(self) -> JsonObject:
        return load_full(self.crd)

    def schema(self, version: str) -> CompiledSchema:
        """Return the schema of a version, compiled on first use. Versions with equal schemas share it."""
        compiled = self._schemas.get(version)
        if compiled is None:
            openapi = self.openapi(version)
            for other, known in self._schemas.items():
                if self.openapi(other) == openapi:
                    compiled = known
                    break
            else:
                compiled = schema.CompiledSchema(openapi, preserve_unknown=self.preserves_unknown)
            self._schemas[version] = compiled
        return compiled

    def rules(self, version: str) -> Rules | None:
        """Return the CEL rules of a version's schema, or None if the schema has no rules."""
        if version not in self._rules:
            self._rules[version] = rules_of(self.openapi(version))
        return self._rules[version]


class CustomCodec(ObjectCodec):
    """Decodes custom objects of one version with the CRD's schemas."""

    def __init__(self, resource: CustomResource, version: str, *, has_status: bool) -> None:
        self._resource = resource
        self._version = version
        self._has_status = has_status

    @cached_property
    def model(self) -> TypeModel:
        openapi, preserves = self._resource.openapi(self._version), self._resource.preserves_unknown
        if preserves and openapi is not None and not is_structural(openapi):
            openapi = None
        return TypeModel(openapi, preserves)

    @property
    def _schema(self) -> CompiledSchema:
        return self._resource.schema(self._version)

    @cached_property
    def steps_per_value(self) -> int:
        return self._schema.steps_per_value

    def check_default_size(self, data: bytes, obj: JsonObject) -> None:
        if len(data) > self.small_bytes:
            self._schema.check_default_size(data, obj)

    def decode(self, value: JsonObject, *, report_unknown: bool) -> Decoded:
        resource, kind, api_version = self._resource, value.get("kind", ""), value.get("apiVersion", "")
        if api_version is None:
            raise errors.BadRequestError(".apiVersion accessor error: <nil> is of the type <nil>, expected string")
        group, _, version = api_version.rpartition("/") if isinstance(api_version, str) else ("", "", "")
        meta, unknown = object_meta.coerce(
            value.get("metadata"), strict=True, kind=kind, version=version, served=resource.kind
        )
        value["metadata"] = meta
        validated = False
        # The schema does not apply to an object of another kind. Validation rejects the object later.
        if kind == resource.kind and group == resource.group:
            if version in resource.declared:
                pruned, validated = resource.schema(version).prune_default_and_validate(value, report=report_unknown)
                unknown = unknown + pruned
                validated = validated and version == self._version
            elif not resource.preserves_unknown:
                unknown = unknown + _prune_all(value)
        return Decoded(value, unknown if report_unknown else [], validated)

    def default(self, obj: JsonObject) -> Decoded:
        # Applied metadata is not decoded strictly: an invalid timestamp is treated as absent.
        obj["metadata"], _ = object_meta.coerce(obj.get("metadata"), strict=False)
        return Decoded(obj, [], self._schema.default_and_validate(obj))

    def normalize(self, obj: JsonObject) -> None:
        # Server-side apply does not prune its result, and null values are validated before they are dropped. So prune
        # here.
        if self._version != self._resource.storage:
            # Reads set the defaults of the storage version's schema.
            self._schema.prune(obj)
            return
        had_status = "status" in obj
        self._schema.prune_and_default_merged(obj)
        if self._has_status and not had_status:
            obj.pop("status", None)


def _prune_all(value: JsonObject) -> list[str]:
    """Remove all fields but apiVersion, kind and metadata. Return the names of the removed fields."""
    unknown = sorted(value.keys() - {"apiVersion", "kind", "metadata"})
    for key in unknown:
        del value[key]
    return unknown
