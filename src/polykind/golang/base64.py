"""Base64 as Go's encoding/base64 decodes it: line breaks are skipped, and errors name the offending byte."""

from __future__ import annotations

import binascii
import re
from base64 import urlsafe_b64decode

_PAD = ord("=")
_ALPHABET = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_FROM_URL = bytes.maketrans(b"-_", b"+/")
_URL_ALPHABET = _ALPHABET[:62] + b"-_"
_LINE_BREAKS = b"\r\n"
_not_url_safe = re.compile(r"[^A-Za-z0-9_-]").search


class Base64Error(ValueError):
    """The text is not valid base64. `at` is the offset of the first invalid byte."""

    def __init__(self, at: int) -> None:
        super().__init__(f"illegal base64 data at input byte {at}")


def encode_base64(data: bytes) -> str:
    """Encode bytes as standard base64 with padding."""
    return binascii.b2a_base64(data, newline=False).decode()


def decode_base64(text: str, *, url_safe: bool = False) -> bytes:
    """Decode base64 with padding, as Go's StdEncoding, or as URLEncoding if `url_safe` is true.

    Raise Base64Error if the text is invalid.
    """
    source = text.encode(errors="surrogatepass")
    at = _error_offset(source, _URL_ALPHABET if url_safe else _ALPHABET)
    if at is not None:
        raise Base64Error(at)
    return binascii.a2b_base64(source.translate(_FROM_URL) if url_safe else source)


def decode_base64_url(text: str) -> bytes:
    """Decode URL-safe base64 without padding (RawURLEncoding). Raise Base64Error if it is invalid."""
    invalid = _not_url_safe(text)
    if invalid:
        raise Base64Error(len(text[: invalid.start()].encode(errors="surrogatepass")))
    if len(text) % 4 == 1:
        raise Base64Error(len(text) - 1)
    return urlsafe_b64decode(text.encode() + b"=" * (-len(text) % 4))


def _error_offset(source: bytes, alphabet: bytes) -> int | None:
    """Return the offset that Go reports for invalid base64. Return None if the text is valid."""
    length = len(source)
    digits = 0
    position = 0
    while position < length:
        char = source[position]
        position += 1
        if char in alphabet:
            digits = (digits + 1) % 4
        elif char == _PAD:
            return _padding_error_offset(source, position, digits)
        elif char not in _LINE_BREAKS:
            return position - 1
    return length - digits if digits else None


def _padding_error_offset(source: bytes, position: int, digits: int) -> int | None:
    """Return the offset of the first error in the padding, or None if there is none.

    The first padding character is just before `position`. `digits` is the number of digits in the last group of four.
    """
    if digits < 2:
        return position - 1
    position = _skip_line_breaks(source, position)
    if digits == 2:
        if position == len(source):
            return position
        if source[position] != _PAD:
            return position - 1
        position = _skip_line_breaks(source, position + 1)
    return position if position < len(source) else None


def _skip_line_breaks(source: bytes, position: int) -> int:
    while position < len(source) and source[position] in _LINE_BREAKS:
        position += 1
    return position
