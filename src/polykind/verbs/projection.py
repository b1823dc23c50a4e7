"""How the events of a watch are written: in JSON or protobuf, objects whole, as Tables, or as metadata only."""

from __future__ import annotations

from collections.abc import Hashable

from polykind import errors
from polykind.apis.meta.types import PARTIAL_OBJECT_METADATA, STATUS
from polykind.codec import json_codec, partial_metadata
from polykind.codec.negotiation import ResponseFormat
from polykind.codec.protobuf_envelope import encode_envelope, encode_object, encode_watch_frame
from polykind.contract import JsonObject
from polykind.http.messages import JSON
from polykind.http.options import include_object
from polykind.verbs.context import RequestContext

_END = "k8s.io/initial-events-end"


def _bookmark(call: RequestContext, revision: int, initial_end: bool) -> JsonObject:
    meta: JsonObject = {"resourceVersion": str(revision)}
    if initial_end:
        meta["annotations"] = {_END: "true"}
    return call.version.codec.ordered(
        {"apiVersion": call.version.api_version, "kind": call.resource.kind, "metadata": meta}
    )


class Whole:
    """Objects as they are: no decoding at all."""

    key: Hashable | None = "whole"
    content_type = JSON
    unsupported = False

    def __init__(self, call: RequestContext) -> None:
        self._call = call

    def encode(self, data: bytes) -> bytes:
        return data

    def bookmark(self, revision: int, initial_end: bool) -> bytes:
        return json_codec.encode(_bookmark(self._call, revision, initial_end))

    def event(self, kind: str, data: bytes) -> bytes:
        return b'{"type":"%b","object":%b}\n' % (kind.encode(), data)

    def error(self, error: errors.APIError) -> bytes:
        return self.event("ERROR", json_codec.encode_ordered(error.as_watch_error().status()))


class Partial(Whole):
    """Only kind, apiVersion and metadata."""

    def __init__(self, call: RequestContext, version: str) -> None:
        super().__init__(call)
        self._version = version
        self.key = ("partial", version)

    def encode(self, data: bytes) -> bytes:
        return json_codec.encode_ordered(partial_metadata.partial_object(json_codec.decode(data), self._version))

    def bookmark(self, revision: int, initial_end: bool) -> bytes:
        obj = _bookmark(self._call, revision, initial_end)
        return json_codec.encode_ordered(partial_metadata.partial_object(obj, self._version))


class AsTable(Whole):
    """One row a Table; the columns are told once, so no two watchers can share."""

    def __init__(self, call: RequestContext, version: str) -> None:
        super().__init__(call)
        self.key = None
        self._version = version
        self._include = include_object(call.query)
        self._told = False

    def encode(self, data: bytes) -> bytes:
        return self._table(json_codec.decode(data))

    def bookmark(self, revision: int, initial_end: bool) -> bytes:
        return self._table(_bookmark(self._call, revision, initial_end))

    def _table(self, obj: JsonObject) -> bytes:
        table, now = self._call.version.representer.table, self._call.backend.clock.now()
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
        return json_codec.encode_ordered(shown)


class Messages(Whole):
    """Whole objects in protobuf, each event with its length before it."""

    key: Hashable | None = "messages"
    content_type = b"application/vnd.kubernetes.protobuf;stream=watch"

    def encode(self, data: bytes) -> bytes:
        return self._message(json_codec.decode(data))

    def bookmark(self, revision: int, initial_end: bool) -> bytes:
        return self._message(_bookmark(self._call, revision, initial_end))

    def event(self, kind: str, data: bytes) -> bytes:
        return encode_watch_frame(kind, data)

    def error(self, error: errors.APIError) -> bytes:
        return encode_watch_frame("ERROR", encode_object(error.as_watch_error().status(), STATUS))

    def _message(self, obj: JsonObject) -> bytes:
        version = self._call.version
        return encode_envelope(version.api_version, version.resource.kind, version.codec.to_message(obj))


class PartialMessages(Messages):
    """The metadata of objects, custom ones as well, in protobuf."""

    def __init__(self, call: RequestContext, version: str) -> None:
        super().__init__(call)
        self._version = version
        self.key = ("partial messages", version)

    def _message(self, obj: JsonObject) -> bytes:
        return encode_object(partial_metadata.partial_object(obj, self._version), PARTIAL_OBJECT_METADATA)


class Mute(Whole):
    """A list of metadata, which no event has: only errors can be told."""

    key: Hashable | None = "mute"
    unsupported = True


class MuteMessages(Messages):
    """The same in protobuf."""

    key: Hashable | None = "mute messages"
    unsupported = True

    def _message(self, obj: JsonObject) -> bytes:
        return b""


def projection_for(call: RequestContext, accepted: ResponseFormat) -> Whole:
    if accepted.as_kind == "Table":
        return AsTable(call, accepted.as_version)
    protobuf = accepted.media == "protobuf"
    if accepted.as_kind == "PartialObjectMetadata":
        return PartialMessages(call, accepted.as_version) if protobuf else Partial(call, accepted.as_version)
    if accepted.as_kind == "PartialObjectMetadataList":
        return MuteMessages(call) if protobuf else Mute(call)
    return Messages(call) if protobuf else Whole(call)
