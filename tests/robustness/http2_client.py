"""A client that sends any frames of HTTP/2 on a TLS connection, and notes the frames that it receives."""

from __future__ import annotations

import select
import ssl
import time
from collections import Counter
from collections.abc import Iterable

from polykind.http2 import frames
from polykind.http2.frames import (
    ACK,
    DATA,
    END_HEADERS,
    END_STREAM,
    GOAWAY,
    HEADERS,
    PREFACE,
    SETTINGS,
    encode_frame,
    encode_settings,
    unpack_header,
)
from polykind.http2.header_encoding import encode_header
from tests.support.raw import connect
from tests.support.server import ServerProcess

_SECONDS = 60


def head(server: ServerProcess, method: bytes, path: bytes) -> bytes:
    """Return the header block of a request with the admin token, without indexing."""
    fields = {
        b":method": method,
        b":scheme": b"https",
        b":path": path,
        b":authority": b"localhost",
        b"authorization": b"Bearer " + server.token.encode(),
        b"content-type": b"application/json",
    }
    return b"".join(encode_header(name, value) for name, value in fields.items())


def request(stream_id: int, block: bytes, *, ends: bool = True) -> bytes:
    return encode_frame(HEADERS, END_HEADERS | (END_STREAM if ends else 0), stream_id, block)


class Http2Client:
    """One connection."""

    def __init__(self, server: ServerProcess, settings: dict[int, int] | None = None) -> None:
        self._socket = connect(server, 30, http2=True)
        self._socket.setblocking(False)
        self._received = b""
        self.kinds: Counter[int] = Counter()
        """The number of received frames of each type."""
        self.ended = 0
        """The number of responses that have been received completely."""
        self.events = 0
        """The number of received watch events."""
        self.goaway: int | None = None
        """The error code of the server's GOAWAY frame."""
        self.statuses: Counter[int] = Counter()
        self.closed = False
        self._unsent = PREFACE + encode_settings(settings or {}) + encode_frame(SETTINGS, ACK, 0, b"")

    def close(self) -> None:
        self._socket.close()

    def converse(self, pieces: Iterable[bytes], *, until: int = 0) -> int:
        """Send and receive at the same time until the server closes, or until there are this many responses.

        Return the error code of the GOAWAY frame. Without an error, return the status of the responses.
        """
        source, deadline = iter(pieces), time.monotonic() + _SECONDS
        sending = True
        while not self.closed and time.monotonic() < deadline and not (until and self.ended >= until):
            if self.receive():
                continue
            if sending:
                self._unsent = self._unsent or next(source, b"")
                sending = bool(self._unsent)
                if self._send():
                    continue
            select.select([self._socket], [self._socket] if self._unsent else [], [], 0.2)
        return self.goaway or max(self.statuses, default=0)

    def send(self, data: bytes, seconds: float = 1.0) -> None:
        """Send and receive until everything is sent, and for some time after that."""
        self._unsent += data
        deadline = time.monotonic() + seconds
        while not self.closed and (self._unsent or time.monotonic() < deadline):
            if not self.receive() and not (self._unsent and self._send()):
                select.select([self._socket], [self._socket] if self._unsent else [], [], 0.05)

    def _send(self) -> bool:
        try:
            if self._unsent:
                self._unsent = self._unsent[self._socket.send(self._unsent) :]
                return True
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            pass
        except OSError:
            self._unsent = b""
        return False

    def receive(self) -> bool:
        """Receive what has arrived. Return True if there was something."""
        try:
            data = self._socket.recv(1 << 18)
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            return False
        except OSError:
            data = b""
        self.closed = not data
        data, at = self._received + data, 0
        while len(data) - at >= 9:
            first, flags, _ = unpack_header(data, at)
            end = at + 9 + (first >> 8)
            if end > len(data):
                break
            self._note(first & 0xFF, flags, data[at + 9 : end])
            at = end
        self._received = data[at:]
        return bool(data)

    def _note(self, kind: int, flags: int, payload: bytes) -> None:
        self.kinds[kind] += 1
        if kind == GOAWAY:
            self.goaway = int.from_bytes(payload[4:8], "big")
        elif kind == HEADERS:
            indexed = {0x88: 200, 0x8D: 404}
            self.statuses[indexed.get(payload[0]) or int(payload[2:5])] += 1
        elif kind == DATA:
            self.events += payload.count(b'"type":')
        self.ended += kind in (DATA, HEADERS) and bool(flags & END_STREAM)


def window(stream_id: int, increment: int) -> bytes:
    return frames.encode_window_update(stream_id, increment)
