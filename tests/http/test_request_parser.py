"""What is made of the heads of requests."""

from __future__ import annotations

import pytest

from polykind import errors
from polykind.http.listener import Limits
from polykind.http.messages import Request
from polykind.http.request_parser import RequestParser


class Taking:
    """Takes what arrives."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.refused = 0
        self.expectations = 0

    def on_arrival(self) -> None:
        return

    def on_expectation(self) -> None:
        self.expectations += 1

    def on_request(self, request: Request, keep_alive: bool) -> None:
        self.requests.append(request)

    def on_refusal(self, error: errors.APIError, status: int) -> None:
        self.refused = status


def headers(*lines: str) -> dict[bytes, bytes]:
    taking = Taking()
    RequestParser(Limits(), taking).feed("\r\n".join(["GET / HTTP/1.1", *lines, "", ""]).encode())
    (request,) = taking.requests
    return request.headers


def test_of_a_header_that_is_repeated_the_first_counts() -> None:
    assert headers("Accept: a", "Host: h", "accept: b") == {b"accept": b"a", b"host": b"h"}
    assert headers("If-None-Match: a", "If-None-Match: b") == {b"if-none-match": b"a"}


def test_headers_of_impersonation_are_kept_apart_and_marked() -> None:
    assert headers("Impersonate-Group: a,b", "IMPERSONATE-Group: c", "Impersonate-Extra-X: y") == {
        b"impersonate": b"",
        b"impersonate-group": b"a,b\0c",
        b"impersonate-extra-x": b"y",
    }


@pytest.mark.parametrize("head", [b"GET /" + b"a" * 300, b"GET / HTTP/1.1\r\nA: " + b"a" * 300 + b"\r\n\r\n"])
def test_a_head_that_is_too_large_is_refused(head: bytes) -> None:
    taking = Taking()
    RequestParser(Limits(head=256), taking).feed(head)
    assert (taking.refused, taking.requests) == (431, [])


def test_a_method_that_nobody_knows_is_told_by_its_name() -> None:
    taking = Taking()
    arrival = RequestParser(Limits(), taking)
    arrival.feed(b"BREW /pot?a=b HTTP/1.1\r\nContent-Length: 3\r\n\r\ntea")
    arrival.feed(b"get / HTTP/1.1\r\n\r\n")
    arrival.feed(b"PUT / HTTP/1.1\r\n\r\n")
    assert [(r.method, r.path, r.query, r.body) for r in taking.requests] == [
        ("BREW", "/pot", "a=b", b"tea"),
        ("get", "/", "", b""),
        ("PUT", "/", "", b""),
    ]


@pytest.mark.parametrize("sent", [b"B\xffEW / HTTP/1.1\r\n\r\n", b"\x16\x03\x01 / HTTP/1.1\r\n\r\n", b"BREW\r\n\r\n"])
def test_what_is_no_method_is_refused(sent: bytes) -> None:
    taking = Taking()
    RequestParser(Limits(), taking).feed(sent)
    assert (taking.refused, taking.requests) == (400, [])


def test_a_method_that_nobody_knows_is_refused_behind_another_request() -> None:
    taking = Taking()
    RequestParser(Limits(), taking).feed(b"GET / HTTP/1.1\r\n\r\nBREW / HTTP/1.1\r\n\r\n")
    assert (taking.refused, [r.method for r in taking.requests]) == (400, ["GET"])


@pytest.mark.parametrize(
    ("more", "told"),
    [("Content-Length: 3", 1), ("Transfer-Encoding: chunked", 1), ("Content-Length: 0", 0), ("A: b", 0)],
)
def test_only_who_has_more_to_send_is_told_to_go_on(more: str, told: int) -> None:
    taking = Taking()
    RequestParser(Limits(), taking).feed(f"PUT / HTTP/1.1\r\nExpect: 100-continue\r\n{more}\r\n\r\n".encode())
    assert taking.expectations == told
