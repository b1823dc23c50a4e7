"""Standard base64 as Go reads it: line breaks are skipped, and an error names the byte it stands at."""

from __future__ import annotations

import binascii

_PAD = ord("=")
_ALPHABET = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_BREAKS = b"\r\n"


class Base64Error(ValueError):
    """The text is not base64; `at` is the offending byte."""

    def __init__(self, at: int) -> None:
        super().__init__(f"illegal base64 data at input byte {at}")


def encode_base64(data: bytes) -> str:
    return binascii.b2a_base64(data, newline=False).decode()


def decode_base64(text: str) -> bytes:
    source = text.encode(errors="surrogatepass")
    at = _first_fault(source)
    if at is not None:
        raise Base64Error(at)
    return binascii.a2b_base64(source)


def _first_fault(source: bytes) -> int | None:
    length = len(source)
    digits = 0
    position = 0
    while position < length:
        char = source[position]
        position += 1
        if char in _ALPHABET:
            digits = (digits + 1) % 4
        elif char == _PAD:
            return _padding_fault(source, position, digits)
        elif char not in _BREAKS:
            return position - 1
    return length - digits if digits else None


def _padding_fault(source: bytes, position: int, digits: int) -> int | None:
    """What is wrong after the first padding character, which stands before `position`."""
    if digits < 2:
        return position - 1
    position = _past_breaks(source, position)
    if digits == 2:
        if position == len(source):
            return position
        if source[position] != _PAD:
            return position - 1
        position = _past_breaks(source, position + 1)
    return position if position < len(source) else None


def _past_breaks(source: bytes, position: int) -> int:
    while position < len(source) and source[position] in _BREAKS:
        position += 1
    return position
