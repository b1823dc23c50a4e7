"""Resources that need no definition: typed objects, read and written as Go's structs would be."""

from __future__ import annotations

from polykind import errors, typed
from polykind.cache.entry import Entry, Form, labels_of
from polykind.contract import JsonObject
from polykind.errors import FieldError
from polykind.registry.kind import APPLY_PATCH, JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, Kind, Version
from polykind.schema import metarules
from polykind.selection import fields
from polykind.typed import Struct
from polykind.wire import codec


class BuiltinVersion(Version):
    """A typed resource at one version."""

    patch_types = (JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, APPLY_PATCH)

    def __init__(self, kind: Kind, version: str, struct: Struct) -> None:
        super().__init__(kind, version)
        self.struct = struct

    def refuse_field(self, label: str) -> str:
        return fields.unknown(label)

    def method_not_allowed(self, verb: str) -> errors.APIError:
        error = errors.MethodNotAllowed("", "", verb)
        error.message, error.details = "the server does not allow this method on the requested resource", {}
        return error

    def unsupported_patch(self) -> errors.APIError | None:
        error = errors.UnsupportedMediaType("415: Unsupported Media Type")
        error.detailed = True
        return error

    def check_kind(self, kind: str, api_version: str) -> None:
        if kind != self.kind.kind and api_version == self.api_version:
            why = f'no kind "{kind}" is registered for version "{api_version}" in scheme'
            raise errors.BadRequest(
                f'{kind} in version "{self.version}" cannot be handled as a {self.kind.kind}: {why}'
            )

    def decode(self, value: JsonObject, report: bool) -> tuple[JsonObject, list[str]]:
        return typed.decode(value, self.struct, report=report)

    def _meta_errors(self, new: JsonObject, old: JsonObject | None) -> list[FieldError]:
        if old is not None:
            return metarules.validate_update(new["metadata"], old["metadata"])
        return metarules.validate(new["metadata"], namespaced=self.kind.namespaced)

    async def to_storage(self, obj: JsonObject) -> JsonObject:
        return obj

    def clean(self) -> bool:
        return True

    def show(self, entry: Entry) -> Form | None:
        if entry.clean and entry.version == self.version:
            return Form(entry.raw, entry.labels)
        obj = entry.value()
        obj["apiVersion"] = self.api_version
        try:
            shown, _ = typed.decode(obj, self.struct, report=False)
        except errors.BadRequest as error:
            raise errors.InternalError(f"{entry.key} cannot be read: {error.message}") from None
        return Form(codec.encode(shown), labels_of(shown))

    def list_metadata(self, revision: int, continuation: str, remaining: int) -> JsonObject:
        metadata = super().list_metadata(revision, continuation, remaining)
        return {k: v for k, v in metadata.items() if v != ""}

    def list_parts(self, items: list[bytes], metadata: JsonObject) -> list[bytes]:
        """The items of a typed list do not repeat their kind."""
        head = f'"apiVersion":"{self.api_version}","kind":"{self.kind.kind}",'.encode()
        return super().list_parts([i.replace(head, b"", 1) for i in items], metadata)

    async def at_version(self, obj: JsonObject, api_version: str) -> JsonObject | None:
        return None
