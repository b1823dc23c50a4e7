"""The request parser: headers, methods, limits and 100 Continue."""

from __future__ import annotations

import pytest

from polykind import errors
from polykind.http.listener import Limits
from polykind.http.messages import Request
from polykind.http.request_parser import RequestParser


class RecordingReceiver:
    """Records the parser's calls."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.rejected_status = 0
        self.expectations = 0

    def on_begin(self) -> None:
        return

    def on_expect_continue(self) -> None:
        self.expectations += 1

    def on_request(self, request: Request, keep_alive: bool) -> None:
        self.requests.append(request)

    def on_rejected(self, error: errors.APIError, status: int) -> None:
        self.rejected_status = status


def headers(*lines: str) -> dict[bytes, bytes]:
    receiver = RecordingReceiver()
    RequestParser(Limits(), receiver).feed("\r\n".join(["GET / HTTP/1.1", "Host: h", *lines, "", ""]).encode())
    (request,) = receiver.requests
    assert request.headers.pop(b"host") == b"h"
    return request.headers


def test_first_of_repeated_headers_counts() -> None:
    assert headers("Accept: a", "accept: b") == {b"accept": b"a"}
    assert headers("If-None-Match: a", "If-None-Match: b") == {b"if-none-match": b"a"}


def test_repeated_impersonation_headers_are_joined_by_nul() -> None:
    assert headers("Impersonate-Group: a,b", "IMPERSONATE-Group: c", "Impersonate-Extra-X: y") == {
        b"impersonate": b"",
        b"impersonate-group": b"a,b\0c",
        b"impersonate-extra-x": b"y",
    }


@pytest.mark.parametrize("head", [b"GET /" + b"a" * 300, b"GET / HTTP/1.1\r\nA: " + b"a" * 300 + b"\r\n\r\n"])
def test_too_large_head_is_rejected(head: bytes) -> None:
    receiver = RecordingReceiver()
    RequestParser(Limits(max_head_bytes=256), receiver).feed(head)
    assert (receiver.rejected_status, receiver.requests) == (431, [])


def test_unknown_methods_are_parsed() -> None:
    receiver = RecordingReceiver()
    parser = RequestParser(Limits(), receiver)
    parser.feed(b"BREW /pot?a=b HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\ntea")
    parser.feed(b"get / HTTP/1.1\r\nHost: h\r\n\r\n")
    parser.feed(b"PUT / HTTP/1.1\r\nHost: h\r\n\r\n")
    assert [(r.method, r.path, r.query, r.body) for r in receiver.requests] == [
        ("BREW", "/pot", "a=b", b"tea"),
        ("get", "/", "", b""),
        ("PUT", "/", "", b""),
    ]


@pytest.mark.parametrize("sent", [b"B\xffEW / HTTP/1.1\r\n\r\n", b"\x16\x03\x01 / HTTP/1.1\r\n\r\n", b"BREW\r\n\r\n"])
def test_malformed_method_is_rejected(sent: bytes) -> None:
    receiver = RecordingReceiver()
    RequestParser(Limits(), receiver).feed(sent)
    assert (receiver.rejected_status, receiver.requests) == (400, [])


def test_unknown_method_in_pipelined_request_is_rejected() -> None:
    receiver = RecordingReceiver()
    RequestParser(Limits(), receiver).feed(b"GET / HTTP/1.1\r\nHost: h\r\n\r\nBREW / HTTP/1.1\r\n\r\n")
    assert (receiver.rejected_status, [r.method for r in receiver.requests]) == (400, ["GET"])


@pytest.mark.parametrize(
    ("header", "expected"),
    [("Content-Length: 3", 1), ("Transfer-Encoding: chunked", 1), ("Content-Length: 0", 0), ("A: b", 0)],
)
def test_continue_is_expected_only_with_a_body(header: str, expected: int) -> None:
    receiver = RecordingReceiver()
    head = f"PUT / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\n{header}\r\n\r\n"
    RequestParser(Limits(), receiver).feed(head.encode())
    assert receiver.expectations == expected


@pytest.mark.parametrize(
    ("head", "status"),
    [
        ("GET / HTTP/1.1\r\nA: b", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\nHost: a", 400),
        ("GET / HTTP/1.1\r\nHost: a b", 400),
        ("GET / HTTP/0.9\r\nHost: a", 505),
        ("GET / HTTP/2.0\r\nHost: a", 505),
        ("GET /", 400),
        ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked", 501),
        ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: identity", 501),
        ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked", 400),
    ],
)
def test_head_that_gos_server_rejects(head: str, status: int) -> None:
    receiver = RecordingReceiver()
    RequestParser(Limits(), receiver).feed(f"{head}\r\n\r\n".encode())
    assert (receiver.rejected_status, receiver.requests) == (status, [])


@pytest.mark.parametrize("head", ["0\r\nA: b", "1\r\nHost:", "1\r\nHost: [::1]:1"])
def test_hosts_that_gos_server_accepts(head: str) -> None:
    receiver = RecordingReceiver()
    RequestParser(Limits(), receiver).feed(f"GET / HTTP/1.{head}\r\n\r\n".encode())
    assert len(receiver.requests) == 1


def test_unknown_expectation_fails() -> None:
    receiver = RecordingReceiver()
    RequestParser(Limits(), receiver).feed(b"PUT / HTTP/1.1\r\nHost: h\r\nExpect: x\r\nContent-Length: 1\r\n\r\n")
    assert receiver.rejected_status == 417


def feed_endlessly(head: bytes, piece: bytes) -> tuple[int, int]:
    """Return the status of the rejection, and the number of bytes that arrived before it."""
    receiver = RecordingReceiver()
    parser = RequestParser(Limits(max_head_bytes=1000, max_body_bytes=100_000), receiver)
    parser.feed(head)
    sent = 0
    while not receiver.rejected_status and sent < 200_000:
        parser.feed(piece)
        sent += len(piece)
    return receiver.rejected_status, sent


CHUNKED = b"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"


def test_head_without_end_is_rejected() -> None:
    assert feed_endlessly(b"GET / HTTP/1.1\r\nHost: h\r\nX: ", b"x" * 100) == (431, 1000)


def test_chunk_extension_without_end_is_rejected() -> None:
    assert feed_endlessly(CHUNKED + b"1;", b"x" * 100) == (400, 1000)


def test_chunks_with_long_extensions_are_rejected() -> None:
    status, sent = feed_endlessly(CHUNKED, b"1;" + b"x" * 94 + b"\r\n \r\n")
    assert status == 400
    assert sent < 2000


def test_chunks_of_one_byte_are_one_body() -> None:
    receiver = RecordingReceiver()
    parser = RequestParser(Limits(), receiver)
    parser.feed(CHUNKED)
    for number in range(1000):
        parser.feed(b"1\r\n%d\r\n" % (number % 10))
    parser.feed(b"0\r\n\r\n")
    (request,) = receiver.requests
    assert request.body == b"0123456789" * 100
