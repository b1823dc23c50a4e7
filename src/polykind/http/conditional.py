"""Documents that clients keep: their tags and times, conditions on them, parts of them, and compression."""

from __future__ import annotations

import gzip
import re
from calendar import timegm
from functools import lru_cache
from time import gmtime, strftime
from typing import Final

from polykind.http.messages import TEXT, Request, Response

Headers = tuple[tuple[bytes, bytes], ...]

_SMALLEST: Final = 1400
"""What is shorter is not worth compressing."""
_number = re.compile(r"[0-9]+").fullmatch


class _Unsatisfiable(Exception):
    """No part of a document is what is asked for."""


def document_response(
    request: Request, body: bytes, content_type: bytes, headers: Headers = (), *, etag: str = "", modified: int
) -> Response:
    """A document, or what the conditions that a client states leave of it. `modified` is in seconds."""
    tag = f'"{etag}"' if etag else ""
    if tag:
        headers = ((b"Etag", tag.encode()), *headers)
    dated = (*headers, (b"Last-Modified", _date(modified)))
    verdict = _judged(request, tag, modified)
    if verdict == 304:
        return Response(304, b"", b"", headers if tag else dated)
    if verdict:
        return Response(verdict, b"", content_type, dated)
    dated = (*dated, (b"Accept-Ranges", b"bytes"))
    try:
        part = _part(request, len(body), tag, modified)
    except _Unsatisfiable as error:
        return _no_part(str(error), len(body), headers)
    if part is None:
        return Response(200, body, content_type, dated)
    start, end = part
    where = (b"Content-Range", b"bytes %d-%d/%d" % (start, end - 1, len(body)))
    return Response(206, body[start:end], content_type, (*dated, where))


def compress(request: Request, response: Response) -> Response:
    """A document for a client that may want it compressed; one that is in parts is left as it is."""
    vary = (b"Vary", b"Accept-Encoding")
    response.headers = (vary, *response.headers)
    body = response.body
    worth = response.status == 200 and request.method != "HEAD" and len(body) >= _SMALLEST
    if worth and isinstance(body, bytes) and _takes_gzip(request.header(b"accept-encoding")):
        response.body = _compressed(body)
        response.headers = (*response.headers, (b"Content-Encoding", b"gzip"))
    return response


def expires_in_a_year(now: float) -> bytes:
    """When what is kept for a year has had its time, in the reference's own form of a date."""
    year, *rest = gmtime(now)[:6]
    return strftime("%a, %d %b %Y %H:%M:%S UTC", gmtime(timegm((year + 1, *rest)))).encode()


@lru_cache(maxsize=2)
def _compressed(body: bytes) -> bytes:
    return gzip.compress(body, 1)


def _takes_gzip(accepted: str) -> bool:
    for clause in accepted.lower().split(","):
        coding, _, weight = clause.partition(";")
        if coding.strip() == "gzip":
            return weight.replace(" ", "").rstrip("0") not in ("q=", "q=0.")
    return False


def _date(seconds: int) -> bytes:
    return strftime("%a, %d %b %Y %H:%M:%S GMT", gmtime(seconds)).encode()


def _seconds(date: str) -> int | None:
    """A date in one of HTTP's forms; None if it is none."""
    from email.utils import parsedate_to_datetime

    try:
        return int(parsedate_to_datetime(date).timestamp())
    except (ValueError, OverflowError):
        return None


def _tags(header: str) -> list[str]:
    return [tag.strip() for tag in header.split(",")]


def _judged(request: Request, tag: str, modified: int) -> int:
    """The status that conditions lead to; 0 if the document is to be sent."""
    reading = request.method in ("GET", "HEAD")
    if match := request.header(b"if-match"):
        if "*" not in _tags(match) and (not tag or tag not in _tags(match)):
            return 412
    elif (since := _seconds(request.header(b"if-unmodified-since"))) is not None and modified > since:
        return 412
    if none := request.header(b"if-none-match"):
        known = [known.removeprefix("W/") for known in _tags(none)]
        if "*" in known or (tag and tag in known):
            return 304 if reading else 412
    elif reading and tag and (since := _seconds(request.header(b"if-modified-since"))) is not None:
        # What has no tag may have changed twice in a second, and a client would keep what is old.
        return 304 if modified <= since else 0
    return 0


def _part(request: Request, size: int, tag: str, modified: int) -> tuple[int, int] | None:
    """From where to where a client asks for a part; None if for all of it. Raises _Unsatisfiable."""
    asked = request.header(b"range")
    if not asked or request.method not in ("GET", "HEAD"):
        return None
    if (condition := request.header(b"if-range")) and condition != tag and _seconds(condition) != modified:
        return None
    unit, equals, stated = asked.partition("=")
    if unit != "bytes" or not equals:
        raise _Unsatisfiable("invalid range")
    clauses = [clause.strip() for clause in stated.split(",")]
    parts = [part for part in (_clause(clause, size) for clause in clauses if clause) if part is not None]
    if not parts and any(clauses):
        raise _Unsatisfiable("invalid range: failed to overlap")
    # Several parts at once are more than anybody needs: then all is sent.
    return parts[0] if len(parts) == 1 else None


def _clause(clause: str, size: int) -> tuple[int, int] | None:
    """One part; None if it lies beyond the end. Raises _Unsatisfiable."""
    first, dash, last = (text.strip() for text in clause.partition("-"))
    if not dash or any(text and not _number(text) for text in (first, last)) or not (first or last):
        raise _Unsatisfiable("invalid range")
    if not first:
        return max(0, size - int(last)), size
    start, end = int(first), int(last) + 1 if last else size
    if start >= size:
        return None
    if start >= end:
        raise _Unsatisfiable("invalid range")
    return start, min(end, size)


def _no_part(why: str, size: int, headers: Headers) -> Response:
    kept = tuple(header for header in headers if header[0] == b"Vary")
    if why != "invalid range":
        kept = (*kept, (b"Content-Range", b"bytes */%d" % size))
    return Response(416, f"{why}\n".encode(), TEXT, (*kept, (b"X-Content-Type-Options", b"nosniff")))
