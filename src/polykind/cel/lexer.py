"""Lexer: splits an expression into the tokens of CEL's grammar."""

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
_INCOMPLETE = frozenset("\"'&|=")
_ESCAPED_NAME = re.compile(r"`[A-Za-z0-9_.\-/ ]*")


class Token(NamedTuple):
    """A token. `kind` is the text of an operator or keyword. For other tokens, it is the name of the token class."""

    kind: str
    text: str
    offset: int


def tokenize(source: Source) -> list[Token]:
    """Return all tokens and a final <EOF> token. Report and skip text that is not a token."""
    text, offset = source.text, 0
    tokens: list[Token] = []
    while offset < len(text):
        match = _TOKEN.match(text, offset)
        if match is None:
            end = _unrecognized_end(text, offset)
            source.report(offset, f"Syntax error: token recognition error at: '{text[offset:end]}'")
            source.unrecognized_spans.append((offset, end))
            offset = end
            continue
        kind, matched = str(match.lastgroup), match[0]
        if kind == "OPERATOR" or (kind == "IDENTIFIER" and matched in _KEYWORDS):
            kind = matched
        if kind != "SKIP":
            tokens.append(Token(kind, matched, offset))
        offset = match.end()
    tokens.append(Token("<EOF>", "<EOF>", len(text)))
    return tokens


def _unrecognized_end(text: str, at: int) -> int:
    """Return the end of the invalid text at `at` that ANTLR's lexer would consume and report as one error."""
    char = text[at]
    if char in "bB" and text[at + 1 : at + 2] in ("'", '"'):
        return _unrecognized_end(text, at + 1)
    if char in "\"'":
        return _unterminated_string_end(text, at)
    if named := _ESCAPED_NAME.match(text, at):
        return min(named.end() + 1, len(text))
    if char in _INCOMPLETE:
        return min(at + 2, len(text))
    return at + 1


def _unterminated_string_end(text: str, at: int) -> int:
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
                return min(end + _invalid_escape_length(text, end) + 1, len(text))
            end = match.end()
            continue
        end += 1
    return end


def _invalid_escape_length(text: str, at: int) -> int:
    """Return the length of the valid beginning of an invalid escape sequence."""
    kind = text[at + 1 : at + 2]
    octal = kind in ("0", "1", "2", "3")
    max_digits = 2 if octal else {"x": 2, "X": 2, "u": 4, "U": 8}.get(kind)
    if max_digits is None:
        return 1
    digits = set("01234567" if octal else "0123456789abcdefABCDEF")
    length = 2
    while length < max_digits + 2 and text[at + length : at + length + 1] in digits:
        length += 1
    return length
