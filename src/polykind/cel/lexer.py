"""Tokens of CEL."""

from __future__ import annotations

import re
from typing import NamedTuple

from polykind.cel.source import Source

_ESCAPE = r"\\(?:[abfnrtv\"'\\?`]|[0-3][0-7][0-7]|[xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})"
_STRING = (
    rf'"""(?:{_ESCAPE}|[^\\])*?"""'
    rf"|'''(?:{_ESCAPE}|[^\\])*?'''"
    r'|[rR]"""[\s\S]*?"""'
    r"|[rR]'''[\s\S]*?'''"
    rf'|"(?:{_ESCAPE}|[^\\"\n\r])*"'
    rf"|'(?:{_ESCAPE}|[^\\'\n\r])*'"
    r'|[rR]"[^"\n\r]*"'
    r"|[rR]'[^'\n\r]*'"
)
_TOKEN = re.compile(
    r"(?P<SKIP>[\t \r\n\f]+|//[^\n]*)"
    rf"|(?P<BYTES>[bB](?:{_STRING}))"
    rf"|(?P<STRING>{_STRING})"
    r"|(?P<NUM_FLOAT>[0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+|\.[0-9]+(?:[eE][+-]?[0-9]+)?)"
    r"|(?P<NUM_UINT>(?:0x[0-9a-fA-F]+|[0-9]+)[uU])"
    r"|(?P<NUM_INT>0x[0-9a-fA-F]+|[0-9]+)"
    r"|(?P<IDENTIFIER>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<ESC_IDENTIFIER>`[A-Za-z0-9_.\-/ ]+`)"
    r"|(?P<OPERATOR>==|!=|<=|>=|&&|\|\||[<>\[\]{}().,\-!?:+*/%])"
)
_KEYWORDS = frozenset({"in", "true", "false", "null"})
_UNFINISHED = frozenset("\"'&|=")
_ESCAPED_NAME = re.compile(r"`[A-Za-z0-9_.\-/ ]*")


class Token(NamedTuple):
    """`kind` is the operator or keyword itself, or the name of what varies."""

    kind: str
    text: str
    offset: int


def tokenize(source: Source) -> list[Token]:
    """All tokens with an end after them; what is no token is reported and left out."""
    text, at = source.text, 0
    found: list[Token] = []
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            end = _garbage_end(text, at)
            source.report(at, f"Syntax error: token recognition error at: '{text[at:end]}'")
            source.unrecognized_spans.append((at, end))
            at = end
            continue
        kind, matched = str(match.lastgroup), match[0]
        if kind == "OPERATOR" or (kind == "IDENTIFIER" and matched in _KEYWORDS):
            kind = matched
        if kind != "SKIP":
            found.append(Token(kind, matched, at))
        at = match.end()
    found.append(Token("<EOF>", "<EOF>", len(text)))
    return found


def _garbage_end(text: str, at: int) -> int:
    """How far a reader that wants the longest token goes before it gives up: it shows what it has read."""
    char = text[at]
    if char in "bB" and text[at + 1 : at + 2] in ("'", '"'):
        return _garbage_end(text, at + 1)
    if char in "\"'":
        return _quoted_end(text, at)
    if named := _ESCAPED_NAME.match(text, at):
        return min(named.end() + 1, len(text))
    if char in _UNFINISHED:
        return min(at + 2, len(text))
    return at + 1


def _quoted_end(text: str, at: int) -> int:
    quote = text[at]
    if text.startswith(quote * 3, at):
        return len(text)
    end = at + 1
    while end < len(text):
        if text[end] in "\r\n":
            return end + 1
        if text[end] == "\\":
            match = re.compile(_ESCAPE).match(text, end)
            if match is None:
                return min(end + _escape_read(text, end) + 1, len(text))
            end = match.end()
            continue
        end += 1
    return end


def _escape_read(text: str, at: int) -> int:
    """How much of a broken escape is still read as one."""
    kind = text[at + 1 : at + 2]
    octal = kind in ("0", "1", "2", "3")
    most = 2 if octal else {"x": 2, "X": 2, "u": 4, "U": 8}.get(kind)
    if most is None:
        return 1
    digits = set("01234567" if octal else "0123456789abcdefABCDEF")
    read = 2
    while read < most + 2 and text[at + read : at + read + 1] in digits:
        read += 1
    return read
