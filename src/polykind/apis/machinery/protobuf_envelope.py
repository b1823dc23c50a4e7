"""kube-apiserver's protobuf envelope (runtime.Unknown), protobuf lists and watch frames."""

from __future__ import annotations

import struct

from polykind.apis.machinery.protobuf_writer import encode_message
from polykind.apis.machinery.structs import Struct
from polykind.apis.meta.types import LIST_META
from polykind.codec.protobuf_wire import ProtobufError, bytes_field, bytes_field_head, encode_utf8, iter_fields
from polykind.contract import JsonObject

MAGIC = b"k8s\x00"


def encode_object(value: JsonObject, type_: Struct) -> bytes:
    """Encode an object of a built-in type in an envelope."""
    return encode_envelope(value.get("apiVersion", ""), value.get("kind", ""), encode_message(value, type_))


class ListFrame:
    """The envelope of a list, without its items."""

    def __init__(self, api_version: str, kind: str, metadata: JsonObject, numbers: tuple[int, int] = (1, 2)) -> None:
        """`numbers` are the field numbers of metadata and items."""
        self._type_meta = bytes_field(1, _encode_type_meta(api_version, kind))
        self._metadata = bytes_field(numbers[0], encode_message(metadata, LIST_META))
        self._metadata_first = numbers[0] < numbers[1]
        self.item_number = numbers[1]

    def around(self, items_size: int) -> tuple[bytes, bytes]:
        """Return the bytes before and after the encoded items, whose total length is `items_size`."""
        start = MAGIC + self._type_meta + bytes_field_head(2, items_size + len(self._metadata))
        if self._metadata_first:
            return start + self._metadata, _ENVELOPE_END
        return start, self._metadata + _ENVELOPE_END


_ENVELOPE_END = bytes_field(3, b"") + bytes_field(4, b"")


def _encode_type_meta(api_version: str, kind: str) -> bytes:
    return bytes_field(1, encode_utf8(api_version)) + bytes_field(2, encode_utf8(kind))


def encode_envelope(api_version: str, kind: str, message: bytes) -> bytes:
    """Wrap a message in an envelope with its apiVersion and kind."""
    return MAGIC + bytes_field(1, _encode_type_meta(api_version, kind)) + bytes_field(2, message) + _ENVELOPE_END


def decode_envelope(data: bytes) -> tuple[str, str, bytes]:
    """Return an envelope's apiVersion, kind and message. Raise ProtobufError if the envelope is malformed."""
    if not data:
        raise ProtobufError("empty data")
    if data == MAGIC:
        raise ProtobufError("empty body")
    if not data.startswith(MAGIC):
        raise ProtobufError("provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]")
    api_version = kind = ""
    message = b""
    for number, value in iter_fields(data[len(MAGIC) :]):
        if number == 1 and isinstance(value, bytes):
            for inner, text in iter_fields(value):
                if inner == 1 and isinstance(text, bytes):
                    api_version = text.decode("utf-8", "replace")
                elif inner == 2 and isinstance(text, bytes):
                    kind = text.decode("utf-8", "replace")
        elif number == 2 and isinstance(value, bytes):
            message = value
    return api_version, kind, message


def encode_watch_frame(event: str, encoded: bytes) -> bytes:
    """Encode a watch event: length prefix, event type, and the object in its own envelope."""
    frame = bytes_field(1, encode_utf8(event)) + bytes_field(2, bytes_field(1, encoded))
    return struct.pack(">I", len(frame)) + frame
