"""Flow control of received bodies: the bytes that a client may send on a connection and on each of its streams.

Every stream may send INITIAL_CREDIT bytes. Only a few streams at a time may send more, up to the longest body, until
their requests are done. So the bodies of one connection have a limit, and no stream waits for one that waits for it.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

from polykind.http2.frames import (
    DEFAULT_FRAME_BYTES,
    DEFAULT_WINDOW,
    FLOW_CONTROL_ERROR,
    ConnectionFailure,
    encode_window_update,
)

if TYPE_CHECKING:
    from polykind.http.http2.http2_output import Http2Output
    from polykind.http.http2.http2_stream import Http2Stream

INITIAL_CREDIT: Final = 256 * 1024
"""The bytes that a stream may send at once. kube-apiserver has the same value: nearly all bodies are shorter."""
_CONNECTION_CREDIT: Final = 4 * 1024 * 1024
_MAX_LONG_BODIES: Final = 4


class BodyCredit:
    """The credit of one connection's client. It is returned as soon as data has arrived."""

    __slots__ = ("_credit", "_long", "_max_body_bytes", "_output", "_waiting")

    def __init__(self, output: Http2Output, max_body_bytes: int) -> None:
        self._output = output
        self._max_body_bytes = max_body_bytes
        self._credit = _CONNECTION_CREDIT
        self._long: set[Http2Stream] = set()
        """The streams that may send a long body."""
        self._waiting: deque[Http2Stream] = deque()
        output.write(encode_window_update(0, _CONNECTION_CREDIT - DEFAULT_WINDOW))

    def charge(self, size: int) -> None:
        """Count received data of any stream. Raise ConnectionFailure if the client has exceeded its credit."""
        self._credit -= size
        if self._credit < 0:
            raise ConnectionFailure(FLOW_CONTROL_ERROR, "the flow-control window of the connection is exceeded")
        if self._credit < _CONNECTION_CREDIT // 2:
            self._output.write(encode_window_update(0, _CONNECTION_CREDIT - self._credit))
            self._credit = _CONNECTION_CREDIT

    def extend(self, stream: Http2Stream) -> None:
        """Let a stream send a long body, now or when another stream has ended."""
        if stream in self._long or stream in self._waiting:
            return
        if len(self._long) < _MAX_LONG_BODIES:
            self._grant(stream)
        else:
            self._waiting.append(stream)

    def _grant(self, stream: Http2Stream) -> None:
        self._long.add(stream)
        # One more frame than the longest body lets the server notice, and reject, a body that is too long.
        more = self._max_body_bytes + DEFAULT_FRAME_BYTES - INITIAL_CREDIT
        if more > 0:
            stream.credit += more
            self._output.write(encode_window_update(stream.stream_id, more))

    def release(self, stream: Http2Stream) -> None:
        """Take back the credit of a stream that has ended."""
        if stream in self._long:
            self._long.discard(stream)
            if self._waiting:
                self._grant(self._waiting.popleft())
        elif stream in self._waiting:
            self._waiting.remove(stream)
