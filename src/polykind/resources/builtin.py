"""Built-in resources: objects of declared kinds, decoded and encoded as in Go."""

from __future__ import annotations

from collections.abc import Callable

from polykind import errors
from polykind.apis import machinery
from polykind.apis.machinery.apply_types import apply_model, merge_strategy
from polykind.apis.machinery.kinds import Kind
from polykind.apis.machinery.protobuf_reader import decode_message
from polykind.apis.machinery.protobuf_writer import encode_message
from polykind.apply.strategic_merge_patch import Strategy as MergeStrategy
from polykind.apply.typemodel import TypeModel
from polykind.cache.cached_object import CachedObject, Representation, labels_of
from polykind.cache.resource_cache import ResourceCache
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
"""A function that sets the defaults of an object in place."""


class BuiltinResource(Resource):
    """The resource of a declared kind. Its storage prefix has no group, as in Kubernetes.

    Without a `cache` objects cannot be stored: the server only responds to creates, as for SubjectAccessReviews.
    """

    def __init__(self, cache: WatchCache | None, kind: Kind, *, storage_group: str = "") -> None:
        super().__init__(
            cache.resource(storage_group, kind.plural) if cache is not None else ResourceCache(""),
            group=kind.group,
            plural=kind.plural,
            singular=kind.singular,
            kind=kind.kind,
            list_kind=f"{kind.kind}List",
            namespaced=kind.namespaced,
            storage=kind.version,
        )
        self.has_deletecollection = "deletecollection" in kind.verbs

    def serve(
        self,
        kind: Kind,
        strategy: Strategy,
        *,
        defaults: Defaults | None = None,
        codec: ObjectCodec | None = None,
        representer: Representer | None = None,
    ) -> ServedVersion:
        """Add the version at which `kind` is declared."""
        package = kind.group.partition(".")[0] or "core"
        subresources = {subresource.name for subresource in kind.subresources}
        version = self.versions[kind.version] = ServedVersion(
            self,
            kind.version,
            codec or BuiltinCodec(self, kind, defaults),
            strategy,
            representer or BuiltinRepresenter(self, kind),
            is_builtin=True,
            has_status="status" in subresources,
            has_finalize="finalize" in subresources,
            deprecation=kind.deprecation,
            selectable=(".metadata.namespace",) if kind.selectable is None else kind.selectable,
            unknown_field_label=(
                field_selectors.unknown_field if kind.selectable is None else field_selectors.unsupported_field
            ),
            object_type=f"*{package}.{kind.kind}",
            list_type=f"*{package}.{kind.kind}List",
        )
        return version

    def read(self, cached: CachedObject) -> JsonObject:
        """Decode a stored object and set its defaults. Raise BadRequestError if the object cannot be decoded."""
        return self.storage_version().codec.decode(cached.decode(), report_unknown=False).obj

    def shown(self, cached: CachedObject) -> JsonObject:
        """Return a stored object as clients see it. Raise APIError if the object cannot be decoded."""
        representation = self.storage_version().representer.ready(cached)
        if representation is None:
            raise AssertionError("a built-in resource needs no conversion")
        obj: JsonObject = json_codec.decode(representation.data)
        return obj


def builtin_resource(
    cache: WatchCache, kind: Kind, strategy: BuiltinStrategy, *, defaults: Defaults | None = None
) -> BuiltinResource:
    """Return the resource of a kind that is served at one version."""
    resource = BuiltinResource(cache, kind)
    resource.serve(kind, strategy, defaults=defaults)
    return resource


class BuiltinCodec(ObjectCodec):
    """Decodes and encodes the objects of a declared kind."""

    def __init__(self, resource: Resource, kind: Kind, defaults: Defaults | None = None) -> None:
        self._resource = resource
        self._kind = kind
        self._defaults = defaults

    @property
    def model(self) -> TypeModel:
        return apply_model(self._kind)

    @property
    def merge_strategy(self) -> MergeStrategy:
        return merge_strategy(self._kind)

    def check_kind(self, kind: str, api_version: str) -> None:
        expected = self._kind
        group, _, version = api_version.rpartition("/")
        if (kind, group) != (expected.kind, expected.group) or version not in expected.known_versions:
            from polykind.apis.scheme import LEGACY_SCHEME, is_known, scheme_of

            scheme = scheme_of(expected.group)
            reason = f'no kind "{kind}" is registered for version "{api_version}" in scheme "{scheme}"'
            if is_known(api_version, kind, crd_server=scheme != LEGACY_SCHEME):
                package = expected.group.partition(".")[0] or "core"
                reason = f"converting ({version}.{kind}) to ({package}.{expected.kind}): unknown conversion"
            message = f'{kind} in version "{version}" cannot be handled as a {expected.kind}: {reason}'
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
        return machinery.decode(value, self._kind, report=report_unknown)

    def ordered(self, obj: JsonObject) -> JsonObject:
        return machinery.decode(obj, self._kind, report=False)[0]

    def own_decoder_paths(self, value: JsonObject) -> list[str]:
        from polykind.apis.machinery.custom_decoders import custom_decoder_paths

        return list(custom_decoder_paths(value, self._kind))

    def conversion_error(self, value: JsonObject) -> str:
        from polykind.apis.machinery.from_unstructured import conversion_error

        return conversion_error(value, self._kind)

    def to_message(self, obj: JsonObject) -> bytes:
        return encode_message(obj, self._kind)

    def from_message(self, data: bytes) -> JsonObject:
        return decode_message(data, self._kind)


