"""Encoding of watch events: JSON or protobuf, with whole objects, Tables or metadata only."""

from __future__ import annotations

from collections.abc import Hashable

from polykind import errors
from polykind.apis.machinery.protobuf_envelope import encode_envelope, encode_object, encode_watch_frame
from polykind.apis.meta.types import PARTIAL_OBJECT_METADATA, STATUS
from polykind.codec import json_codec, partial_metadata
from polykind.codec.negotiation import ResponseFormat
from polykind.contract import JsonObject
from polykind.http.framing import BINARY_MESSAGES, TEXT_MESSAGES
from polykind.operations.operation import Operation
from polykind.operations.options import include_object
from polykind.operations.responses import JSON
from polykind.resources.protobuf_messages import MetadataMessages, ObjectMessages

_INITIAL_EVENTS_END = "k8s.io/initial-events-end"


def encoder_for(op: Operation, response_format: ResponseFormat) -> JsonEncoder:
    """Return the encoder for the events of a watch."""
    version, protobuf = response_format.as_version, response_format.media == "protobuf"
    if response_format.as_kind == "Table":
        return TableEncoder(op, version)
    if response_format.as_kind == "PartialObjectMetadata":
        return PartialProtobufEncoder(op, version) if protobuf else PartialJsonEncoder(op, version)
    if response_format.as_kind == "PartialObjectMetadataList":
        return ErrorOnlyProtobufEncoder(op) if protobuf else ErrorOnlyJsonEncoder(op)
    return ProtobufEncoder(op) if protobuf else JsonEncoder(op)


class JsonEncoder:
    """Encodes events in JSON. Each event contains the bytes of a representation without decoding them."""

    key: Hashable | None = "json"
    content_type = JSON
    messages = TEXT_MESSAGES
    """The framing of events in a WebSocket."""
    decodes = False
    member_bytes = 0
    unsupported = False

    def __init__(self, op: Operation) -> None:
        self._op = op

    def encode(self, data: bytes) -> bytes:
        return data

    def bookmark(self, revision: int, initial_end: bool) -> bytes:
        return json_codec.encode(self._bookmark_object(revision, initial_end))

    def event(self, kind: str, data: bytes) -> bytes:
        return b'{"type":"%b","object":%b}\n' % (kind.encode(), data)

    def error(self, error: errors.APIError) -> bytes:
        return self.event("ERROR", json_codec.encode_ordered(error.as_watch_error().status()))

    def _bookmark_object(self, revision: int, initial_end: bool) -> JsonObject:
        version = self._op.version
        meta: JsonObject = {"resourceVersion": str(revision)}
        if initial_end:
            meta["annotations"] = {_INITIAL_EVENTS_END: "true"}
        obj = {"apiVersion": version.api_version, "kind": self._op.resource.kind, "metadata": meta}
        bookmark = version.codec.ordered(obj)
        version.strategy.complete_bookmark(bookmark)
        return bookmark


class PartialJsonEncoder(JsonEncoder):
    """Encodes events with PartialObjectMetadata in JSON."""

    decodes = True

    def __init__(self, op: Operation, version: str) -> None:
        super().__init__(op)
        self._version = version
        self.key = ("partial json", version)

    def encode(self, data: bytes) -> bytes:
        return json_codec.encode_ordered(partial_metadata.partial_object(json_codec.decode(data), self._version))

    def bookmark(self, revision: int, initial_end: bool) -> bytes:
        obj = self._bookmark_object(revision, initial_end)
        return json_codec.encode_ordered(partial_metadata.partial_object(obj, self._version))


class TableEncoder(JsonEncoder):
    """Encodes events with one-row Tables. Watchers cannot share it: only its first event has column headers."""

    decodes = True

    def __init__(self, op: Operation, version: str) -> None:
        super().__init__(op)
        self.key = None
        self.member_bytes = op.version.representer.table.row_bytes
        self._version = version
        self._include = include_object(op.query)
        self._headers_sent = False

    def encode(self, data: bytes) -> bytes:
        return self._encode_table(json_codec.decode(data))

    def bookmark(self, revision: int, initial_end: bool) -> bytes:
        return self._encode_table(self._bookmark_object(revision, initial_end))

    def _encode_table(self, obj: JsonObject) -> bytes:
        table = self._op.version.representer.table.table(
            [obj],
            {"resourceVersion": obj["metadata"].get("resourceVersion", "")},
            self._op.backend.clock.now(),
            include=self._include,
            version=self._version,
            headers=not self._headers_sent,
        )
        self._headers_sent = True
        return json_codec.encode_ordered(table)


class ProtobufEncoder(JsonEncoder):
    """Encodes events with whole objects as length-prefixed protobuf frames."""

    key: Hashable | None = "protobuf"
    decodes = True
    content_type = b"application/vnd.kubernetes.protobuf;stream=watch"
    messages = BINARY_MESSAGES

    def encode(self, data: bytes) -> bytes:
        version = self._op.version
        return encode_envelope(version.api_version, version.resource.kind, ObjectMessages(version.codec).encode(data))

    def bookmark(self, revision: int, initial_end: bool) -> bytes:
        version, bookmark = self._op.version, self._bookmark_object(revision, initial_end)
        return encode_envelope(version.api_version, version.resource.kind, version.codec.to_message(bookmark))

    def event(self, kind: str, data: bytes) -> bytes:
        return encode_watch_frame(kind, data)

    def error(self, error: errors.APIError) -> bytes:
        return encode_watch_frame("ERROR", encode_object(error.as_watch_error().status(), STATUS))


class PartialProtobufEncoder(ProtobufEncoder):
    """Encodes events with PartialObjectMetadata in protobuf, also for custom objects."""

    def __init__(self, op: Operation, version: str) -> None:
        super().__init__(op)
        self._version = version
        self.key = ("partial protobuf", version)

    def encode(self, data: bytes) -> bytes:
        api_version = f"meta.k8s.io/{self._version}"
        return encode_envelope(api_version, PARTIAL_OBJECT_METADATA.kind, MetadataMessages().encode(data))

    def bookmark(self, revision: int, initial_end: bool) -> bytes:
        bookmark = partial_metadata.partial_object(self._bookmark_object(revision, initial_end), self._version)
        return encode_object(bookmark, PARTIAL_OBJECT_METADATA)


class ErrorOnlyJsonEncoder(JsonEncoder):
    """Encodes errors in JSON for a watch that asks for PartialObjectMetadataList, which no event can contain."""

    key: Hashable | None = "errors in json"
    unsupported = True


class ErrorOnlyProtobufEncoder(ProtobufEncoder):
    """Encodes errors in protobuf for a watch that asks for PartialObjectMetadataList, which no event can contain."""

    key: Hashable | None = "errors in protobuf"
    unsupported = True

    def encode(self, data: bytes) -> bytes:
        return b""

    def bookmark(self, revision: int, initial_end: bool) -> bytes:
        return b""
