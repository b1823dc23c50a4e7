"""What is wrong with a JSON text, in the words of Go's parser, and which keys it repeats.

Slow and exact: asked only once a fast parser has refused a text, or has counted fewer keys than the text has.
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
_WORDS = {0x74: b"true", 0x66: b"false", 0x6E: b"null"}
MAX_STRICT_ERRORS = 100


class _SyntaxError(Exception):
    pass


def syntax_error(body: bytes) -> str | None:
    """Why the bytes are no JSON text; None if they are one."""
    try:
        _Scanner(body).run()
    except _SyntaxError as error:
        return str(error)
    return None


class _Scanner:
    """Walks a text once. The end of the text is judged as the reference does: as if a blank stood there."""

    def __init__(self, body: bytes) -> None:
        self.body = body
        self.at = 0

    def fail(self, why: str) -> _SyntaxError:
        """The complaint about the byte at hand."""
        byte = self.body[self.at] if self.at < len(self.body) else 0x20
        shown = {0x27: "\\'", 0x22: '"'}.get(byte) or go_quote(chr(byte))[1:-1]
        return _SyntaxError(f"invalid character '{shown}' {why}")

    def skip(self) -> int:
        """The next byte that is no white space."""
        found = _space(self.body, self.at)
        self.at = found.end() if found else self.at
        if self.at >= len(self.body):
            raise _SyntaxError(_END)
        return self.body[self.at]

    def run(self) -> None:
        within: list[int] = []  # the open brackets
        fresh = False  # whether the innermost has nothing in it yet
        while True:
            byte = self.skip()
            if fresh and byte == within[-1] + 2:  # "}" is "{" + 2, "]" is "[" + 2
                self.at += 1
            else:
                if within and within[-1] == 0x7B:
                    self.key(byte)
                    byte = self.skip()
                if byte in b"{[":
                    within.append(byte)
                    if len(within) > MAX_DEPTH:
                        raise self.fail("exceeded max depth")
                    self.at += 1
                    fresh = True
                    continue
                self.value(byte)
                if not within:
                    return self.finish()
                fresh = False
                if self.separated(within[-1]):
                    continue
            while True:  # a bracket has been closed
                within.pop()
                fresh = False
                if not within:
                    return self.finish()
                if self.separated(within[-1]):
                    break

    def separated(self, bracket: int) -> bool:
        """Whether another member follows; False if the bracket closes here."""
        byte = self.skip()
        if byte not in (0x2C, bracket + 2):
            raise self.fail("after object key:value pair" if bracket == 0x7B else "after array element")
        self.at += 1
        return byte == 0x2C

    def finish(self) -> None:
        found = _space(self.body, self.at)
        self.at = found.end() if found else self.at
        if self.at < len(self.body):
            raise self.fail("after top-level value")

    def key(self, byte: int) -> None:
        if byte != 0x22:
            raise self.fail("looking for beginning of object key string")
        self.string()
        if self.skip() != 0x3A:
            raise self.fail("after object key")
        self.at += 1

    def value(self, byte: int) -> None:
        if byte == 0x22:
            self.string()
        elif byte == 0x2D or 0x30 <= byte <= 0x39:
            self.number(byte)
        elif byte in _WORDS:
            word = _WORDS[byte]
            for expected in word[1:]:
                self.at += 1
                if self.body[self.at : self.at + 1] != bytes((expected,)):
                    raise self.fail(f"in literal {word.decode()} (expecting '{chr(expected)}')")
            self.at += 1
        else:
            raise self.fail("looking for beginning of value")

    def string(self) -> None:
        self.at += 1
        while True:
            found = _plain(self.body, self.at)
            self.at = found.end() if found else self.at
            if self.at >= len(self.body):
                raise _SyntaxError(_END)
            byte = self.body[self.at]
            if byte == 0x22:
                self.at += 1
                return
            if byte != 0x5C:
                raise self.fail("in string literal")
            self.at += 1
            escape = self.body[self.at : self.at + 1]
            if escape not in (b"b", b"f", b"n", b"r", b"t", b"\\", b"/", b'"', b"u"):
                raise self.fail("in string escape code")
            self.at += 1
            for _ in range(4 if escape == b"u" else 0):
                digit = self.body[self.at : self.at + 1]
                if not digit or digit not in b"0123456789abcdefABCDEF":
                    raise self.fail("in \\u hexadecimal character escape")
                self.at += 1

    def number(self, byte: int) -> None:
        if byte == 0x2D:
            self.at += 1
            byte = self.body[self.at] if self.at < len(self.body) else 0x20
            if not 0x30 <= byte <= 0x39:
                raise self.fail("in numeric literal")
        self.at += 1
        if byte != 0x30:
            self.run_of_digits()
        if self.body[self.at : self.at + 1] == b".":
            self.at += 1
            if not self.run_of_digits():
                raise self.fail("after decimal point in numeric literal")
        if self.body[self.at : self.at + 1] in (b"e", b"E"):
            self.at += 1
            if self.body[self.at : self.at + 1] in (b"+", b"-"):
                self.at += 1
            if not self.run_of_digits():
                raise self.fail("in exponent of numeric literal")

    def run_of_digits(self) -> bool:
        before = self.at
        found = _digits(self.body, self.at)
        self.at = found.end() if found else self.at
        return self.at > before


_marks = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\]:,]').finditer


def duplicate_keys(body: bytes) -> list[str]:
    """The paths of the keys that a valid JSON text has twice in one object, in order, each once, at most 100."""
    out: dict[str, None] = {}
    for path, again in iter_keys(body):
        if again:
            out[path] = None
            if len(out) >= MAX_STRICT_ERRORS:
                break
    return list(out)


def iter_keys(body: bytes) -> Iterator[tuple[str, bool]]:
    """The paths of all keys of a valid JSON text as they come, and whether their object has had them already."""
    frames: list[tuple[str, set[str] | None]] = []  # the path of each open bracket, and an object's keys
    indices: list[int] = []
    path = ""
    text = b""
    for found in _marks(body):
        mark = found[0]
        first = mark[0]
        if first == 0x22:
            text = mark
        elif mark == b":":
            base, seen = frames[-1]
            key = json.loads(text)
            path = f"{base}.{key}" if base else key
            yield path, seen is not None and key in seen
            if seen is not None:
                seen.add(key)
        elif first in b"{[":
            frames.append((path, set() if first == 0x7B else None))
            indices.append(0)
            if first == 0x5B:
                path = f"{path}[0]"
        elif first in b"}]":
            frames.pop()
            indices.pop()
        elif frames[-1][1] is None:
            indices[-1] += 1
            path = f"{frames[-1][0]}[{indices[-1]}]"
