"""PEM blocks, found in a text as Go's encoding/pem finds them."""

from __future__ import annotations

import base64
import binascii
from typing import NamedTuple

_START = b"\n-----BEGIN "
_END = b"\n-----END "
_DASHES = b"-----"


class PemBlock(NamedTuple):
    """A PEM block: its type, its headers and its decoded bytes."""

    type: str
    headers: dict[str, str]
    data: bytes


def decode_pem(text: bytes) -> tuple[PemBlock | None, bytes]:
    """Return the next PEM block and the text after it. The block is None if the text contains no block."""
    rest = text
    while True:
        if rest.startswith(_START[1:]):
            rest = rest[len(_START) - 1 :]
        else:
            _, found, rest = rest.partition(_START)
            if not found:
                return None, text
        line, rest = _split_line(rest)
        if not line.endswith(_DASHES):
            continue
        kind = line[: -len(_DASHES)]
        headers, rest = _read_headers(rest)
        if not rest:
            return None, text
        block, behind = _read_body(kind, headers, rest)
        if block is not None:
            return block, behind


def _read_headers(rest: bytes) -> tuple[dict[str, str], bytes]:
    headers: dict[str, str] = {}
    while rest:
        line, behind = _split_line(rest)
        key, colon, value = line.partition(b":")
        if not colon:
            break
        headers[key.strip().decode(errors="replace")] = value.strip().decode(errors="replace")
        rest = behind
    return headers, rest


def _read_body(kind: bytes, headers: dict[str, str], rest: bytes) -> tuple[PemBlock | None, bytes]:
    if not headers and rest.startswith(_END[1:]):
        end, trailer = 0, rest[len(_END) - 1 :]
    else:
        end = rest.find(_END)
        if end < 0:
            return None, rest
        trailer = rest[end + len(_END) :]
    expected = kind + _DASHES
    if not trailer.startswith(expected) or _split_line(trailer[len(expected) :])[0]:
        return None, rest
    body = rest[:end].translate(None, b" \t\r\n")
    try:
        data = base64.b64decode(body, validate=True)
    except binascii.Error:
        return None, rest
    return PemBlock(kind.decode(errors="replace"), headers, data), _split_line(rest[end + len(_END) - 1 :])[1]


def _split_line(text: bytes) -> tuple[bytes, bytes]:
    line, _, rest = text.partition(b"\n")
    return line.removesuffix(b"\r").rstrip(b" \t"), rest
