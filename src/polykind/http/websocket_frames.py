"""WebSocket frames (RFC 6455): encoding of the server's frames, and the reader of the client's frames."""

from __future__ import annotations

import struct
from typing import Protocol

CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG = 0x0, 0x1, 0x2, 0x8, 0x9, 0xA
"""Opcodes of frames."""
NORMAL_CLOSURE, PROTOCOL_ERROR, MESSAGE_TOO_BIG = 1000, 1002, 1009
"""Status codes of close frames."""

_FIN, _RESERVED, _OPCODE, _MASKED, _LENGTH = 0x80, 0x70, 0x0F, 0x80, 0x7F
_MAX_CONTROL_PAYLOAD = 125
_MAX_MESSAGE = 32 * 1024 * 1024
"""The server closes the connection if a client's message has more bytes than this, as in kube-apiserver."""


def encode_frame(opcode: int, payload: bytes) -> bytes:
    """Encode one unmasked frame that is a whole message. The result can be sent to any number of clients."""
    size = len(payload)
    if size <= _MAX_CONTROL_PAYLOAD:
        return struct.pack(">BB", _FIN | opcode, size) + payload
    if size < 1 << 16:
        return struct.pack(">BBH", _FIN | opcode, 126, size) + payload
    return struct.pack(">BBQ", _FIN | opcode, 127, size) + payload


def encode_close(status: int) -> bytes:
    """Encode a close frame."""
    return encode_frame(CLOSE, struct.pack(">H", status))


class FrameReceiver(Protocol):
    """The receiver of a client's control frames."""

    def on_ping(self, payload: bytes) -> None:
        """Respond to a ping with the same payload."""

    def on_close(self, status: int) -> None:
        """Send a close frame with this status, then close the connection.

        The client has sent a close frame or violated RFC 6455.
        """


class FrameReader:
    """Parses the frames of one client. Discards the client's messages, because a watch does not use them."""

    def __init__(self, receiver: FrameReceiver) -> None:
        self._receiver = receiver
        self._buffer = bytearray()
        """The bytes of an incomplete frame header or control frame."""
        self._discard = 0
        """The number of bytes of the current data frame that are still to be discarded."""
        self._message_size: int | None = None
        """The size of the received part of a fragmented message, or None between messages."""
        self._ping: bytes | None = None
        """The payload of the last ping, until it has a pong. Earlier pings need none (RFC 6455, 5.5.3)."""
        self._closed = False

    def feed(self, data: bytes) -> None:
        self._buffer += data
        self._read_frames()
        self._respond_to_ping()

    def _read_frames(self) -> None:
        while self._buffer and not self._closed:
            if self._discard:
                skipped = min(self._discard, len(self._buffer))
                del self._buffer[:skipped]
                self._discard -= skipped
            elif not self._read_frame():
                return

    def _respond_to_ping(self) -> None:
        if self._ping is not None:
            payload, self._ping = self._ping, None
            self._receiver.on_ping(payload)

    def _close(self, status: int) -> bool:
        self._respond_to_ping()
        self._closed = True
        self._receiver.on_close(status)
        return False

    def _read_frame(self) -> bool:
        """Read the header of a frame, and the payload of a control frame. Return False if bytes are missing."""
        buffer = self._buffer
        if len(buffer) < 2:
            return False
        first, second = buffer[0], buffer[1]
        if first & _RESERVED or not second & _MASKED:
            # The client uses an extension that the server does not support, or does not mask its frame.
            return self._close(PROTOCOL_ERROR)
        length = second & _LENGTH
        mask_at = {126: 4, 127: 10}.get(length, 2)
        if len(buffer) < mask_at + 4:
            return False
        if length > _MAX_CONTROL_PAYLOAD:
            length = int.from_bytes(buffer[2:mask_at], "big")
        opcode, is_final = first & _OPCODE, bool(first & _FIN)
        if opcode in (CONTINUATION, TEXT, BINARY):
            del buffer[: mask_at + 4]
            return self._start_data(opcode, is_final, length)
        if opcode not in (CLOSE, PING, PONG) or not is_final or length > _MAX_CONTROL_PAYLOAD:
            return self._close(PROTOCOL_ERROR)
        end = mask_at + 4 + length
        if len(buffer) < end:
            return False
        mask, masked = bytes(buffer[mask_at : mask_at + 4]), bytes(buffer[mask_at + 4 : end])
        del buffer[:end]
        return self._handle_control(opcode, bytes(byte ^ mask[index % 4] for index, byte in enumerate(masked)))

    def _start_data(self, opcode: int, is_final: bool, length: int) -> bool:
        if (opcode == CONTINUATION) != (self._message_size is not None):
            # The client continues a message that it has not begun, or begins a message inside another one.
            return self._close(PROTOCOL_ERROR)
        size = (self._message_size or 0) + length
        if size > _MAX_MESSAGE:
            return self._close(MESSAGE_TOO_BIG)
        self._message_size = None if is_final else size
        self._discard = length
        return True

    def _handle_control(self, opcode: int, payload: bytes) -> bool:
        if opcode == CLOSE:
            return self._close(PROTOCOL_ERROR if len(payload) == 1 else NORMAL_CLOSURE)
        if opcode == PING:
            self._ping = payload
        return True
