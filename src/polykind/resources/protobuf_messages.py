"""Objects as protobuf messages, encoded once for each representation and kept by its JSON.

A representation's JSON names its kind and its revision, so it determines the message. The bytes of the JSON belong to
the cached object, and Python computes their hash only once. So finding a message costs a lookup, and a list or a watch
joins messages as it joins JSON. The least recently used messages are dropped.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from polykind.apis.machinery.protobuf_writer import encode_message
from polykind.apis.meta.types import PARTIAL_OBJECT_METADATA
from polykind.bounded_cache import BoundedCache
from polykind.codec import json_codec, partial_metadata
from polykind.codec.protobuf_wire import BYTES, decode_varint, delimited_field
from polykind.contract import JsonObject
from polykind.resources.resource import ObjectCodec

_MAX_BYTES: Final = 48 * 1024 * 1024
_MAX_METADATA_BYTES: Final = 16 * 1024 * 1024
_MAX_OBJECT_BYTES: Final = 64 * 1024
"""The message of a larger object is not kept: few clients ask for it, and it would displace many others."""
_METADATA_TAG: Final = 1 << 3 | BYTES

_messages: Final[BoundedCache[bytes, bytes]] = BoundedCache(_MAX_BYTES, max_key_bytes=_MAX_OBJECT_BYTES, cost=len)
_metadata_messages: Final[BoundedCache[bytes, bytes]] = BoundedCache(
    _MAX_METADATA_BYTES, max_key_bytes=_MAX_OBJECT_BYTES, cost=len
)


class _Head(msgspec.Struct):
    """The members of an object that PartialObjectMetadata depends on."""

    apiVersion: str = ""  # noqa: N815
    kind: str = ""
    metadata: Any = None


_decode_head = msgspec.json.Decoder(_Head).decode


class ObjectMessages:
    """The messages of objects of one kind, from their JSON."""

    def __init__(self, codec: ObjectCodec) -> None:
        self._codec = codec

    def known(self, data: bytes) -> bytes | None:
        """Return the message of an object if it has been encoded before."""
        return _messages[data]

    def encode(self, data: bytes) -> bytes:
        """Return the message of an object."""
        message = _messages[data]
        if message is None:
            message = _messages[data] = self._codec.to_message(_decode(data))
        return message


class MetadataMessages:
    """The messages of objects of any kind as PartialObjectMetadata, from the JSON of the whole objects."""

    def known(self, data: bytes) -> bytes | None:
        """Return the message of an object's metadata if it, or the whole object, has been encoded before."""
        message = _metadata_messages[data]
        if message is None and (whole := _messages[data]) is not None:
            message = _metadata_messages[data] = _metadata_of(data, whole)
        return message

    def encode(self, data: bytes) -> bytes:
        """Return the message of an object's metadata."""
        message = self.known(data)
        if message is None:
            message = _metadata_messages[data] = encode_message(_partial_object(data), PARTIAL_OBJECT_METADATA)
        return message


def _metadata_of(data: bytes, message: bytes) -> bytes | None:
    """Return the beginning of an object's message if it is the message of its PartialObjectMetadata, else None.

    Field 1 of both is the metadata.
    """
    if message[:1] != bytes((_METADATA_TAG,)) or partial_metadata.may_have_hidden_annotations(data):
        return None
    tag, position = decode_varint(message, 0, len(message))
    return message[: delimited_field(message, position, len(message), tag)[1]]


def _partial_object(data: bytes) -> JsonObject:
    """Return an object as PartialObjectMetadata, decoding no more than its metadata."""
    try:
        head = _decode_head(data)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return partial_metadata.partial_object(_decode(data))
    return partial_metadata.partial_object(
        {"apiVersion": head.apiVersion, "kind": head.kind, "metadata": head.metadata}
    )


def _decode(data: bytes) -> JsonObject:
    value: JsonObject = json_codec.decode(data)
    return value
