"""The head of an HTTP/2 request: from decoded header fields to a `Request` (RFC 9113, section 8)."""

from __future__ import annotations

import re
from functools import lru_cache

from polykind.bounded_cache import memory_of
from polykind.http.messages import Http2Request, add_repeated_header
from polykind.http.request_parser import is_host
from polykind.http2.header_decoder import Field, HeaderDecoder, static_fields

_PLAIN, _PSEUDO, _SPECIAL, _INVALID = range(4)
"""Classes of header fields. A special field has a rule of its own, or may be repeated with another meaning."""
_is_name = re.compile(rb"[!#$%&'*+.^_`|~0-9a-z-]+").fullmatch
_has_control = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]").search
_is_token = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}").fullmatch
_CONNECTION_HEADERS = frozenset((b"connection", b"keep-alive", b"proxy-connection", b"transfer-encoding", b"upgrade"))
_PSEUDO_HEADERS = frozenset((b":method", b":scheme", b":authority", b":path"))
_SPECIAL_HEADERS = frozenset((b"content-length", b"host", b"te"))


class MalformedRequestError(Exception):
    """A request violates HTTP/2. The server resets its stream."""


class RequestHead:
    """The head of a request. It may be shared by all requests with the same header block."""

    __slots__ = ("content_length", "headers", "method", "path", "query")

    def __init__(self, method: bytes, path: bytes, headers: dict[bytes, bytes], content_length: int | None) -> None:
        self.method = method.decode("latin-1")
        before, _, query = path.partition(b"?")
        self.path = before.decode("latin-1")
        self.query = query.decode("latin-1")
        self.headers = headers
        self.content_length = content_length
        """The length of the body, or None if the client does not say."""

    def memory(self) -> int:
        """Return the approximate memory of the head."""
        return memory_of((self.method, self.path, self.query, self.headers))

    def request(self, body: bytes) -> Http2Request:
        return Http2Request(self.method, self.path, self.query, self.headers.copy(), body)


def new_decoder() -> HeaderDecoder:
    """Return the decoder for the header blocks of one connection."""
    return HeaderDecoder(_static_fields(), _classify)


@lru_cache(maxsize=1)
def _static_fields() -> list[Field | None]:
    return static_fields(_classify)


def _classify(name: bytes, value: bytes) -> int:
    if name in _PSEUDO_HEADERS:
        return _INVALID if _has_control(value) else _PSEUDO
    if not _is_name(name) or _has_control(value) or name in _CONNECTION_HEADERS:
        return _INVALID
    return _SPECIAL if name in _SPECIAL_HEADERS or name.startswith(b"impersonate-") else _PLAIN


def read_head(fields: list[Field]) -> RequestHead:
    """Build the head of a request. Raise MalformedRequestError if a field, or their combination, is not allowed."""
    pseudo: dict[bytes, bytes] = {}
    headers: dict[bytes, bytes] = {}
    for name, value, _, kind in fields:
        if not kind:
            if name not in headers:
                headers[name] = value
        elif kind == _PSEUDO:
            if name in pseudo or headers:
                raise MalformedRequestError(f"the field {name.decode()} is repeated or follows other fields")
            pseudo[name] = value
        elif kind == _SPECIAL:
            _add_special(headers, name, value)
        else:
            raise MalformedRequestError("a field has an invalid name or value, or belongs to HTTP/1.1")
    method, path = pseudo.get(b":method", b""), pseudo.get(b":path", b"")
    if not _is_token(method) or b":scheme" not in pseudo or not (path[:1] == b"/" or path == b"*"):
        raise MalformedRequestError("the method, the scheme or the path is missing or invalid")
    authority = pseudo.get(b":authority") or headers.get(b"host", b"")
    if not is_host(authority):
        raise MalformedRequestError("the authority is invalid")
    headers[b"host"] = authority
    length = headers.get(b"content-length")
    return RequestHead(method, path, headers, int(length) if length is not None else None)


def _add_special(headers: dict[bytes, bytes], name: bytes, value: bytes) -> None:
    if name == b"te" and value != b"trailers":
        raise MalformedRequestError("the field te has another value than trailers")
    if name == b"content-length" and (not value.isdigit() or headers.get(name, value) != value or len(value) > 18):
        raise MalformedRequestError("the content-length is invalid")
    add_repeated_header(headers, name, value)
