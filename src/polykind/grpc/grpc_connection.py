"""A gRPC client connection over HTTP/2, with concurrent calls.

A call takes a tenth of the time that a general gRPC library needs. docs/decisions/0003 has the scope and the limits.
"""

from __future__ import annotations

import asyncio
import ssl
import struct
from collections import deque
from functools import lru_cache
from typing import cast
from urllib.parse import unquote

from polykind.coalescer import Coalescer
from polykind.grpc.grpc_call import UNAVAILABLE, GrpcCall, GrpcError, OnResponse
from polykind.http2 import frames
from polykind.http2.frames import (
    ACK,
    CONTINUATION,
    DATA,
    DEFAULT_FRAME_BYTES,
    DEFAULT_WINDOW,
    END_HEADERS,
    END_STREAM,
    HEADER_BYTES,
    HEADERS,
    MAX_WINDOW,
    PADDED,
    PREFACE,
    WITH_PRIORITY,
    ConnectionFailure,
    encode_frame,
    encode_settings,
    encode_window_update,
    pack_header,
    remove_padding,
    remove_priority,
    unpack_header,
)
from polykind.http2.header_decoder import Field, HeaderDecoder, HeadersTooLargeError, static_fields
from polykind.http2.header_encoding import encode_header

_WINDOW_UPDATE_BYTES = 2**29
"""After this many received bytes, a quarter of the initial window, the client sends a WINDOW_UPDATE."""
_MAX_FRAME_BYTES = 2**20
_MAX_HEADER_BYTES = 2**20
_SETTINGS = encode_settings(
    {
        frames.HEADER_TABLE_SIZE: 0,
        frames.ENABLE_PUSH: 0,
        frames.INITIAL_WINDOW_SIZE: MAX_WINDOW,
        frames.MAX_FRAME_SIZE: _MAX_FRAME_BYTES,
    }
)
_pack_message_prefix = struct.Struct(">BI").pack
_PING_SECONDS = 10.0
_PONG_SECONDS = 3.0
_CLOSE_SECONDS = 1.0
_MAX_COALESCED_FRAMES = 64
"""The number of queued frames at which they are written without waiting for further frames."""
_PONG_DELAY_SECONDS = 0.05
"""Seconds by which responses to etcd's PINGs are delayed. Until it has the response, etcd sends no further PING."""

Metadata = tuple[tuple[bytes, bytes], ...]
"""Headers that a client sends with each call."""


