"""Lists in protobuf: encoded in memory or, if they are long, while they are sent."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from polykind.apis.machinery.protobuf_envelope import ListFrame
from polykind.codec.negotiation import ResponseFormat
from polykind.codec.protobuf_wire import bytes_field_head
from polykind.contract import JsonObject
from polykind.operations.operation import Operation
from polykind.resources.protobuf_messages import MetadataMessages, ObjectMessages
from polykind.workers import INLINE_BYTES

_NUMBERS = {"v1": (1, 2), "v1beta1": (2, 1)}
"""The protobuf field numbers of metadata and items in a PartialObjectMetadataList, by version."""
_PART_BYTES = 64 * 1024
_KNOWN_MESSAGE_BYTES = 64
"""The work for a message that is known, as the number of bytes of JSON that take as long to encode."""


class ProtobufList:
    """A list of objects, or of their metadata, in protobuf. `items` are the objects in JSON."""

    def __init__(
        self, op: Operation, response_format: ResponseFormat, items: Sequence[bytes], metadata: JsonObject
    ) -> None:
        self._op = op
        self._items = items
        self._messages = MetadataMessages() if response_format.as_kind is not None else ObjectMessages(op.version.codec)
        version = op.version
        if response_format.as_kind is None:
            self._frame = ListFrame(version.api_version, version.resource.list_kind, metadata)
        else:
            api_version = f"{response_format.as_group}/{response_format.as_version}"
            numbers = _NUMBERS[response_format.as_version]
            self._frame = ListFrame(api_version, response_format.as_kind, metadata, numbers)

    async def encode(self) -> bytes:
        """Encode the whole list."""
        body = b"".join([part async for part in self._encode_items()])
        head, tail = self._frame.around(len(body))
        return head + body + tail

    async def parts(self) -> AsyncIterator[bytes]:
        """Yield the list in parts.

        A protobuf message starts with its length. So all items are encoded twice: first to add up their lengths, and
        then to send them. kube-apiserver does the same.
        """
        size = 0
        async for part in self._encode_items():
            size += len(part)
        head, tail = self._frame.around(size)
        yield head
        async for part in self._encode_items():
            yield part
        yield tail

    async def _encode_items(self) -> AsyncIterator[bytes]:
        """Yield the encoded items, joined to parts. Take a turn on the event loop for each slice of them."""
        part = bytearray()
        number, slice_bytes = self._frame.item_number, 0
        for data in self._items:
            if slice_bytes >= INLINE_BYTES:
                await self._op.lane.take_turn()
                slice_bytes = 0
            message = self._messages.known(data)
            if message is None:
                message = await self._op.lane.run_sized(len(data), self._messages.encode, data)
                slice_bytes += len(data)
            else:
                slice_bytes += _KNOWN_MESSAGE_BYTES
            part += bytes_field_head(number, len(message))
            part += message
            if len(part) >= _PART_BYTES:
                yield bytes(part)
                part.clear()
        if part:
            yield bytes(part)
