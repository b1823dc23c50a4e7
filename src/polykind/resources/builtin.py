"""Built-in resources: objects of Go types, decoded and encoded as Go does it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from polykind import errors
from polykind.apis import machinery
from polykind.apis.machinery import Struct
from polykind.apis.machinery.protobuf_reader import decode_message
from polykind.apis.machinery.protobuf_writer import encode_message
from polykind.apply.typemodel import TypeModel
from polykind.cache.cached_object import CachedObject, Representation, labels_of
from polykind.cache.watch_cache import WatchCache
from polykind.codec import json_codec
from polykind.codec.table import TableFormat
from polykind.contract import JsonObject
from polykind.errors import FieldError
from polykind.resources.representer import Representer
from polykind.resources.resource import Decoded, ObjectCodec, Resource, ServedVersion, Strategy, Validation
from polykind.schema import metadata_validation, object_meta
from polykind.selectors import field_selectors

Defaults = Callable[[JsonObject], None]
"""Sets the defaults of an object, in place."""

LEGACY = "pkg/api/legacyscheme/scheme.go:30"
"""The scheme of most built-in types, as kube-apiserver's error messages name it."""


@dataclass(frozen=True, slots=True)
class BuiltinType:
    """The type of a built-in kind at one version."""

    struct: Struct
    model: TypeModel
    table: TableFormat
    package: str
    """The Go package that error messages name."""
    known_versions: tuple[str, ...]
    """The versions that request bodies can be decoded at, served or not."""
    scheme: str = LEGACY
    selectable: tuple[str, ...] = (".metadata.namespace",)
    unknown_field_label: Callable[[str], str] = field_selectors.unknown_field
    has_status: bool = False
    has_finalize: bool = False
    deprecation: str = ""


class BuiltinResource(Resource):
    """A built-in resource at its only version. Its storage prefix has no group, as in Kubernetes."""

    def __init__(
        self,
        cache: WatchCache,
        group: str,
        builtin: BuiltinType,
        strategy: BuiltinStrategy,
        *,
        defaults: Defaults | None = None,
        plural: str = "",
        namespaced: bool = False,
    ) -> None:
        name = builtin.struct.kind
        plural = plural or f"{name.lower()}s"
        super().__init__(
            cache.resource("", plural),
            group=group,
            plural=plural,
            singular=name.lower(),
            kind=name,
            list_kind=f"{name}List",
            namespaced=namespaced,
            storage=builtin.struct.version,
        )
        self.version = self.versions[self.storage] = self._build_version(builtin, strategy, defaults)

    def _build_version(
        self, builtin: BuiltinType, strategy: BuiltinStrategy, defaults: Defaults | None
    ) -> ServedVersion:
        return builtin_version(self, builtin, strategy, defaults=defaults)

    def read(self, cached: CachedObject) -> JsonObject:
        """Decode a stored object with its defaults. Raise BadRequestError if it cannot be decoded."""
        return self.version.codec.decode(cached.decode(), report_unknown=False).obj

    def shown(self, cached: CachedObject) -> JsonObject:
        """Return a stored object as it is served. Raise APIError if it cannot be decoded."""
        representation = self.version.representer.ready(cached)
        if representation is None:
            raise AssertionError("a built-in resource needs no conversion")
        obj: JsonObject = json_codec.decode(representation.data)
        return obj


def builtin_version(
    resource: Resource,
    builtin: BuiltinType,
    strategy: Strategy,
    *,
    defaults: Defaults | None = None,
    codec: ObjectCodec | None = None,
    representer: Representer | None = None,
) -> ServedVersion:
    """Build the served version of a built-in resource."""
    return ServedVersion(
        resource,
        builtin.struct.version,
        codec or BuiltinCodec(resource, builtin, defaults),
        strategy,
        representer or BuiltinRepresenter(resource, builtin),
        is_builtin=True,
        has_status=builtin.has_status,
        has_finalize=builtin.has_finalize,
        deprecation=builtin.deprecation,
        selectable=builtin.selectable,
        unknown_field_label=builtin.unknown_field_label,
        object_type=f"*{builtin.package}.{resource.kind}",
        list_type=f"*{builtin.package}.{resource.list_kind}",
    )


