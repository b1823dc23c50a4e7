"""How the objects of a watch are written: whole, as Tables, or as metadata only."""

from __future__ import annotations

from collections.abc import Hashable

from polykind.contract import JsonObject
from polykind.verbs.call import Call
from polykind.wire import codec, partial
from polykind.wire.negotiation import Accepted
from polykind.wire.options import include_object

_END = "k8s.io/initial-events-end"


def _bookmark(call: Call, revision: int, initial_end: bool) -> JsonObject:
    meta: JsonObject = {"resourceVersion": str(revision)}
    if initial_end:
        meta["annotations"] = {_END: "true"}
    return {"apiVersion": call.version.api_version, "kind": call.kind.kind, "metadata": meta}


class Whole:
    """Objects as they are: no decoding at all."""

    key: Hashable | None = "whole"

    def __init__(self, call: Call) -> None:
        self._call = call

    def encode(self, data: bytes) -> bytes:
        return data

    def bookmark(self, revision: int, initial_end: bool) -> bytes:
        return codec.encode(_bookmark(self._call, revision, initial_end))


class Partial(Whole):
    """Only kind, apiVersion and metadata."""

    def __init__(self, call: Call, version: str) -> None:
        super().__init__(call)
        self._version = version
        self.key = ("partial", version)

    def encode(self, data: bytes) -> bytes:
        return codec.encode(partial.partial_object(codec.decode(data), self._version))

    def bookmark(self, revision: int, initial_end: bool) -> bytes:
        obj = _bookmark(self._call, revision, initial_end)
        return codec.encode(partial.partial_object(obj, self._version))


class AsTable(Whole):
    """One row a Table; the columns are told once, so no two watchers can share."""

    def __init__(self, call: Call, version: str) -> None:
        super().__init__(call)
        self.key = None
        self._version = version
        self._include = include_object(call.query)
        self._told = False

    def encode(self, data: bytes) -> bytes:
        return self._table(codec.decode(data))

    def bookmark(self, revision: int, initial_end: bool) -> bytes:
        return self._table(_bookmark(self._call, revision, initial_end))

    def _table(self, obj: JsonObject) -> bytes:
        table, now = self._call.version.table, self._call.api.clock.now()
        revision = obj["metadata"].get("resourceVersion", "")
        shown = table.table(
            [obj],
            {"resourceVersion": revision},
            now,
            include=self._include,
            version=self._version,
            headers=not self._told,
        )
        self._told = True
        return codec.encode(shown)


def projection_for(call: Call, accepted: Accepted) -> Whole:
    if accepted.as_kind == "Table":
        return AsTable(call, accepted.as_version)
    if accepted.as_kind == "PartialObjectMetadata":
        return Partial(call, accepted.as_version)
    return Whole(call)
