"""Codecs and representers of built-in resources: objects of declared kinds, decoded and encoded as in Go."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from polykind import errors
from polykind.apis import machinery
from polykind.apis.machinery.apply_types import apply_model, merge_strategy
from polykind.apis.machinery.decoding_program import AtypicalError, typical_decoder
from polykind.apis.machinery.empty_lists import null_empty_lists
from polykind.apis.machinery.kinds import Kind
from polykind.apis.machinery.protobuf_reader import decode_message
from polykind.apis.machinery.protobuf_writer import encode_message
from polykind.apis.machinery.version_conversion import StoredKind
from polykind.apply.strategic_merge_patch import Strategy as MergeStrategy
from polykind.apply.typemodel import TypeModel
from polykind.cache.cached_object import CachedObject, Representation, labels_of
from polykind.codec import json_codec
from polykind.codec.table import TableFormat
from polykind.contract import JsonObject
from polykind.operations.responses import JoinedParts
from polykind.resources.representer import Representer
from polykind.resources.resource import Decoded, ObjectCodec, Resource
from polykind.schema import object_meta

Default = Callable[[JsonObject], None]
"""A function that sets the defaults of an object in place."""


class BuiltinCodec(ObjectCodec):
    """Decodes and encodes the objects of a declared kind."""

    def __init__(self, kind: Kind, default: Default) -> None:
        self._kind = kind
        self._default = default

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
            from polykind.apis.scheme import is_known, scheme_of

            scheme = scheme_of(expected.group)
            known = is_known(api_version, kind, scheme)
            if known and kind == expected.kind:
                # kube-apiserver can convert the object, whatever group its apiVersion names. A later check compares the
                # versions.
                return
            reason = f'no kind "{kind}" is registered for version "{api_version}" in scheme "{scheme}"'
            if known:
                reason = f"converting ({version}.{kind}) to ({expected.internal_type}): unknown conversion"
            message = f'{kind} in version "{version}" cannot be handled as a {expected.kind}: {reason}'
            raise object_meta.BadObjectMetaError(message, reason)

    def decode(self, value: JsonObject, *, report_unknown: bool) -> Decoded:
        resets_managers = _resets_managers(value)
        obj, unknown = self._decode_struct(value, report_unknown)
        if resets_managers:
            obj["metadata"]["managedFields"] = []
        self._default(obj)
        return Decoded(obj, unknown)

    def _decode_struct(self, value: JsonObject, report_unknown: bool) -> tuple[JsonObject, list[str]]:
        return machinery.decode(value, self._kind, report=report_unknown)

    def ordered(self, obj: JsonObject) -> JsonObject:
        return machinery.decode(obj, self._kind, report=False)[0]

    def own_decoder_paths(self, value: JsonObject) -> list[str]:
        from polykind.apis.machinery.custom_decoders import custom_decoder_paths

        return list(custom_decoder_paths(value, self._kind))

    def conversion_error(self, value: JsonObject) -> str:
        try:
            typical_decoder(self._kind).decode(value)
        except AtypicalError:
            from polykind.apis.machinery.from_unstructured import conversion_error

            return conversion_error(value, self._kind)
        return ""

    def decode_converted(self, value: JsonObject, *, report_unknown: bool) -> Decoded:
        try:
            return self.decode(value, report_unknown=report_unknown)
        except machinery.UndecodableObjectError:
            from polykind.apis.machinery.from_unstructured import wrap_integers

            if not wrap_integers(value, self._kind):
                raise
            return self.decode(value, report_unknown=report_unknown)

    def to_message(self, obj: JsonObject) -> bytes:
        return encode_message(obj, self._kind)

    def from_message(self, data: bytes) -> JsonObject:
        return decode_message(data, self._kind)


def _resets_managers(value: JsonObject) -> bool:
    """True if managedFields is an empty list. Clients send such a list to drop all managers."""
    metadata = value.get("metadata")
    return isinstance(metadata, dict) and metadata.get("managedFields") == []


class BuiltinRepresenter(Representer):
    """Returns stored objects of a declared kind as clients see them."""

    def __init__(self, resource: Resource, kind: Kind, default: Default, stored_kind: StoredKind | None = None) -> None:
        """`stored_kind` has the other versions of the kind, or is None if there are no other versions."""
        self._stored_kind = stored_kind or StoredKind([kind])
        self._converts = kind is not self._stored_kind.stored
        api_version = kind.group_version.api_version
        # Two groups may serve the same stored objects at versions of the same name, so the name is not unique.
        super().__init__(
            resource.cache, api_version if self._converts else kind.version, api_version, resource.list_kind
        )
        self._kind = kind
        self._default = default
        self._api_version_field = f'"apiVersion":"{self.api_version}",'.encode()
        self._kind_field = f'"kind":"{resource.kind}",'.encode()
        self._type_meta = self._api_version_field + self._kind_field
        self._has_fields_between = any("apiVersion" < field.name < "kind" for field in kind.fields)
        """True if other fields sort between apiVersion and kind in an object with sorted keys."""
        self._has_fields_before_metadata = any("kind" < field.name < "metadata" for field in kind.fields)

    @property
    def table(self) -> TableFormat:
        return self._kind.table

    async def to_storage(self, obj: JsonObject) -> JsonObject:
        null_empty_lists(obj, self._kind)
        if not self._converts:
            return obj
        converted = self._stored_kind.to_stored(obj, self._kind)
        return machinery.decode(converted, self._stored_kind.stored, report=False)[0]

    async def convert(self, obj: JsonObject, api_version: str) -> JsonObject | None:
        return self._stored_kind.convert(obj, api_version)

    @property
    def stores_normalized(self) -> bool:
        return True

    def show(self, cached: CachedObject) -> Representation | None:
        obj = cached.decode()
        # Read an object that is stored at an unknown version as an object of this version.
        source = self._stored_kind.kinds.get(obj.get("apiVersion", ""), self._kind)
        try:
            shown, _ = machinery.decode(obj, source, report=False)
            if source is not self._kind:
                converted = self._stored_kind.from_stored(self._stored_kind.to_stored(shown, source), self._kind)
                shown, _ = machinery.decode(converted, self._kind, report=False)
        except errors.BadRequestError as error:
            raise errors.InternalError(f"{cached.key} cannot be read: {error.message}") from None
        shown["apiVersion"] = self.api_version
        self._default(shown)
        data = json_codec.encode(shown)
        if data == cached.raw and not self._converts:
            return cached
        return Representation(data, labels_of(shown))

    def list_metadata(self, revision: int, continuation: str, remaining: int) -> JsonObject:
        metadata = super().list_metadata(revision, continuation, remaining)
        return {k: v for k, v in metadata.items() if v != ""}

    def as_item(self, obj: JsonObject) -> JsonObject:
        return {k: v for k, v in obj.items() if k not in ("apiVersion", "kind")}

    def encode_item(self, data: bytes) -> bytes:
        return json_codec.encode(self.as_item(json_codec.decode(data)))

    def list_parts(
        self,
        items: Sequence[bytes],
        metadata: JsonObject,
        shorten: Callable[[bytes], bytes] | None = None,
        shorter_by: int = 0,
    ) -> JoinedParts:
        """Return the JSON of a list. The items of a built-in list do not repeat apiVersion and kind."""
        if self._has_fields_before_metadata:
            return super().list_parts(list(map(self.encode_item, items)), metadata)
        if self._has_fields_between:
            shorter_by = len(self._api_version_field) + len(self._kind_field)
            return super().list_parts(items, metadata, self._without_type_meta, shorter_by)
        return super().list_parts(
            items, metadata, lambda item: item.replace(self._type_meta, b"", 1), len(self._type_meta)
        )

    def _without_type_meta(self, item: bytes) -> bytes:
        # A map such as a ConfigMap's data may contain the same text, so find the field kind directly before metadata.
        at = item.rfind(self._kind_field + b'"metadata":')
        return item[:at].replace(self._api_version_field, b"", 1) + item[at + len(self._kind_field) :]