def _resets_managers(value: JsonObject) -> bool:
    """True if managedFields is an empty list. Clients send such a list to drop all managers."""
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
        return self.meta_errors(obj, None)

    def prepare_update(self, new: JsonObject, old: JsonObject) -> None:
        return

    def validate_update(self, new: JsonObject, old: JsonObject) -> Validation:
        return Validation(self.update_errors(new, old))

    def update_errors(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        return self.meta_errors(new, old)

    def validate_status(self, new: JsonObject, old: JsonObject) -> Validation:
        return Validation(self.status_errors(new, old))

    def status_errors(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        raise NotImplementedError

    def validate_finalize(self, new: JsonObject, old: JsonObject) -> Validation:
        return Validation(self.finalize_errors(new, old))

    def finalize_errors(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        raise NotImplementedError

    def meta_errors(self, new: JsonObject, old: JsonObject | None) -> list[FieldError]:
        """Validate the metadata of a new object or, if `old` is given, of an updated object."""
        if old is not None:
            return metadata_validation.validate_object_meta_update(new["metadata"], old["metadata"])
        return metadata_validation.validate_object_meta(new["metadata"], namespaced=self.namespaced)


class BuiltinRepresenter(Representer):
    """Returns stored objects of a declared kind as clients see them."""

    def __init__(self, resource: Resource, kind: Kind) -> None:
        super().__init__(resource.cache, kind.version, resource.api_version(kind.version), resource.list_kind)
        self._kind = kind
        self._api_version_field = f'"apiVersion":"{self.api_version}",'.encode()
        self._kind_field = f'"kind":"{resource.kind}",'.encode()
        self._type_meta = self._api_version_field + self._kind_field
        self._has_fields_between = any("apiVersion" < field.name < "kind" for field in kind.fields)
        """True if the sorted keys of an object have other fields between apiVersion and kind."""

    @property
    def table(self) -> TableFormat:
        return self._kind.table

    async def to_storage(self, obj: JsonObject) -> JsonObject:
        return obj

    @property
    def stores_normalized(self) -> bool:
        return True

    def show(self, cached: CachedObject) -> Representation | None:
        obj = cached.decode()
        obj["apiVersion"] = self.api_version
        try:
            shown, _ = machinery.decode(obj, self._kind, report=False)
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
        if self._has_fields_between:
            return super().list_parts([self._without_type_meta(item) for item in items], metadata)
        return super().list_parts([item.replace(self._type_meta, b"", 1) for item in items], metadata)

    def _without_type_meta(self, item: bytes) -> bytes:
        # A map such as a ConfigMap's data may contain the same text, so find the kind that comes before the metadata.
        at = item.rfind(self._kind_field + b'"metadata":')
        return item[:at].replace(self._api_version_field, b"", 1) + item[at + len(self._kind_field) :]


_KEPT_BY_STATUS_UPDATES = ("labels", "annotations", "finalizers", "ownerReferences", "deletionTimestamp")


def only_status_changed(new: JsonObject, old: JsonObject) -> JsonObject:
    """Return `new` with the spec and writable metadata of `old`, as in most of kube-apiserver's status strategies."""
    kept = {name: old["metadata"][name] for name in _KEPT_BY_STATUS_UPDATES if name in old["metadata"]}
    meta = {name: value for name, value in new["metadata"].items() if name not in _KEPT_BY_STATUS_UPDATES}
    return {**new, "metadata": {**meta, **kept}, "spec": old["spec"]}


_STANDARD_FINALIZERS = frozenset(("kubernetes", "orphan", "foregroundDeletion"))


def finalizer_errors(finalizers: list[str] | None, path: str = "metadata.finalizers[{}]") -> list[FieldError]:
    """Return an error for each finalizer that is neither a qualified name nor a standard finalizer."""
    reason = "name is neither a standard finalizer name nor is it fully qualified"
    return [
        errors.invalid(path.format(at), name, reason)
        for at, name in enumerate(finalizers or ())
        if "/" not in name and name not in _STANDARD_FINALIZERS
    ]
