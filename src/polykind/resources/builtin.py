"""Resources that need no definition: typed objects, read and written as Go's structs would be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from polykind import errors
from polykind.apis import machinery
from polykind.apis.machinery import Struct
from polykind.apis.machinery.protobuf_reader import decode_message
from polykind.apis.machinery.protobuf_writer import encode_message
from polykind.cache.cached_object import CachedObject, Representation, labels_of
from polykind.cache.watch_cache import WatchCache
from polykind.codec import json_codec, negotiation
from polykind.contract import JsonObject
from polykind.errors import FieldError
from polykind.resources.resource import APPLY_PATCH, JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, Resource, ServedVersion
from polykind.schema import metadata_validation, object_meta
from polykind.selectors import field_selectors

LEGACY = "pkg/api/legacyscheme/scheme.go:30"
"""Where the reference's texts say that most types are known."""


class BuiltinResource(Resource):
    """A typed resource at its only version, laid out as Kubernetes lays out such: without the group."""

    def __init__(
        self,
        cache: WatchCache,
        group: str,
        struct: Struct,
        version: Callable[[Any, str, Struct], BuiltinVersion],
        *,
        plural: str = "",
        namespaced: bool = False,
    ) -> None:
        name = struct.kind
        plural = plural or f"{name.lower()}s"
        super().__init__(
            cache.resource("", plural),
            group=group,
            plural=plural,
            singular=name.lower(),
            kind=name,
            list_kind=f"{name}List",
            namespaced=namespaced,
        )
        self.storage = struct.version
        self.version = self.versions[self.storage] = version(self, self.storage, struct)

    def read(self, entry: CachedObject) -> JsonObject:
        """An object from the store as if it had been sent, with its defaults. Raises BadRequest."""
        return self.version.decode(entry.decode(), False)[0]

    def shown(self, entry: CachedObject) -> JsonObject:
        """An object from the store as it is served. Raises APIError."""
        form = self.version.ready(entry)
        if form is None:
            raise AssertionError("a built-in kind that must be converted")
        obj: JsonObject = json_codec.decode(form.data)
        return obj


