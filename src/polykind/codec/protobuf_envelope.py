"""What messages of built-in types travel in: the reference's envelope, its lists and the frames of its watches."""

from __future__ import annotations

import struct
from collections.abc import Iterable

from polykind.apis.machinery.fields import Struct
from polykind.apis.machinery.protobuf_writer import encode_message
from polykind.apis.meta.types import LIST_META
from polykind.codec.protobuf_wire import ProtobufError, delimited, parts, utf8
from polykind.contract import JsonObject

MAGIC = b"k8s\x00"


def encode_object(value: JsonObject, type_: Struct) -> bytes:
    """An object of a built-in type in its envelope."""
    return envelope(value.get("apiVersion", ""), value.get("kind", ""), encode_message(value, type_))


def encode_list(
    api_version: str, kind: str, metadata: JsonObject, items: Iterable[bytes], *, numbers: tuple[int, int] = (1, 2)
) -> bytes:
    """A list in its envelope, of items that are messages already; `numbers` are those of metadata and items."""
    first = delimited(numbers[0], encode_message(metadata, LIST_META))
    rest = b"".join([delimited(numbers[1], item) for item in items])
    return envelope(api_version, kind, first + rest if numbers[0] < numbers[1] else rest + first)


def envelope(api_version: str, kind: str, message: bytes) -> bytes:
    """A message with what it is a message of."""
    meta = delimited(1, utf8(api_version)) + delimited(2, utf8(kind))
    return MAGIC + delimited(1, meta) + delimited(2, message) + delimited(3, b"") + delimited(4, b"")


def open_envelope(data: bytes) -> tuple[str, str, bytes]:
    """The apiVersion, the kind and the message. Raises ProtobufError."""
    if not data:
        raise ProtobufError("empty data")
    if data == MAGIC:
        raise ProtobufError("empty body")
    if not data.startswith(MAGIC):
        raise ProtobufError("provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]")
    api_version = kind = ""
    message = b""
    for number, value in parts(data[len(MAGIC) :]):
        if number == 1 and isinstance(value, bytes):
            for inner, text in parts(value):
                if inner == 1 and isinstance(text, bytes):
                    api_version = text.decode("utf-8", "replace")
                elif inner == 2 and isinstance(text, bytes):
                    kind = text.decode("utf-8", "replace")
        elif number == 2 and isinstance(value, bytes):
            message = value
    return api_version, kind, message


def watch_frame(event: str, encoded: bytes) -> bytes:
    """An event of a watch: its length, its type, and the object in an envelope of its own."""
    frame = delimited(1, utf8(event)) + delimited(2, delimited(1, encoded))
    return struct.pack(">I", len(frame)) + frame
