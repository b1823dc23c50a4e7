"""The heads of HTTP/2 responses as header blocks.

Every field is an entry of the static table or a literal that is not added to the client's table. So a block does not
depend on the connection, and most of it is encoded once for each status and content type.
"""

from __future__ import annotations

from functools import lru_cache

from polykind.http2.header_encoding import encode_header, encode_name, encode_string
from polykind.operations.responses import Response, Stream, body_size

CONTINUE_BLOCK = encode_header(b":status", b"100")
TOO_LARGE_BODY = b"<h1>HTTP Error 431</h1><p>Request Header Field(s) Too Large</p>"
"""The body of Go's response to a request with a head that is too large."""
_AUDIT_ID = encode_name(b"audit-id")
_CONTENT_LENGTH = encode_name(b"content-length")
_CACHE_CONTROL = encode_header(b"cache-control", b"no-cache, private")
_lower_name = lru_cache(maxsize=256)(bytes.lower)


@lru_cache(maxsize=256)
def _fixed_fields(status: int, content_type: bytes) -> bytes:
    block = encode_header(b":status", b"%d" % status)
    if content_type:
        block += encode_header(b"content-type", content_type)
    return block


@lru_cache(maxsize=2)
def _date_field(date: bytes) -> bytes:
    return encode_header(b"date", date)


def encode_response_head(response: Response | Stream, audit_id: bytes, date: bytes) -> bytes:
    """Return the header block of a response."""
    size = len(audit_id)
    parts = [
        _fixed_fields(response.status, response.content_type),
        _AUDIT_ID,
        b"%c%b" % (size, audit_id) if size < 127 else encode_string(audit_id),
        _CACHE_CONTROL,
        _date_field(date),
    ]
    for name, value in response.headers:
        if name == b"Cache-Control":
            parts[3] = encode_header(b"cache-control", value)
        else:
            parts.append(encode_header(_lower_name(name), value))
    if response.status != 304 and not isinstance(response, Stream):
        # A 304 has no body, and a content-length would describe the document that the client has cached.
        body = response.body
        length = b"%d" % (len(body) if type(body) is bytes else body_size(body))
        parts.append(b"%b%c%b" % (_CONTENT_LENGTH, len(length), length))
    return b"".join(parts)


def encode_too_large_head(date: bytes) -> bytes:
    """Return the header block of Go's response to a request with a head that is too large."""
    length = encode_header(b"content-length", b"%d" % len(TOO_LARGE_BODY))
    return _fixed_fields(431, b"text/html; charset=utf-8") + length + _date_field(date)
