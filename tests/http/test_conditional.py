"""Documents under conditions, in parts and compressed."""

from __future__ import annotations

import gzip

import pytest

from polykind.http.conditional import compress, document_response, expires_in_a_year
from polykind.http.messages import JSON, Request, Response

BODY = b"0123456789"
EARLIER, THEN, LATER = (f"Mon, 16 Nov {year} 07:15:40 GMT" for year in (2007, 2026, 2037))


def request(method: str = "GET", **headers: str) -> Request:
    sent = {name.replace("_", "-").encode(): value.encode() for name, value in headers.items()}
    return Request(method, "/", "", sent, b"")


def served(method: str = "GET", **headers: str) -> Response:
    return document_response(
        request(method, **headers), BODY, JSON, ((b"Vary", b"Accept"),), etag="T", modified=1794813340
    )


def test_a_document_tells_its_tag_and_its_time() -> None:
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


def test_who_has_a_document_is_told_its_tag_alone() -> None:
    answer = served(if_none_match='"T"')
    assert (answer.body, answer.content_type, answer.headers) == (b"", b"", ((b"Etag", b'"T"'), (b"Vary", b"Accept")))


def test_only_who_reads_can_know_a_document_already() -> None:
    assert served("POST", if_none_match='"T"').status == 412
    assert served("POST", if_modified_since=LATER).status == 200


@pytest.mark.parametrize(
    ("asked", "body", "where"),
    [
        ("bytes=0-3", b"0123", b"bytes 0-3/10"),
        ("bytes=8-", b"89", b"bytes 8-9/10"),
        ("bytes=-3", b"789", b"bytes 7-9/10"),
        ("bytes=5-99", b"56789", b"bytes 5-9/10"),
    ],
)
def test_a_part(asked: str, body: bytes, where: bytes) -> None:
    answer = served(range=asked)
    assert (answer.status, answer.body, dict(answer.headers)[b"Content-Range"]) == (206, body, where)


def test_a_part_of_another_document_is_not_wanted() -> None:
    assert served(range="bytes=0-3", if_range='"x"').status == 200
    assert served(range="bytes=0-3", if_range='"T"').status == 206
    assert served(range="bytes=0-3", if_range=THEN).status == 206


def test_several_parts_are_sent_as_the_whole() -> None:
    assert served(range="bytes=0-1,4-5").body == BODY


@pytest.mark.parametrize("asked", ["lines=0-1", "bytes", "bytes=x-", "bytes=3-1", "bytes=-"])
def test_what_is_no_part(asked: str) -> None:
    answer = served(range=asked)
    assert (answer.status, answer.body) == (416, b"invalid range\n")
    assert answer.headers == ((b"Vary", b"Accept"), (b"X-Content-Type-Options", b"nosniff"))


def test_a_part_beyond_the_end() -> None:
    answer = served(range="bytes=10-")
    assert (answer.status, answer.body) == (416, b"invalid range: failed to overlap\n")
    assert dict(answer.headers)[b"Content-Range"] == b"bytes */10"


@pytest.mark.parametrize(
    ("accepted", "shrunk"),
    [
        ("gzip", True),
        ("deflate, GZIP;q=0.5", True),
        ("gzip;q=0", False),
        ("gzip; q=0.0", False),
        ("*", False),
        ("", False),
    ],
)
def test_what_is_long_is_compressed_for_who_takes_it(accepted: str, shrunk: bool) -> None:
    long = b"a" * 2000
    answer = compress(request(accept_encoding=accepted), Response(200, long))
    assert isinstance(answer.body, bytes)
    assert (gzip.decompress(answer.body) if shrunk else answer.body) == long
    assert ((b"Content-Encoding", b"gzip") in answer.headers) is shrunk
    assert answer.headers[0] == (b"Vary", b"Accept-Encoding")


def test_what_is_short_is_not_compressed() -> None:
    assert compress(request(accept_encoding="gzip"), Response(200, BODY)).body == BODY


def test_a_year_from_a_leap_day_is_the_first_of_march() -> None:
    assert expires_in_a_year(1835396100) == b"Thu, 01 Mar 2029 00:15:00 UTC"


def test_what_has_no_tag_is_sent_again_whatever_its_time() -> None:
    assert document_response(request(if_modified_since=LATER), BODY, JSON, modified=1794813340).status == 200