class BuiltinVersion(ServedVersion):
    """A typed resource at one version."""

    patch_types = (JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, APPLY_PATCH)
    media = negotiation.BUILTIN_MEDIA
    typed = True
    package = ""
    scheme = ""
    """What the reference's texts say the type is of."""
    known: tuple[str, ...] = ()
    """The versions that bodies can be read at, served or not."""
    selectable: tuple[str, ...] = (".metadata.namespace",)

    def __init__(self, kind: Resource, version: str, struct: Struct) -> None:
        super().__init__(kind, version)
        self.struct = struct
        self.object_type = f"*{self.package}.{kind.kind}"
        self.list_type = f"*{self.package}.{kind.list_kind}"

    def refuse_field(self, label: str) -> str:
        return field_selectors.unknown_field(label)

    def method_not_allowed(self, verb: str) -> errors.APIError:
        return errors.method_not_allowed()

    def unsupported_patch(self) -> errors.APIError | None:
        error = errors.UnsupportedMediaTypeError("415: Unsupported Media Type")
        error.include_details = True
        return error

    def check_kind(self, kind: str, api_version: str) -> None:
        group, _, version = api_version.rpartition("/")
        if (kind, group) != (self.resource.kind, self.resource.group) or version not in self.known:
            from polykind.apis.scheme import is_known

            why = f'no kind "{kind}" is registered for version "{api_version}" in scheme "{self.scheme}"'
            if is_known(api_version, kind, to_definitions=self.scheme != LEGACY):
                why = f"converting ({version}.{kind}) to ({self.package}.{self.resource.kind}): unknown conversion"
            text = f'{kind} in version "{version}" cannot be handled as a {self.resource.kind}: {why}'
            raise object_meta.BadObjectMetaError(text, why)

    def decode(self, value: JsonObject, report: bool) -> tuple[JsonObject, list[str]]:
        forgets = _forgets(value)
        obj, unknown = self._decoded(value, report)
        if forgets:
            obj["metadata"]["managedFields"] = []
        return obj, unknown

    def _decoded(self, value: JsonObject, report: bool) -> tuple[JsonObject, list[str]]:
        return machinery.decode(value, self.struct, report=report)

    def ordered(self, obj: JsonObject) -> JsonObject:
        return machinery.decode(obj, self.struct, report=False)[0]

    def sealed(self, value: JsonObject) -> list[str]:
        from polykind.apis.machinery import own_decoders

        return list(own_decoders.sealed(value, self.struct))

    def misfit(self, value: JsonObject) -> str:
        from polykind.apis.machinery import from_unstructured

        return from_unstructured.complaint(value, self.struct)

    def message(self, obj: JsonObject) -> bytes:
        return encode_message(obj, self.struct)

    def from_message(self, data: bytes) -> JsonObject:
        return decode_message(data, self.struct)

    def prepare_create(self, obj: JsonObject) -> None:
        return

    def validate_create(self, obj: JsonObject) -> list[FieldError]:
        return self._meta_errors(obj, None)

    def prepare_update(self, new: JsonObject, old: JsonObject) -> None:
        return

    def validate_update(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        return self._meta_errors(new, old)

    def _meta_errors(self, new: JsonObject, old: JsonObject | None) -> list[FieldError]:
        if old is not None:
            return metadata_validation.validate_object_meta_update(new["metadata"], old["metadata"])
        return metadata_validation.validate_object_meta(new["metadata"], namespaced=self.resource.namespaced)

    async def to_storage(self, obj: JsonObject) -> JsonObject:
        return obj

    def clean(self) -> bool:
        return True

    def show(self, entry: CachedObject) -> Representation | None:
        obj = entry.decode()
        obj["apiVersion"] = self.api_version
        try:
            shown, _ = machinery.decode(obj, self.struct, report=False)
        except errors.BadRequestError as error:
            raise errors.InternalError(f"{entry.key} cannot be read: {error.message}") from None
        return Representation(json_codec.encode(shown), labels_of(shown))

    def list_metadata(self, revision: int, continuation: str, remaining: int) -> JsonObject:
        metadata = super().list_metadata(revision, continuation, remaining)
        return {k: v for k, v in metadata.items() if v != ""}

    def as_item(self, obj: JsonObject) -> JsonObject:
        return {k: v for k, v in obj.items() if k not in ("apiVersion", "kind")}

    def list_parts(self, items: list[bytes], metadata: JsonObject) -> list[bytes]:
        """The items of a typed list do not repeat their kind."""
        head = f'"apiVersion":"{self.api_version}","kind":"{self.resource.kind}",'.encode()
        return super().list_parts([i.replace(head, b"", 1) for i in items], metadata)

    async def at_version(self, obj: JsonObject, api_version: str) -> JsonObject | None:
        return None


def _forgets(value: JsonObject) -> bool:
    """Whether managedFields are stated as an empty list: never written again, it yet asks to forget all entries."""
    metadata = value.get("metadata")
    return isinstance(metadata, dict) and metadata.get("managedFields") == []


class CoreVersion(BuiltinVersion):
    """v1 of a resource of the core group."""

    package = "core"
    scheme = LEGACY
    known = ("v1",)
    selectable: tuple[str, ...] = ()

    def __init__(self, kind: Resource, struct: Struct) -> None:
        super().__init__(kind, "v1", struct)

    def refuse_field(self, label: str) -> str:
        return field_selectors.unsupported_field(label)


_STANDARD = frozenset(("kubernetes", "orphan", "foregroundDeletion"))


def unqualified(finalizers: list[str] | None, path: str) -> list[FieldError]:
    """Finalizers of built-in objects are qualified names or among a few that are not."""
    why = "name is neither a standard finalizer name nor is it fully qualified"
    return [
        errors.invalid(path.format(at), name, why)
        for at, name in enumerate(finalizers or ())
        if "/" not in name and name not in _STANDARD
    ]
