"""Conditional requests, range requests and compression."""

from __future__ import annotations

import gzip

import pytest

from polykind.http.conditional import compress, document_response, expires_in_a_year
from polykind.http.messages import Request
from polykind.operations.responses import JSON, Response

BODY = b"0123456789"
EARLIER, THEN, LATER = (f"Mon, 16 Nov {year} 07:15:40 GMT" for year in (2007, 2026, 2037))


def request(method: str = "GET", **headers: str) -> Request:
    sent = {name.replace("_", "-").encode(): value.encode() for name, value in headers.items()}
    return Request(method, "/", "", sent, b"")


def served(method: str = "GET", **headers: str) -> Response:
    return document_response(
        request(method, **headers), BODY, JSON, ((b"Vary", b"Accept"),), etag="T", modified=1794813340
    )


def test_document_has_etag_and_last_modified() -> None:
    answer = served()
    assert (answer.status, answer.body, answer.content_type) == (200, BODY, JSON)
    assert answer.headers == (
        (b"Etag", b'"T"'),
        (b"Vary", b"Accept"),
        (b"Last-Modified", THEN.encode()),
        (b"Accept-Ranges", b"bytes"),
    )


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"if_match": '"x"'}, 412),
        ({"if_match": '"x", "T"'}, 200),
        ({"if_match": 'W/"T"'}, 412),
        ({"if_match": "*"}, 200),
        ({"if_none_match": 'W/"T"'}, 304),
        ({"if_none_match": "*"}, 304),
        ({"if_none_match": '"x"', "if_modified_since": LATER}, 200),
        ({"if_modified_since": LATER}, 304),
        ({"if_modified_since": THEN}, 304),
        ({"if_modified_since": EARLIER}, 200),
        ({"if_modified_since": "nonsense"}, 200),
        ({"if_unmodified_since": EARLIER}, 412),
        ({"if_unmodified_since": LATER}, 200),
    ],
)
def test_conditions(headers: dict[str, str], status: int) -> None:
    assert served(**headers).status == status


def test_304_has_etag_without_last_modified() -> None:
    answer = served(if_none_match='"T"')
    assert (answer.body, answer.content_type, answer.headers) == (b"", b"", ((b"Etag", b'"T"'), (b"Vary", b"Accept")))


def test_if_none_match_fails_for_unsafe_methods() -> None:
    assert served("POST", if_none_match='"T"').status == 412
    assert served("POST", if_modified_since=LATER).status == 200


@pytest.mark.parametrize(
    ("header", "body", "where"),
    [
        ("bytes=0-3", b"0123", b"bytes 0-3/10"),
        ("bytes=8-", b"89", b"bytes 8-9/10"),
        ("bytes=-3", b"789", b"bytes 7-9/10"),
        ("bytes=5-99", b"56789", b"bytes 5-9/10"),
    ],
)
def test_range(header: str, body: bytes, where: bytes) -> None:
    answer = served(range=header)
    assert (answer.status, answer.body, dict(answer.headers)[b"Content-Range"]) == (206, body, where)


def test_if_range_of_another_document_sends_all() -> None:
    assert served(range="bytes=0-3", if_range='"x"').status == 200
    assert served(range="bytes=0-3", if_range='"T"').status == 206
    assert served(range="bytes=0-3", if_range=THEN).status == 206


def test_several_ranges_send_all() -> None:
    assert served(range="bytes=0-1,4-5").body == BODY


@pytest.mark.parametrize("header", ["lines=0-1", "bytes", "bytes=x-", "bytes=3-1", "bytes=-"])
def test_invalid_range(header: str) -> None:
    answer = served(range=header)
    assert (answer.status, answer.body) == (416, b"invalid range\n")
    assert answer.headers == ((b"Vary", b"Accept"), (b"X-Content-Type-Options", b"nosniff"))


def test_range_beyond_the_end() -> None:
    answer = served(range="bytes=10-")
    assert (answer.status, answer.body) == (416, b"invalid range: failed to overlap\n")
    assert dict(answer.headers)[b"Content-Range"] == b"bytes */10"


@pytest.mark.parametrize(
    ("accepted", "compressed"),
    [
        ("gzip", True),
        ("deflate, GZIP;q=0.5", True),
        ("gzip;q=0", False),
        ("gzip; q=0.0", False),
        ("*", False),
        ("", False),
    ],
)
def test_long_document_is_compressed_if_accepted(accepted: str, compressed: bool) -> None:
    long = b"a" * 2000
    answer = compress(request(accept_encoding=accepted), Response(200, long))
    assert isinstance(answer.body, bytes)
    assert (gzip.decompress(answer.body) if compressed else answer.body) == long
    assert ((b"Content-Encoding", b"gzip") in answer.headers) is compressed
    assert answer.headers[0] == (b"Vary", b"Accept-Encoding")


def test_short_document_is_not_compressed() -> None:
    assert compress(request(accept_encoding="gzip"), Response(200, BODY)).body == BODY


def test_expires_in_a_year_from_leap_day() -> None:
    assert expires_in_a_year(1835396100) == b"Thu, 01 Mar 2029 00:15:00 UTC"


def test_document_without_etag_is_always_sent() -> None:
    assert document_response(request(if_modified_since=LATER), BODY, JSON, modified=1794813340).status == 200
