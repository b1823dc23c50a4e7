"""Syntax errors of a JSON text, with the messages of Go's parser, and the duplicate keys of a JSON text.

This code is slow. It is used only if the fast parser rejects a text or decodes fewer keys than the text has.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from polykind.golang.fmt import go_quote

MAX_DEPTH = 10000
_END = "unexpected end of JSON input"
_space = re.compile(rb"[ \t\r\n]*").match
_plain = re.compile(rb'[^"\\\x00-\x1f]*').match
_digits = re.compile(rb"[0-9]*").match
_LITERALS = {0x74: b"true", 0x66: b"false", 0x6E: b"null"}
MAX_STRICT_ERRORS = 100


class _SyntaxError(Exception):
    pass


def syntax_error(body: bytes) -> str | None:
    """Return Go's error message for malformed JSON, or None if the bytes are valid."""
    try:
        _Scanner(body).run()
    except _SyntaxError as error:
        return str(error)
    return None


class _Scanner:
    """Checks a text in one pass. As in Go, an error at the end of the text names a space as the invalid character."""

    def __init__(self, body: bytes) -> None:
        self.body = body
        self.at = 0

    def invalid_character(self, context: str) -> _SyntaxError:
        """Return the error about the current byte. `context` is the part of Go's message after the character."""
        byte = self.body[self.at] if self.at < len(self.body) else 0x20
        character = {0x27: "\\'", 0x22: '"'}.get(byte) or go_quote(chr(byte))[1:-1]
        return _SyntaxError(f"invalid character '{character}' {context}")

    def skip(self) -> int:
        """Skip white space and return the next byte."""
        match = _space(self.body, self.at)
        self.at = match.end() if match else self.at
        if self.at >= len(self.body):
            raise _SyntaxError(_END)
        return self.body[self.at]

    def run(self) -> None:
        brackets: list[int] = []  # The open brackets.
        empty = False  # True if the innermost bracket has no member yet.
        while True:
            byte = self.skip()
            if empty and byte == brackets[-1] + 2:  # "}" is "{" + 2, "]" is "[" + 2
                self.at += 1
            else:
                if brackets and brackets[-1] == 0x7B:
                    self.key(byte)
                    byte = self.skip()
                if byte in b"{[":
                    brackets.append(byte)
                    if len(brackets) > MAX_DEPTH:
                        raise self.invalid_character("exceeded max depth")
                    self.at += 1
                    empty = True
                    continue
                self.value(byte)
                if not brackets:
                    return self.finish()
                empty = False
                if self.has_next(brackets[-1]):
                    continue
            while True:  # A bracket has been closed.
                brackets.pop()
                empty = False
                if not brackets:
                    return self.finish()
                if self.has_next(brackets[-1]):
                    break

    def has_next(self, bracket: int) -> bool:
        """True if another member follows, False if the bracket closes here."""
        byte = self.skip()
        if byte not in (0x2C, bracket + 2):
            raise self.invalid_character("after object key:value pair" if bracket == 0x7B else "after array element")
        self.at += 1
        return byte == 0x2C

    def finish(self) -> None:
        match = _space(self.body, self.at)
        self.at = match.end() if match else self.at
        if self.at < len(self.body):
            raise self.invalid_character("after top-level value")

    def key(self, byte: int) -> None:
        if byte != 0x22:
            raise self.invalid_character("looking for beginning of object key string")
        self.string()
        if self.skip() != 0x3A:
            raise self.invalid_character("after object key")
        self.at += 1

    def value(self, byte: int) -> None:
        if byte == 0x22:
            self.string()
        elif byte == 0x2D or 0x30 <= byte <= 0x39:
            self.number(byte)
        elif byte in _LITERALS:
            literal = _LITERALS[byte]
            for expected in literal[1:]:
                self.at += 1
                if self.body[self.at : self.at + 1] != bytes((expected,)):
                    raise self.invalid_character(f"in literal {literal.decode()} (expecting '{chr(expected)}')")
            self.at += 1
        else:
            raise self.invalid_character("looking for beginning of value")

    def string(self) -> None:
        self.at += 1
        while True:
            match = _plain(self.body, self.at)
            self.at = match.end() if match else self.at
            if self.at >= len(self.body):
                raise _SyntaxError(_END)
            byte = self.body[self.at]
            if byte == 0x22:
                self.at += 1
                return
            if byte != 0x5C:
                raise self.invalid_character("in string literal")
            self.at += 1
            escape = self.body[self.at : self.at + 1]
            if escape not in (b"b", b"f", b"n", b"r", b"t", b"\\", b"/", b'"', b"u"):
                raise self.invalid_character("in string escape code")
            self.at += 1
            for _ in range(4 if escape == b"u" else 0):
                digit = self.body[self.at : self.at + 1]
                if not digit or digit not in b"0123456789abcdefABCDEF":
                    raise self.invalid_character("in \\u hexadecimal character escape")
                self.at += 1

    def number(self, byte: int) -> None:
        if byte == 0x2D:
            self.at += 1
            byte = self.body[self.at] if self.at < len(self.body) else 0x20
            if not 0x30 <= byte <= 0x39:
                raise self.invalid_character("in numeric literal")
        self.at += 1
        if byte != 0x30:
            self.skip_digits()
        if self.body[self.at : self.at + 1] == b".":
            self.at += 1
            if not self.skip_digits():
                raise self.invalid_character("after decimal point in numeric literal")
        if self.body[self.at : self.at + 1] in (b"e", b"E"):
            self.at += 1
            if self.body[self.at : self.at + 1] in (b"+", b"-"):
                self.at += 1
            if not self.skip_digits():
                raise self.invalid_character("in exponent of numeric literal")

    def skip_digits(self) -> bool:
        before = self.at
        match = _digits(self.body, self.at)
        self.at = match.end() if match else self.at
        return self.at > before


