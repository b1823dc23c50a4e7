"""gRPC over HTTP/2: one connection, any number of calls on it at a time.

Only what etcd needs of a client is here, and that lean: a call costs a tenth of what a general library asks for.
"""

from __future__ import annotations

import asyncio
import ssl
import struct
from collections import deque
from typing import cast
from urllib.parse import unquote

from polykind.store.etcd import hpack
from polykind.store.etcd.call import UNAVAILABLE, Call, CallError, Then
from polykind.store.turns import Gathering

_DATA, _HEADERS, _RESET, _SETTINGS, _PING, _GOAWAY, _WINDOW, _CONTINUATION = 0, 1, 3, 4, 6, 7, 8, 9
_END_STREAM, _ACK, _END_HEADERS, _PADDED, _PRIORITY = 1, 1, 4, 8, 32
_REFUSED_STREAM, _CANCEL = 7, 8
_LARGEST = 2**31 - 1
_REFILL = 2**29
"""Received bytes after which the peer is told to go on; it begins with room for four times as many."""
_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_OUR_LARGEST_FRAME = 2**20
# No table for headers, no pushes, all the room there can be, frames of up to a megabyte.
_OUR_SETTINGS = struct.pack(">HIHIHIHI", 1, 0, 2, 0, 4, _LARGEST, 5, _OUR_LARGEST_FRAME)
# A frame's head: its length takes three bytes, its kind the fourth of the same number; then flags and the call.
_FRAME = struct.Struct(">IBI")
_HEAD, _READ_HEAD = _FRAME.pack, _FRAME.unpack_from
_MESSAGE = struct.Struct(">BI").pack
_PING_SECONDS = 10.0
_PONG_SECONDS = 3.0
_FAREWELL_SECONDS = 1.0
_MOST_FRAMES = 64
"""What is sent at the latest, although more is being said."""
_ANSWER_SECONDS = 0.05
"""How long the peer waits for the answer to its pings: it sends one with every call, unless one is unanswered."""


