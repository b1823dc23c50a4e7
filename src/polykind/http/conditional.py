"""Responses with cacheable documents: ETag, Last-Modified, conditional and range requests, compression (RFC 9110)."""

from __future__ import annotations

import gzip
import re
from calendar import timegm
from functools import lru_cache
from time import gmtime, strftime
from typing import Final

from polykind.http.http_date import format_http_date, parse_http_date
from polykind.http.messages import TEXT, Request
from polykind.operations.responses import Response, body_size

Headers = tuple[tuple[bytes, bytes], ...]

_MIN_COMPRESSED_BYTES: Final = 1400
"""Documents with fewer bytes than this are not compressed."""
_number = re.compile(r"[0-9]{1,18}").fullmatch


class _RangeNotSatisfiableError(Exception):
    """The Range header is malformed or lies outside of the document."""


def document_response(
    request: Request, body: bytes, content_type: bytes, headers: Headers = (), *, etag: str = "", modified: int
) -> Response:
    """Return a response with the document, or a 206, 304, 412 or 416 response if the request's headers demand it.

    `modified` is the Unix time of the last change of the document.
    """
    tag = f'"{etag}"' if etag else ""
    if tag:
        headers = ((b"Etag", tag.encode()), *headers)
    dated = (*headers, (b"Last-Modified", format_http_date(modified)))
    status = _evaluate_conditions(request, tag, modified)
    if status == 304:
        return Response(304, b"", b"", headers if tag else dated)
    if status:
        return Response(status, b"", content_type, dated)
    dated = (*dated, (b"Accept-Ranges", b"bytes"))
    try:
        byte_range = _requested_range(request, len(body), tag, modified)
    except _RangeNotSatisfiableError as error:
        return _range_error(str(error), len(body), headers)
    if byte_range is None:
        return Response(200, body, content_type, dated)
    start, end = byte_range
    content_range = (b"Content-Range", b"bytes %d-%d/%d" % (start, end - 1, len(body)))
    return Response(206, body[start:end], content_type, (*dated, content_range))


def compress(request: Request, response: Response) -> Response:
    """Compress a complete document with gzip if the client accepts gzip."""
    vary = (b"Vary", b"Accept-Encoding")
    response.headers = (vary, *response.headers)
    body = response.body
    compressible = response.status == 200 and request.method != "HEAD" and body_size(body) >= _MIN_COMPRESSED_BYTES
    if compressible and isinstance(body, bytes) and accepts_gzip(request.header(b"accept-encoding")):
        response.body = _gzip(body)
        response.headers = (*response.headers, (b"Content-Encoding", b"gzip"))
    return response


def expires_in_a_year(now: float) -> bytes:
    """Return the time one year from `now` in kube-apiserver's date format, which ends in UTC instead of GMT."""
    year, *rest = gmtime(now)[:6]
    return strftime("%a, %d %b %Y %H:%M:%S UTC", gmtime(timegm((year + 1, *rest)))).encode()


@lru_cache(maxsize=2)
def _gzip(body: bytes) -> bytes:
    return gzip.compress(body, 1)


def accepts_gzip(accepted: str) -> bool:
    """True if an Accept-Encoding header allows gzip."""
    for clause in accepted.lower().split(","):
        coding, _, weight = clause.partition(";")
        if coding.strip() == "gzip":
            return weight.replace(" ", "").rstrip("0") not in ("q=", "q=0.")
    return False


def _tags(header: str) -> list[str]:
    return [tag.strip() for tag in header.split(",")]


def _evaluate_conditions(request: Request, tag: str, modified: int) -> int:
    """Return the status that conditional headers demand, or 0 to send the document (RFC 9110, section 13.2.2)."""
    safe = request.method in ("GET", "HEAD")
    if match := request.header(b"if-match"):
        if {"*", tag or "*"}.isdisjoint(_tags(match)):
            return 412
    elif (since := parse_http_date(request.header(b"if-unmodified-since"))) is not None and modified > since:
        return 412
    if none_match := request.header(b"if-none-match"):
        if not {"*", tag or "*"}.isdisjoint(known.removeprefix("W/") for known in _tags(none_match)):
            return 304 if safe else 412
    elif safe and tag and (since := parse_http_date(request.header(b"if-modified-since"))) is not None:
        # Dates are not compared without an ETag: a document that changed twice within a second would look unchanged.
        return 304 if modified <= since else 0
    return 0


def _requested_range(request: Request, size: int, tag: str, modified: int) -> tuple[int, int] | None:
    """Return the requested byte range (start, end), or None for the complete document."""
    header = request.header(b"range")
    if not header or request.method not in ("GET", "HEAD"):
        return None
    if (condition := request.header(b"if-range")) and condition != tag and parse_http_date(condition) != modified:
        return None
    unit, equals, clauses_text = header.partition("=")
    if unit != "bytes" or not equals:
        raise _RangeNotSatisfiableError("invalid range")
    clauses = [clause.strip() for clause in clauses_text.split(",")]
    ranges = [found for clause in clauses if clause and (found := _parse_range(clause, size)) is not None]
    if not ranges and any(clauses):
        raise _RangeNotSatisfiableError("invalid range: failed to overlap")
    # Several ranges at once are not supported: send the complete document, as RFC 9110 allows.
    return ranges[0] if len(ranges) == 1 else None


def _parse_range(clause: str, size: int) -> tuple[int, int] | None:
    """Return one byte range (start, end), or None if it starts beyond the end of the document."""
    first, dash, last = (text.strip() for text in clause.partition("-"))
    if not dash or any(text and not _number(text) for text in (first, last)) or not (first or last):
        raise _RangeNotSatisfiableError("invalid range")
    if not first:
        return max(0, size - int(last)), size
    start, end = int(first), int(last) + 1 if last else size
    if start >= size:
        return None
    if start >= end:
        raise _RangeNotSatisfiableError("invalid range")
    return start, min(end, size)


def _range_error(reason: str, size: int, headers: Headers) -> Response:
    kept = tuple(header for header in headers if header[0] == b"Vary")
    if reason != "invalid range":
        kept = (*kept, (b"Content-Range", b"bytes */%d" % size))
    return Response(416, f"{reason}\n".encode(), TEXT, (*kept, (b"X-Content-Type-Options", b"nosniff")))