class BuiltinCodec(ObjectCodec):
    """Decodes and encodes the objects of a built-in type."""

    def __init__(self, resource: Resource, builtin: BuiltinType, defaults: Defaults | None = None) -> None:
        self._resource = resource
        self._builtin = builtin
        self._struct = builtin.struct
        self._defaults = defaults

    @property
    def model(self) -> TypeModel:
        return self._builtin.model

    def check_kind(self, kind: str, api_version: str) -> None:
        resource, builtin = self._resource, self._builtin
        group, _, version = api_version.rpartition("/")
        if (kind, group) != (resource.kind, resource.group) or version not in builtin.known_versions:
            from polykind.apis.scheme import is_known

            reason = f'no kind "{kind}" is registered for version "{api_version}" in scheme "{builtin.scheme}"'
            if is_known(api_version, kind, to_definitions=builtin.scheme != LEGACY):
                reason = f"converting ({version}.{kind}) to ({builtin.package}.{resource.kind}): unknown conversion"
            message = f'{kind} in version "{version}" cannot be handled as a {resource.kind}: {reason}'
            raise object_meta.BadObjectMetaError(message, reason)

    def decode(self, value: JsonObject, *, report_unknown: bool) -> Decoded:
        resets_managers = _resets_managers(value)
        obj, unknown = self._decode_struct(value, report_unknown)
        if resets_managers:
            obj["metadata"]["managedFields"] = []
        if self._defaults is not None:
            self._defaults(obj)
        return Decoded(obj, unknown)

    def _decode_struct(self, value: JsonObject, report_unknown: bool) -> tuple[JsonObject, list[str]]:
        return machinery.decode(value, self._struct, report=report_unknown)

    def ordered(self, obj: JsonObject) -> JsonObject:
        return machinery.decode(obj, self._struct, report=False)[0]

    def own_decoder_paths(self, value: JsonObject) -> list[str]:
        from polykind.apis.machinery import own_decoders

        return list(own_decoders.sealed(value, self._struct))

    def conversion_error(self, value: JsonObject) -> str:
        from polykind.apis.machinery import from_unstructured

        return from_unstructured.complaint(value, self._struct)

    def to_message(self, obj: JsonObject) -> bytes:
        return encode_message(obj, self._struct)

    def from_message(self, data: bytes) -> JsonObject:
        return decode_message(data, self._struct)


def _resets_managers(value: JsonObject) -> bool:
    """True if managedFields is an empty list: it is never stored, but asks to drop all managers."""
    metadata = value.get("metadata")
    return isinstance(metadata, dict) and metadata.get("managedFields") == []


class BuiltinStrategy(Strategy):
    """Prepares and validates built-in objects. Subclasses override the `*_errors` methods."""

    def __init__(self, *, namespaced: bool = False) -> None:
        self.namespaced = namespaced

    def prepare_create(self, obj: JsonObject) -> None:
        return

    def validate_create(self, obj: JsonObject, *, values_validated: bool = False) -> Validation:
        return Validation(self.create_errors(obj))

    def create_errors(self, obj: JsonObject) -> list[FieldError]:
        return self._meta_errors(obj, None)

    def prepare_update(self, new: JsonObject, old: JsonObject) -> None:
        return

    def validate_update(self, new: JsonObject, old: JsonObject) -> Validation:
        return Validation(self.update_errors(new, old))

    def update_errors(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        return self._meta_errors(new, old)

    def validate_status(self, new: JsonObject, old: JsonObject) -> Validation:
        return Validation(self.status_errors(new, old))

    def status_errors(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        raise NotImplementedError

    def validate_finalize(self, new: JsonObject, old: JsonObject) -> Validation:
        return Validation(self.finalize_errors(new, old))

    def finalize_errors(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        raise NotImplementedError

    def _meta_errors(self, new: JsonObject, old: JsonObject | None) -> list[FieldError]:
        if old is not None:
            return metadata_validation.validate_object_meta_update(new["metadata"], old["metadata"])
        return metadata_validation.validate_object_meta(new["metadata"], namespaced=self.namespaced)


class BuiltinRepresenter(Representer):
    """Shows stored objects of a built-in type."""

    def __init__(self, resource: Resource, builtin: BuiltinType) -> None:
        version = builtin.struct.version
        super().__init__(resource.cache, version, resource.api_version(version), resource.list_kind)
        self._struct = builtin.struct
        self._table = builtin.table
        self._item_head = f'"apiVersion":"{self.api_version}","kind":"{resource.kind}",'.encode()

    @property
    def table(self) -> TableFormat:
        return self._table

    async def to_storage(self, obj: JsonObject) -> JsonObject:
        return obj

    @property
    def stores_normalized(self) -> bool:
        return True

    def show(self, cached: CachedObject) -> Representation | None:
        obj = cached.decode()
        obj["apiVersion"] = self.api_version
        try:
            shown, _ = machinery.decode(obj, self._struct, report=False)
        except errors.BadRequestError as error:
            raise errors.InternalError(f"{cached.key} cannot be read: {error.message}") from None
        return Representation(json_codec.encode(shown), labels_of(shown))

    def list_metadata(self, revision: int, continuation: str, remaining: int) -> JsonObject:
        metadata = super().list_metadata(revision, continuation, remaining)
        return {k: v for k, v in metadata.items() if v != ""}

    def as_item(self, obj: JsonObject) -> JsonObject:
        return {k: v for k, v in obj.items() if k not in ("apiVersion", "kind")}

    def list_parts(self, items: list[bytes], metadata: JsonObject) -> list[bytes]:
        """Return the JSON of a list. The items of a built-in list do not repeat apiVersion and kind."""
        return super().list_parts([item.replace(self._item_head, b"", 1) for item in items], metadata)


_STANDARD_FINALIZERS = frozenset(("kubernetes", "orphan", "foregroundDeletion"))


def unqualified(finalizers: list[str] | None, path: str) -> list[FieldError]:
    """Return an error for each finalizer that is neither a qualified name nor a standard one."""
    reason = "name is neither a standard finalizer name nor is it fully qualified"
    return [
        errors.invalid(path.format(at), name, reason)
        for at, name in enumerate(finalizers or ())
        if "/" not in name and name not in _STANDARD_FINALIZERS
    ]