class GrpcConnection(asyncio.Protocol):
    """One connection to an etcd server."""

    def __init__(self, authority: str, tls: bool, metadata: Metadata = ()) -> None:
        self.loop = asyncio.get_running_loop()
        self.usable = False
        """True if new calls can be started on this connection."""
        self._authority = authority.encode()
        self._scheme = b"\x87" if tls else b"\x86"
        self._metadata = metadata
        self._header_blocks: dict[str, bytes] = {}
        """The encoded request headers of each gRPC method."""
        self._calls: dict[int, GrpcCall] = {}
        self._next_stream_id = 1
        self._buffer = b""
        self._out: list[bytes] = []
        self._coalescer = Coalescer(self.loop, lambda: len(self._out), _MAX_COALESCED_FRAMES, self.flush)
        self._partial_headers: tuple[int, int, bytes] | None = None
        self._window = self._initial_window = DEFAULT_WINDOW
        self._max_send_frame = DEFAULT_FRAME_BYTES
        self._received = 0
        self._blocked: deque[GrpcCall] = deque()
        self._ping_timer: asyncio.TimerHandle | None = None
        self._awaiting_pong = False
        self._closed: asyncio.Future[None] = self.loop.create_future()

    @classmethod
    async def open(cls, host: str, port: int, tls: ssl.SSLContext | None, metadata: Metadata = ()) -> GrpcConnection:
        """Connect to the server. Raise OSError if the connection fails."""
        loop = asyncio.get_running_loop()
        authority = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        _, connection = await loop.create_connection(
            lambda: cls(authority, tls is not None, metadata),
            host,
            port,
            ssl=tls,
            server_hostname=host if tls else None,
        )
        return connection

    async def close(self) -> None:
        """Close the connection. Abort it if the server does not read the remaining data in time."""
        self.usable = False
        self.flush()
        self._transport.close()
        abort_timer = self.loop.call_later(_CLOSE_SECONDS, self._transport.abort)
        try:
            await self._closed
        finally:
            abort_timer.cancel()

    # ------------------------------------------------------------------ calls

    def call(self, method: str) -> GrpcCall:
        """Start a streaming call. Raise GrpcError if the connection is not usable."""
        call, frame = self._start_call(method, None)
        self._write(frame)
        return call

    def unary(self, method: str, request: bytes, on_response: OnResponse) -> GrpcCall:
        """Start a call with one request and one response. `on_response` is called with the response or a GrpcError."""
        call, frame = self._start_call(method, on_response)
        size = len(request) + 5
        if size <= self._window and size <= call.window and size <= self._max_send_frame:
            self._window -= size
            self._write(
                b"%b%b%b%b"
                % (
                    frame,
                    pack_header(size << 8, END_STREAM, call.stream_id),
                    _pack_message_prefix(0, size - 5),
                    request,
                )
            )
        else:
            self._write(frame)
            self.send(call, _pack_message_prefix(0, size - 5) + request, True)
        return call

    def _start_call(self, method: str, on_response: OnResponse | None) -> tuple[GrpcCall, bytes]:
        if not self.usable or self._transport.is_closing():
            raise GrpcError(UNAVAILABLE, "the connection is closed", sent=False)
        stream_id = self._next_stream_id
        self._next_stream_id += 2
        call = self._calls[stream_id] = GrpcCall(self, stream_id, self._initial_window, on_response)
        header_block = self._header_blocks.get(method)
        if header_block is None:
            header_block = self._header_blocks[method] = self._encode_headers(method)
        return call, pack_header(len(header_block) << 8 | HEADERS, END_HEADERS, stream_id) + header_block

    def _encode_headers(self, method: str) -> bytes:
        """Encode the headers of a call."""
        block = b"\x83" + self._scheme
        block += encode_header(b":path", method.encode()) + encode_header(b":authority", self._authority)
        block += encode_header(b"content-type", b"application/grpc") + encode_header(b"te", b"trailers")
        return block + b"".join(encode_header(name, value) for name, value in self._metadata)

    def send(self, call: GrpcCall, data: bytes, last: bool) -> None:
        """Send as many bytes of a call as the server accepts now, and the rest after a WINDOW_UPDATE."""
        if call.unsent is not None:
            data, call.unsent = call.unsent[0] + data, None
        while True:
            allowed = min(self._window, call.window, self._max_send_frame)
            if allowed >= len(data) or allowed <= 0:
                break
            self._send_data(call, data[:allowed], 0)
            data = data[allowed:]
        if allowed >= len(data):
            self._send_data(call, data, END_STREAM if last else 0)
        else:
            call.unsent = (data, last)
            self._blocked.append(call)

    def _send_data(self, call: GrpcCall, data: bytes, flags: int) -> None:
        self._window -= len(data)
        call.window -= len(data)
        self._write(encode_frame(DATA, flags, call.stream_id, data))

    def reset(self, call: GrpcCall, error: GrpcError) -> None:
        if self._calls.pop(call.stream_id, None) is not None:
            self._write(frames.encode_reset(call.stream_id, frames.CANCEL))
            call.on_end(error)

    def _write(self, encoded: bytes) -> None:
        """Queue frames to write. Frames of consecutive event loop iterations are written together.

        A socket write is expensive. Also, etcd commits requests in one batch if they arrive together.
        """
        if not self._out:
            self._coalescer.start()
        self._out.append(encoded)

    def flush(self) -> None:
        """Write all queued frames now."""
        out, self._out = self._out, []
        if out and not self._transport.is_closing():
            self._transport.write(out[0] if len(out) == 1 else b"".join(out))

    # ------------------------------------------------------------------ asyncio.Protocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self.usable = True
        self._write(PREFACE + _SETTINGS + encode_window_update(0, MAX_WINDOW - DEFAULT_WINDOW))
        self._ping_timer = self.loop.call_later(_PING_SECONDS, self._ping)

    def connection_lost(self, error: Exception | None) -> None:
        self.usable = False
        if self._ping_timer is not None:
            self._ping_timer.cancel()
        self._end_all(f"the connection was lost: {error or 'closed'}")
        if not self._closed.done():
            self._closed.set_result(None)

    def _end_all(self, reason: str, above: int = 0, *, sent: bool = True) -> None:
        for call in [call for stream_id, call in self._calls.items() if stream_id > above]:
            del self._calls[call.stream_id]
            call.on_end(GrpcError(UNAVAILABLE, reason, sent=sent))

    def _ping(self) -> None:
        """While calls run, check that the server is alive. Without calls, etcd closes connections that send PINGs."""
        if self._awaiting_pong:
            self._awaiting_pong = False
            self._end_all("the server does not respond to PING")
            self._transport.abort()
            return
        if self._calls:
            self._awaiting_pong = True
            self._write(encode_frame(frames.PING, 0, 0, b"polykind"))
        self._ping_timer = self.loop.call_later(_PONG_SECONDS if self._awaiting_pong else _PING_SECONDS, self._ping)

    def data_received(self, data: bytes) -> None:
        if self._buffer:
            data = self._buffer + data
        at, end = 0, len(data)
        try:
            while end - at >= HEADER_BYTES:
                head, flags, stream_id = unpack_header(data, at)
                size = head >> 8
                if size > _MAX_FRAME_BYTES:
                    raise ValueError(f"a frame has {size} bytes")
                start, at = at, at + HEADER_BYTES + size
                if at > end:
                    at = start
                    break
                self._on_frame(head & 0xFF, flags, stream_id & frames.MAX_STREAM_ID, data[start + HEADER_BYTES : at])
            self._buffer = data[at:] if at < end else b""
        except (ValueError, IndexError, ConnectionFailure, HeadersTooLargeError) as error:
            self._end_all(f"the server does not speak HTTP/2: {error}")
            self._transport.abort()

    def _on_frame(self, kind: int, flags: int, stream_id: int, payload: bytes) -> None:
        if kind == DATA:
            self._on_data(flags, stream_id, payload)
        elif kind == HEADERS:
            if flags & (PADDED | WITH_PRIORITY):
                payload = remove_priority(flags, stream_id, remove_padding(flags, payload))
            self._on_headers(flags, stream_id, payload, flags)
        elif kind == CONTINUATION and self._partial_headers is not None:
            begun, first, header_block = self._partial_headers
            self._on_headers(first, begun, header_block + payload, flags)
        elif kind in _HANDLERS:
            _HANDLERS[kind](self, flags, stream_id, payload)

    def _on_ping(self, flags: int, stream_id: int, payload: bytes) -> None:
        if not flags & ACK:
            self.loop.call_later(_PONG_DELAY_SECONDS, self._write, encode_frame(frames.PING, ACK, 0, payload))
        elif self._awaiting_pong and self._ping_timer is not None:
            self._awaiting_pong = False
            self._ping_timer.cancel()
            self._ping_timer = self.loop.call_later(_PING_SECONDS, self._ping)

    def _on_reset(self, flags: int, stream_id: int, payload: bytes) -> None:
        call = self._calls.pop(stream_id, None)
        if call is not None:
            code = int.from_bytes(payload, "big")
            reason = f"the server reset the call (code {code})"
            call.on_end(GrpcError(UNAVAILABLE, reason, sent=code != frames.REFUSED_STREAM))

    def _on_goaway(self, flags: int, stream_id: int, payload: bytes) -> None:
        """Use the connection no more. The server may still finish the calls up to the stream that it names."""
        self.usable = False
        last = int.from_bytes(payload[:4], "big") & frames.MAX_STREAM_ID
        self._end_all("the server is shutting down", last, sent=False)

    def _on_data(self, flags: int, stream_id: int, payload: bytes) -> None:
        self._received += len(payload)
        if self._received > _WINDOW_UPDATE_BYTES:
            self._write(encode_window_update(0, self._received))
            self._received = 0
        call = self._calls.get(stream_id)
        if call is None:
            return
        call.received += len(payload)
        if call.received > _WINDOW_UPDATE_BYTES:
            self._write(encode_window_update(stream_id, call.received))
            call.received = 0
        call.on_data(remove_padding(flags, payload))
        if flags & END_STREAM:
            self._on_trailers(call, {})

    def _on_headers(self, first: int, stream_id: int, header_block: bytes, flags: int) -> None:
        if not flags & END_HEADERS:
            self._partial_headers = (stream_id, first, header_block)
            return
        self._partial_headers = None
        headers = _decode_headers(header_block)
        call = self._calls.get(stream_id)
        if call is None:
            return
        if headers.get(b":status", b"200") != b"200":
            self.reset(call, GrpcError(UNAVAILABLE, "the server does not speak gRPC"))
        elif first & END_STREAM:
            self._on_trailers(call, headers)

    def _on_trailers(self, call: GrpcCall, trailers: dict[bytes, bytes]) -> None:
        del self._calls[call.stream_id]
        status = trailers.get(b"grpc-status", b"2")
        if status == b"0":
            call.on_end(None)
        else:
            details = unquote(trailers.get(b"grpc-message", b"").decode(errors="replace"))
            call.on_end(GrpcError(int(status), details or f"gRPC status {int(status)}"))

    def _on_settings(self, flags: int, stream_id: int, payload: bytes) -> None:
        if flags & ACK:
            return
        settings = frames.decode_settings(payload)
        window = settings.get(frames.INITIAL_WINDOW_SIZE, self._initial_window)
        for call in self._calls.values():
            call.window += window - self._initial_window
        self._initial_window = window
        self._max_send_frame = settings.get(frames.MAX_FRAME_SIZE, self._max_send_frame)
        self._write(encode_frame(frames.SETTINGS, ACK, 0, b""))
        self._unblock()

    def _on_window_update(self, flags: int, stream_id: int, payload: bytes) -> None:
        increment = frames.decode_increment(payload)
        if stream_id == 0:
            self._window += increment
        elif stream_id in self._calls:
            self._calls[stream_id].window += increment
        self._unblock()

    def _unblock(self) -> None:
        for _ in range(len(self._blocked)):
            call = self._blocked.popleft()
            if call.unsent is not None and not call.ended:
                last, call.unsent = call.unsent[1], (call.unsent[0], False)
                self.send(call, b"", last)


_HANDLERS = {
    frames.RST_STREAM: GrpcConnection._on_reset,
    frames.SETTINGS: GrpcConnection._on_settings,
    frames.PING: GrpcConnection._on_ping,
    frames.GOAWAY: GrpcConnection._on_goaway,
    frames.WINDOW_UPDATE: GrpcConnection._on_window_update,
}
"""The handler of each other type of frame."""


@lru_cache(maxsize=64)
def _decode_headers(block: bytes) -> dict[bytes, bytes]:
    """Return the headers of a block. Cached, because a server sends few distinct blocks.

    The client announces a dynamic table of size zero, so a block does not depend on earlier blocks.
    """
    decoder = HeaderDecoder(_static_fields(), _no_class, table_size=0)
    return {name: value for name, value, _, _ in decoder.decode(block, _MAX_HEADER_BYTES)}


@lru_cache(maxsize=1)
def _static_fields() -> list[Field | None]:
    return static_fields(_no_class)


def _no_class(name: bytes, value: bytes) -> int:
    return 0