class Connection(asyncio.Protocol):
    """A connection that is up, or has been."""

    def __init__(self, authority: str, tls: bool) -> None:
        self.loop = asyncio.get_running_loop()
        self.usable = False
        """Whether new calls may be made on it."""
        self._authority = authority.encode()
        self._scheme = b"\x87" if tls else b"\x86"
        self._blocks: dict[str, bytes] = {}
        """The header blocks of the methods that were called."""
        self._calls: dict[int, Call] = {}
        self._next = 1
        self._buffer = b""
        self._out: list[bytes] = []
        self._gathering = Gathering(self.loop, lambda: len(self._out), _MOST_FRAMES, self.flush)
        self._block: tuple[int, int, bytes] | None = None
        self._window = self._their_window = 65535
        self._largest_frame = 16384
        self._received = 0
        self._blocked: deque[Call] = deque()
        self._alive: asyncio.TimerHandle | None = None
        self._awaiting_pong = False
        self._closed: asyncio.Future[None] = self.loop.create_future()

    @classmethod
    async def open(cls, host: str, port: int, tls: ssl.SSLContext | None) -> Connection:
        """Raises OSError."""
        loop = asyncio.get_running_loop()
        authority = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        _, connection = await loop.create_connection(
            lambda: cls(authority, tls is not None), host, port, ssl=tls, server_hostname=host if tls else None
        )
        return connection

    async def close(self) -> None:
        """Hang up, and return when the socket is gone: at once, or when the peer has had its time to take the rest."""
        self.usable = False
        self.flush()
        self._transport.close()
        farewell = self.loop.call_later(_FAREWELL_SECONDS, self._transport.abort)
        try:
            await self._closed
        finally:
            farewell.cancel()

    # ------------------------------------------------------------------ calls

    def call(self, method: str) -> Call:
        """Begin a call."""
        call, frame = self._begin(method, None)
        self._write(frame)
        return call

    def ask(self, method: str, request: bytes, then: Then) -> Call:
        """A call of one message each way; `then` is told the answer, or the CallError that came instead."""
        call, frame = self._begin(method, then)
        size = len(request) + 5
        if size <= self._window and size <= call.window and size <= self._largest_frame:
            self._window -= size
            self._write(
                b"%b%b%b%b" % (frame, _HEAD(size << 8, _END_STREAM, call.number), _MESSAGE(0, size - 5), request)
            )
        else:
            self._write(frame)
            self.send(call, _MESSAGE(0, size - 5) + request, True)
        return call

    def _begin(self, method: str, then: Then | None) -> tuple[Call, bytes]:
        if not self.usable or self._transport.is_closing():
            raise CallError(UNAVAILABLE, "the connection is closed", sent=False)
        number = self._next
        self._next += 2
        call = self._calls[number] = Call(self, number, self._their_window, then)
        block = self._blocks.get(method)
        if block is None:
            block = self._blocks[method] = _request(method, self._authority, self._scheme)
        return call, _HEAD(len(block) << 8 | _HEADERS, _END_HEADERS, number) + block

    def send(self, call: Call, data: bytes, last: bool) -> None:
        """Send what the peer has room for; the rest when it has room again."""
        if call.unsent is not None:
            data, call.unsent = call.unsent[0] + data, None
        while True:
            room = min(self._window, call.window, self._largest_frame)
            if room >= len(data) or room <= 0:
                break
            self._spend(call, data[:room], 0)
            data = data[room:]
        if room >= len(data):
            self._spend(call, data, _END_STREAM if last else 0)
        else:
            call.unsent = (data, last)
            self._blocked.append(call)

    def _spend(self, call: Call, data: bytes, flags: int) -> None:
        self._window -= len(data)
        call.window -= len(data)
        self._frame(_DATA, flags, call.number, data)

    def give_up(self, call: Call, error: CallError) -> None:
        if self._calls.pop(call.number, None) is not None:
            self._frame(_RESET, 0, call.number, _CANCEL.to_bytes(4, "big"))
            call.end(error)

    def _frame(self, kind: int, flags: int, number: int, payload: bytes) -> None:
        self._write(_framed(kind, flags, number, payload))

    def _write(self, frames: bytes) -> None:
        """What is said in turns of the event loop that follow each other goes out together.

        Each write to a socket is dear, and etcd commits together what comes together.
        """
        if not self._out:
            self._gathering.begin()
        self._out.append(frames)

    def flush(self) -> None:
        """Send what was said at once."""
        out, self._out = self._out, []
        if out and not self._transport.is_closing():
            self._transport.write(out[0] if len(out) == 1 else b"".join(out))

    # ------------------------------------------------------------------ what the transport tells

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self.usable = True
        self._write(_PREFACE)
        self._frame(_SETTINGS, 0, 0, _OUR_SETTINGS)
        self._frame(_WINDOW, 0, 0, (_LARGEST - 65535).to_bytes(4, "big"))
        self._alive = self.loop.call_later(_PING_SECONDS, self._ping)

    def connection_lost(self, error: Exception | None) -> None:
        self.usable = False
        if self._alive is not None:
            self._alive.cancel()
        self._end_all(f"the connection was lost: {error or 'closed'}")
        if not self._closed.done():
            self._closed.set_result(None)

    def _end_all(self, why: str, above: int = 0, *, sent: bool = True) -> None:
        for call in [call for number, call in self._calls.items() if number > above]:
            del self._calls[call.number]
            call.end(CallError(UNAVAILABLE, why, sent=sent))

    def _ping(self) -> None:
        """Whether the peer is there, while anybody cares: etcd takes it ill to be asked without a call under way."""
        if self._awaiting_pong:
            self._awaiting_pong = False
            self._end_all("the peer has fallen silent")
            self._transport.abort()
            return
        if self._calls:
            self._awaiting_pong = True
            self._frame(_PING, 0, 0, b"polykind")
        self._alive = self.loop.call_later(_PONG_SECONDS if self._awaiting_pong else _PING_SECONDS, self._ping)

    def data_received(self, data: bytes) -> None:
        if self._buffer:
            data = self._buffer + data
        at, end = 0, len(data)
        try:
            while end - at >= 9:
                head, flags, number = _READ_HEAD(data, at)
                size = head >> 8
                if size > _OUR_LARGEST_FRAME:
                    raise ValueError(f"a frame of {size} bytes")
                start, at = at, at + 9 + size
                if at > end:
                    at = start
                    break
                self._take(head & 0xFF, flags, number & _LARGEST, data[start + 9 : at])
            self._buffer = data[at:] if at < end else b""
        except (ValueError, IndexError, struct.error) as error:
            self._end_all(f"the peer does not speak HTTP/2: {error}")
            self._transport.abort()

    def _take(self, kind: int, flags: int, number: int, payload: bytes) -> None:
        if kind == _DATA:
            self._take_data(flags, number, payload)
        elif kind == _HEADERS:
            payload = _unpadded(flags, payload)
            self._take_block(flags, number, payload[5:] if flags & _PRIORITY else payload, flags)
        elif kind == _CONTINUATION and self._block is not None:
            begun, first, block = self._block
            self._take_block(first, begun, block + payload, flags)
        elif kind == _WINDOW:
            self._take_room(number, int.from_bytes(payload, "big") & _LARGEST)
        elif kind == _SETTINGS and not flags & _ACK:
            self._take_settings(payload)
        elif kind == _PING and flags & _ACK:
            if self._awaiting_pong and self._alive is not None:
                self._awaiting_pong = False
                self._alive.cancel()
                self._alive = self.loop.call_later(_PING_SECONDS, self._ping)
        elif kind == _PING:
            self.loop.call_later(_ANSWER_SECONDS, self._frame, _PING, _ACK, 0, payload)
        elif kind == _RESET:
            call = self._calls.pop(number, None)
            if call is not None:
                code = int.from_bytes(payload, "big")
                call.end(CallError(UNAVAILABLE, f"the peer ended the call ({code})", sent=code != _REFUSED_STREAM))
        elif kind == _GOAWAY:
            # What the peer has not seen, it has not done; the rest it may still finish.
            self.usable = False
            self._end_all("the peer is going away", int.from_bytes(payload[:4], "big") & _LARGEST, sent=False)

    def _take_data(self, flags: int, number: int, payload: bytes) -> None:
        self._received += len(payload)
        if self._received > _REFILL:
            self._frame(_WINDOW, 0, 0, self._received.to_bytes(4, "big"))
            self._received = 0
        call = self._calls.get(number)
        if call is None:
            return
        call.received += len(payload)
        if call.received > _REFILL:
            self._frame(_WINDOW, 0, number, call.received.to_bytes(4, "big"))
            call.received = 0
        call.take(_unpadded(flags, payload))
        if flags & _END_STREAM:
            self._end(call, {})

    def _take_block(self, first: int, number: int, block: bytes, flags: int) -> None:
        if not flags & _END_HEADERS:
            self._block = (number, first, block)
            return
        self._block = None
        headers = hpack.decode(block)
        call = self._calls.get(number)
        if call is None:
            return
        if headers.get(b":status", b"200") != b"200":
            self.give_up(call, CallError(UNAVAILABLE, "the peer is not a gRPC server"))
        elif first & _END_STREAM:
            self._end(call, headers)

    def _end(self, call: Call, trailers: dict[bytes, bytes]) -> None:
        del self._calls[call.number]
        status = trailers.get(b"grpc-status", b"2")
        if status == b"0":
            call.end(None)
        else:
            details = unquote(trailers.get(b"grpc-message", b"").decode(errors="replace"))
            call.end(CallError(int(status), details or f"gRPC status {int(status)}"))

    def _take_settings(self, payload: bytes) -> None:
        for name, value in struct.iter_unpack(">HI", payload):
            if name == 4:
                for call in self._calls.values():
                    call.window += value - self._their_window
                self._their_window = value
            elif name == 5:
                self._largest_frame = value
        self._frame(_SETTINGS, _ACK, 0, b"")
        self._unblock()

    def _take_room(self, number: int, more: int) -> None:
        if number == 0:
            self._window += more
        elif number in self._calls:
            self._calls[number].window += more
        self._unblock()

    def _unblock(self) -> None:
        for _ in range(len(self._blocked)):
            call = self._blocked.popleft()
            if call.unsent is not None and not call.ended:
                last, call.unsent = call.unsent[1], (call.unsent[0], False)
                self.send(call, b"", last)


def _framed(kind: int, flags: int, number: int, payload: bytes) -> bytes:
    return _HEAD(len(payload) << 8 | kind, flags, number) + payload


def _unpadded(flags: int, payload: bytes) -> bytes:
    return payload[1 : len(payload) - payload[0]] if flags & _PADDED else payload


def _request(method: str, authority: bytes, scheme: bytes) -> bytes:
    """The header block of a call: POST, and a member that has lost its leader shall refuse, not answer from memory."""
    block = b"\x83" + scheme + hpack.indexed_name(4, method.encode()) + hpack.indexed_name(1, authority)
    block += hpack.indexed_name(31, b"application/grpc") + hpack.literal(b"te", b"trailers")
    return block + hpack.literal(b"hasleader", b"true")
