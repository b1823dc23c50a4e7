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

    def decode(self, value: JsonObject, report: bool) -> tuple[JsonObject, list[str]]:
        return typed.decode(value, self.struct, report=report)

    def _meta_errors(self, new: JsonObject, old: JsonObject | None) -> list[FieldError]:
        found = metarules.validate(new["metadata"], namespaced=self.kind.namespaced)
        if old is not None:
            found += metarules.validate_update(new["metadata"], old["metadata"])
        return found

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

    async def at_version(self, obj: JsonObject, api_version: str) -> JsonObject | None:
        return None
