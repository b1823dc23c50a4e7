"""PEM blocks, found in a text as Go's encoding/pem finds them, in a time that is linear in the length of the text."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator
from typing import NamedTuple

_START = b"\n-----BEGIN "
_END = b"\n-----END "
_DASHES = b"-----"


class PemBlock(NamedTuple):
    """A PEM block: its type, its headers, its decoded bytes and the position after it in the text."""

    type: str
    headers: dict[str, str]
    data: bytes
    end: int


def decode_pem(text: bytes) -> tuple[PemBlock | None, bytes]:
    """Return the first PEM block and the text after it. The block is None if the text contains no block."""
    block = next(pem_blocks(text), None)
    return (None, text) if block is None else (block, text[block.end :])


def pem_blocks(text: bytes) -> Iterator[PemBlock]:
    """Yield the PEM blocks of a text, without malformed ones."""
    at, ending = 0, -1
    while (start := _start(text, at)) >= 0:
        line, at = _line(text, start)
        if not line.endswith(_DASHES):
            continue
        headers, body = _headers(text, at)
        if not headers and text.startswith(_END[1:], body):
            end = body - 1
        else:
            if ending < body:
                ending = text.find(_END, body)
            end = ending
        if end < 0 or body >= len(text):
            return
        block = _block(text, line[: -len(_DASHES)], headers, body, end)
        if block is None:
            at = body
        else:
            yield block
            at = block.end


def _start(text: bytes, at: int) -> int:
    """Return the position of the type in the next first line of a block, or -1. The line begins at `at` or later."""
    if text.startswith(_START[1:], at):
        return at + len(_START) - 1
    found = text.find(_START, at)
    return found + len(_START) if found >= 0 else -1


def _headers(text: bytes, at: int) -> tuple[dict[str, str], int]:
    """Return the headers that begin at `at`, and the position after them."""
    headers: dict[str, str] = {}
    while at < len(text):
        line, behind = _line(text, at)
        key, colon, value = line.partition(b":")
        if not colon:
            break
        headers[key.strip().decode(errors="replace")] = value.strip().decode(errors="replace")
        at = behind
    return headers, at


def _block(text: bytes, kind: bytes, headers: dict[str, str], start: int, end: int) -> PemBlock | None:
    """Return the block whose body is between two positions, or None if it is malformed."""
    trailer, expected = end + len(_END), kind + _DASHES
    rest, behind = _line(text, trailer)
    # A dash is no digit of base64. So a body that contains other blocks is not copied.
    if rest != expected or text.find(b"-", start, max(start, end)) >= 0:
        return None
    try:
        data = base64.b64decode(text[start : max(start, end)].translate(None, b" \t\r\n"), validate=True)
    except binascii.Error:
        return None
    return PemBlock(kind.decode(errors="replace"), headers, data, behind)


def _line(text: bytes, at: int) -> tuple[bytes, int]:
    """Return the line that begins at `at`, without blanks at its end, and the position after it."""
    end = text.find(b"\n", at)
    if end < 0:
        return text[at:].removesuffix(b"\r").rstrip(b" \t"), len(text)
    return text[at:end].removesuffix(b"\r").rstrip(b" \t"), end + 1