# The quantifiers are possessive: the matcher would otherwise remember each of many escapes.
_tokens = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)|[{}\[\]:,]', re.DOTALL).finditer


class Key:
    """A key of a JSON text. `duplicate` is True if its object already has the same key."""

    __slots__ = ("_name", "_steps", "duplicate")

    def __init__(self, name: str, duplicate: bool, steps: list[str | int]) -> None:
        self.duplicate = duplicate
        self._name = name
        self._steps = steps

    def path(self) -> str:
        """Return the path of the key, such as spec.list[0].x. Slow for deep paths.

        Valid only until `iter_keys` yields the next key.
        """
        out = [f"[{step}]" if isinstance(step, int) else f".{step}" for step in self._steps[:-1]]
        return "".join((*out, f".{self._name}")).removeprefix(".")


def duplicate_keys(body: bytes) -> list[str]:
    """Return the paths of the first 100 duplicate keys of a valid JSON text, in order and without repetition."""
    out: dict[str, None] = {}
    for key in iter_keys(body):
        if key.duplicate:
            out[key.path()] = None
            if len(out) >= MAX_STRICT_ERRORS:
                break
    return list(out)


def iter_keys(body: bytes) -> Iterator[Key]:
    """Yield each key of a valid JSON text."""
    keys: list[set[str] | None] = []  # For each open bracket: the keys of an object, or None for a list.
    steps: list[str | int] = []  # For each open bracket: the current key or index.
    text = b""
    for match in _tokens(body):
        token = match[0]
        first = token[0]
        if first == 0x22:
            text = token
        elif token == b":":
            known_keys = keys[-1]
            key = json.loads(text)
            steps[-1] = key
            yield Key(key, known_keys is not None and key in known_keys, steps)
            if known_keys is not None:
                known_keys.add(key)
        elif first == 0x7B:
            keys.append(set())
            steps.append("")
        elif first == 0x5B:
            keys.append(None)
            steps.append(0)
        elif first in b"}]":
            keys.pop()
            steps.pop()
        elif keys[-1] is None:
            steps[-1] += 1  # type: ignore[operator]
