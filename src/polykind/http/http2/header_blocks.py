"""The header blocks of an HTTP/2 connection: joined from their frames, decoded, and read as heads of requests."""

from __future__ import annotations

from contextlib import suppress

from polykind.bounded_cache import BoundedCache
from polykind.http.http2.http2_request import RequestHead, new_decoder, read_head
from polykind.http2.frames import PROTOCOL_ERROR, ConnectionFailure
from polykind.http2.header_decoder import HeadersTooLargeError

_CACHED_BYTES = 64 * 1024
"""The memory of the heads that are kept for one connection."""


class HeaderBlocks:
    """Joins and decodes header blocks.

    Every block must be decoded, because it may change the dynamic table, to which later blocks refer.
    """

    __slots__ = ("_block", "_decoder", "_heads", "_heads_generation", "_max_size", "flags", "stream_id")

    def __init__(self, max_size: int) -> None:
        self._max_size = max_size
        self._decoder = new_decoder()
        self._heads: BoundedCache[bytes, RequestHead] = BoundedCache(_CACHED_BYTES, cost=RequestHead.memory)
        """The heads of recent header blocks. Valid as long as the decoder's dynamic table is unchanged."""
        self._heads_generation = 0
        self._block = bytearray()
        self.stream_id = 0
        """The stream of an incomplete block, which CONTINUATION frames must complete. 0 if there is none."""
        self.flags = 0
        """The flags of the HEADERS frame that started the incomplete block."""

    def start(self, stream_id: int, flags: int, part: bytes) -> None:
        """Start a block of several frames."""
        self.stream_id, self.flags, self._block = stream_id, flags, bytearray()
        self.add(part)

    def add(self, part: bytes) -> None:
        """Add the next frame of a block. Raise ConnectionFailure if the block is too long to be decoded."""
        self._block += part
        if len(self._block) > self._max_size:
            # As in Go: only a head that is not much too large gets a response.
            raise ConnectionFailure(PROTOCOL_ERROR, "the head of a request is too large")

    def finish(self) -> bytes:
        """Return the complete block."""
        block, self._block, self.stream_id = bytes(self._block), bytearray(), 0
        return block

    def read_head(self, block: bytes) -> RequestHead:
        """Return the head of a request.

        Raise MalformedRequestError if it violates HTTP/2, HeadersTooLargeError if it exceeds the limit, and
        MalformedHeadersError if the block cannot be decoded. Later blocks can be decoded except after the last error.
        """
        head = self._heads[block]
        if head is None:
            fields = self._decoder.decode(block, self._max_size)
            self._forget_heads()
            head = self._heads[block] = read_head(fields)
        return head

    def read_trailers(self, block: bytes) -> None:
        """Decode the trailers of a body, which are not used. Raise MalformedHeadersError if this is not possible."""
        with suppress(HeadersTooLargeError):
            self._decoder.decode(block, self._max_size)
        self._forget_heads()

    def clear(self) -> None:
        """Forget everything that the client has sent, because the connection is closed."""
        self._heads.clear()
        self._block = bytearray()
        self._decoder = new_decoder()

    def _forget_heads(self) -> None:
        """Forget the heads of earlier blocks if the dynamic table, to which they refer, has changed."""
        generation = self._decoder.generation
        if generation != self._heads_generation:
            self._heads_generation = generation
            self._heads.clear()
