"""WebSocket frames: encoding, and the rules for the client's frames."""

from __future__ import annotations

import struct

import pytest

from polykind.http.websocket_frames import BINARY, CLOSE, CONTINUATION, PING, PONG, TEXT, FrameReader, encode_frame

MASK = b"\x01\x02\x03\x04"


class Recorder:
    """Records the control frames that a reader reports."""

    def __init__(self) -> None:
        self.pings: list[bytes] = []
        self.closed: list[int] = []

    def on_ping(self, payload: bytes) -> None:
        self.pings.append(payload)

    def on_close(self, status: int) -> None:
        self.closed.append(status)


def client_frame(opcode: int, payload: bytes = b"", *, final: bool = True) -> bytes:
    head = bytearray(encode_frame(opcode, payload)[: -len(payload) or None])
    head[0] &= 0xFF if final else 0x7F
    head[1] |= 0x80
    return bytes(head) + MASK + bytes(byte ^ MASK[index % 4] for index, byte in enumerate(payload))


def read(data: bytes, step: int = 0) -> Recorder:
    recorder = Recorder()
    reader = FrameReader(recorder)
    for start in range(0, len(data), step or len(data)):
        reader.feed(data[start : start + (step or len(data))])
    return recorder


@pytest.mark.parametrize(
    ("size", "head"),
    [
        (0, b"\x81\x00"),
        (125, b"\x81\x7d"),
        (126, b"\x81\x7e\x00\x7e"),
        (65535, b"\x81\x7e\xff\xff"),
        (65536, b"\x81\x7f\x00\x00\x00\x00\x00\x01\x00\x00"),
    ],
)
def test_header_has_the_shortest_length(size: int, head: bytes) -> None:
    assert encode_frame(TEXT, b"x" * size) == head + b"x" * size


@pytest.mark.parametrize("step", [0, 1, 7])
def test_messages_are_discarded_and_pings_between_fragments_are_reported(step: int) -> None:
    data = (
        client_frame(TEXT, b"a" * 300, final=False)
        + client_frame(PING, b"hello")
        + client_frame(CONTINUATION, b"b" * 70_000)
        + client_frame(PONG, b"ignored")
        + client_frame(BINARY)
        + client_frame(PING)
    )
    recorder = read(data, step)
    # Of several pings that arrive together, only the last one needs a pong (RFC 6455, 5.5.3).
    assert (recorder.pings, recorder.closed) == ([b"hello", b""] if step else [b""], [])


@pytest.mark.parametrize("payload", [b"", b"\x03\xe8", b"\x03\xe9going away"])
def test_close_is_answered_once(payload: bytes) -> None:
    recorder = read(client_frame(CLOSE, payload) + client_frame(PING) + client_frame(CLOSE))
    assert (recorder.pings, recorder.closed) == ([], [1000])


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(encode_frame(TEXT, b"x"), id="unmasked"),
        pytest.param(b"\xc1\x80" + MASK, id="reserved bit"),
        pytest.param(client_frame(0x3), id="unknown data opcode"),
        pytest.param(client_frame(0xB), id="unknown control opcode"),
        pytest.param(client_frame(CONTINUATION), id="continuation of nothing"),
        pytest.param(client_frame(TEXT, final=False) + client_frame(TEXT), id="message in a message"),
        pytest.param(client_frame(PING, final=False), id="fragmented ping"),
        pytest.param(client_frame(PING, b"x" * 126), id="long ping"),
        pytest.param(client_frame(CLOSE, b"x"), id="close with half a status"),
    ],
)
def test_violation_closes_with_protocol_error(data: bytes) -> None:
    assert read(data).closed == [1002]


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"\x82\xff" + struct.pack(">Q", 32 * 1024 * 1024 + 1) + MASK, id="one frame"),
        pytest.param(
            client_frame(TEXT, b"x", final=False) + b"\x80\xff" + struct.pack(">Q", 32 * 1024 * 1024) + MASK,
            id="fragments",
        ),
    ],
)
def test_long_message_is_refused_before_its_payload_arrives(data: bytes) -> None:
    assert read(data).closed == [1009]
