"""Indented JSON, for people who read responses."""

from __future__ import annotations

import re

import msgspec

_MAX_INDENTED_BYTES = 32 * 1024 * 1024
_pieces = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)|\{\}|\[\]|[{}\[\],:]|[^\s{}\[\],:"]+', re.DOTALL).finditer


def indent(encoded: bytes, level: int = 0) -> bytes:
    """Return JSON bytes indented by two spaces per level, for ?pretty, without a trailing newline.

    Return the bytes unchanged if deep nesting would make the result too long. Indentation is only for human readers.
    `level` is the level of the value in its document. The first line is not indented.
    """
    brackets = len(encoded) - len(encoded.translate(None, b"{["))
    lines = len(encoded) - len(encoded.translate(None, b"{[,]}"))
    if lines * (brackets + level) * 2 + len(encoded) <= _MAX_INDENTED_BYTES:
        # Even if all brackets were nested, the result would not be too long.
        try:
            return msgspec.json.format(encoded, indent=2).replace(b"\n", b"\n" + b"  " * level)
        except (msgspec.MsgspecError, RecursionError):
            pass
    return _indent_by_pieces(encoded, level)


def _indent_by_pieces(encoded: bytes, level: int) -> bytes:
    """Indent JSON with many brackets, and stop if the result becomes too long."""
    out = bytearray()
    for match in _pieces(encoded):
        piece = match[0]
        if piece in (b"{", b"["):
            level += 1
            out += piece + b"\n" + b"  " * level
        elif piece in (b"}", b"]"):
            level -= 1
            out += b"\n" + b"  " * level + piece
        elif piece == b",":
            out += b",\n" + b"  " * level
        elif piece == b":":
            out += b": "
        else:
            out += piece
        if len(out) > _MAX_INDENTED_BYTES:
            return encoded
    return bytes(out)
