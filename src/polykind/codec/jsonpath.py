"""JSONPath of printer columns, as client-go parses and evaluates it.

A path is parsed once into steps. A missing key gives no result. A step that cannot be applied to its values (an index
out of bounds, a filter on a value that is not a list) is an error.
"""

from __future__ import annotations

import re
from typing import Any

from polykind.codec.jsonpath_steps import (
    Field,
    MismatchError,
    Step,
    Values,
    constant,
    descend,
    filter_step,
    identifier,
    slice_step,
    union,
    walk,
    wildcard,
)
from polykind.golang.utf8 import decode_utf8

__all__ = ["JsonPath", "JsonPathError", "MismatchError"]

_MAX_DEPTH = 50
_FIELD_ENDS = frozenset(" \t\r\n.,[]$@{}")
_key = re.compile(r"'([^']*)'").fullmatch
_slice = re.compile(r"(-?[0-9]*)(:-?[0-9]*)?(:-?[0-9]*)?").fullmatch
_comparison = re.compile(r"([^!<>=]+)([!<>=]+)(.+)", re.DOTALL).fullmatch
_escape = re.compile(
    r"""\\(?:([abfnrtv\\'"])|x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-7]{3}))|([^\\])""", re.DOTALL
).match
_ESCAPES = {"a": 7, "b": 8, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11, "\\": 92, "'": 39, '"': 34}


class JsonPathError(ValueError):
    """A malformed path."""


class JsonPath:
    """A parsed path such as .spec.stops[0].name. The constructor raises JsonPathError if the path is malformed."""

    __slots__ = ("_parts", "keys")

    def __init__(self, text: str) -> None:
        self._parts = _Parser("{" + text + "}", 0).template()
        steps = self._parts[0] if self._parts else []
        plain = len(self._parts) == 1 and all(isinstance(step, Field) for step in steps)
        self.keys = tuple(step.name for step in steps if isinstance(step, Field)) if plain else None
        """The keys of a path that only names fields, else None."""

    def find(self, value: Any) -> Values:
        """Return the values at the path. Raise MismatchError if a step cannot be applied to its values."""
        if self.keys is not None:
            for key in self.keys:
                if type(value) is not dict or key not in value:
                    return []
                value = value[key]
            return [value]
        results = [walk(steps, [value]) for steps in self._parts]
        return results[0] if results else []

    def first(self, value: Any, missing: Any = None) -> Any:
        """Return the first value at the path, or `missing` if there is no value or a step cannot be applied."""
        try:
            values = self.find(value)
        except MismatchError:
            return missing
        return values[0] if values else missing


class _Parser:
    """Parses a template: text, and steps in braces. `at` is the position of the next character."""

    def __init__(self, text: str, depth: int) -> None:
        if depth > _MAX_DEPTH:
            raise JsonPathError("nested too deeply")
        self.text = text
        self.at = 0
        self.depth = depth

    def template(self) -> list[list[Step]]:
        out: list[list[Step]] = []
        while self.at < len(self.text):
            brace = self.text.find("{", self.at)
            end = len(self.text) if brace < 0 else brace
            if end > self.at:
                out.append([constant(self.text[self.at : end], once=True)])
            self.at = end
            if brace >= 0:
                self.at += 1
                out.append(self.action())
        return out

    def nested(self, text: str) -> list[Step]:
        return _Parser("{" + text + "}", self.depth + 1).template()[0]

    def action(self) -> list[Step]:
        steps: list[Step] = []
        while True:
            rest = self.text[self.at : self.at + 3]
            if rest.startswith("}"):
                self.at += 1
                return steps
            if rest == "[?(":
                self.at += 3
                steps.append(self.filter())
            elif rest.startswith(".."):
                if steps and steps[-1] is descend:
                    raise JsonPathError("invalid multiple recursive descent")
                self.at += 2
                steps.append(descend)
                if _is_identifier_character(self.text[self.at : self.at + 1]):
                    steps.append(self.field())
            else:
                self.step(rest[:1], steps)

    def step(self, char: str, steps: list[Step]) -> None:
        if not char or char in "\r\n":
            raise JsonPathError("unclosed action")
        if char in " @$":
            self.at += 1
        elif char == "[":
            self.at += 1
            self.index(steps)
        elif char in "\"'":
            steps.append(constant(self.quoted(char), once=True))
        elif char == ".":
            self.at += 1
            steps.append(self.field())
        elif char in "+-" or char.isdigit():
            steps.append(constant(self.number()))
        elif _is_identifier_character(char):
            start = self.at
            while self.at < len(self.text) and self.text[self.at] not in _FIELD_ENDS:
                self.at += 1
            word = self.text[start : self.at]
            steps.append(constant(word == "true") if word in ("true", "false") else identifier(word))
        else:
            raise JsonPathError(f"unrecognized character in action: U+{ord(char):04X} '{char}'")

    def field(self) -> Step:
        start = self.at
        while self.at < len(self.text) and self.text[self.at] not in _FIELD_ENDS:
            self.at += 2 if self.text[self.at] == "\\" else 1
        self.at = min(self.at, len(self.text))
        name = self.text[start : self.at]
        return wildcard if name == "*" else Field(name.replace("\\", ""))

    def number(self) -> int | float:
        start = self.at
        self.at += self.text[self.at] in "+-"
        while self.at < len(self.text) and (self.text[self.at] == "." or self.text[self.at].isdigit()):
            self.at += 1
        text = self.text[start : self.at]
        try:
            return int(text) if "." not in text else float(text)
        except ValueError:
            raise JsonPathError(f"cannot parse number {text}") from None

    def quoted(self, quote: str) -> str:
        start = self.at
        while True:
            self.at = self.text.find(quote, self.at + 1)
            if self.at < 0 or "\n" in self.text[start : self.at]:
                raise JsonPathError("unterminated quoted string")
            if self.text[self.at - 1] != "\\":
                break
        inside = self.text[start + 1 : self.at]
        self.at += 1
        return _unquote(inside, quote)

    def index(self, steps: list[Step]) -> None:
        end = self.text.find("]", self.at)
        if end < 0 or "\n" in self.text[self.at : end]:
            raise JsonPathError("unterminated array")
        text = self.text[self.at : end]
        self.at = end + 1
        if text == "*":
            text = ":"
        if "," in text:
            steps.append(union([self.nested(f"[{part.strip(' ')}]") for part in text.split(",")]))
            return
        if key := _key(text):
            steps += self.nested(f".{key[1]}")
            return
        match = _slice(text)
        if match is None:
            raise JsonPathError(f"invalid array index {text}")
        start = _index_number(match[1])
        single = not match[2]
        stop = (start or 0) + 1 if single else _index_number(match[2][1:])
        step = _index_number(match[3][1:]) if match[3] else None
        steps.append(slice_step(start, stop, step, single=single))

    def filter(self) -> Step:
        start, opened, closed, pair = self.at, False, False, ""
        while True:
            char = self.text[self.at : self.at + 1]
            if not char or char == "\n":
                raise JsonPathError("unterminated filter")
            self.at += 1
            if char in "\"'":
                if not opened:
                    opened, pair = True, char
                elif char == pair and self.text[self.at - 2] != "\\":
                    closed = True
            elif char == ")" and opened == closed:
                break
        text = self.text[start : self.at - 1]
        if self.text[self.at : self.at + 1] != "]":
            raise JsonPathError("unclosed array expect ]")
        self.at += 1
        match = _comparison(text)
        if match is None:
            return filter_step(self.nested(text), "exists", [])
        return filter_step(self.nested(match[1]), match[2], self.nested(match[3]))


def _is_identifier_character(char: str) -> bool:
    return char == "_" or char.isalpha() or char.isdigit()


def _index_number(text: str) -> int | None:
    if not text:
        return None
    if text == "-" or len(text) > 18:
        raise JsonPathError(f"array index {text} is not a number")
    return int(text)


def _unquote(text: str, quote: str) -> str:
    if "\\" not in text and quote not in text:
        return text
    out = bytearray()
    at = 0
    while at < len(text):
        match = _escape(text, at)
        part = None if match is None or match[6] == quote else _unescape(match, quote)
        if match is None or part is None:
            raise JsonPathError(f"unquote string {quote}{text}{quote} error invalid syntax")
        out += part
        at = match.end()
    return decode_utf8(bytes(out))


def _unescape(match: re.Match[str], quote: str) -> bytes | None:
    """Return the bytes of a character or an escape sequence, or None if it is invalid."""
    letter, byte, short, long, octal, plain = match.groups()
    if plain is not None:
        return plain.encode(errors="replace")
    if letter is not None:
        return None if letter in ("'", '"') and letter != quote else bytes((_ESCAPES[letter],))
    if short or long:
        code = int(short or long, 16)
        return None if code > 0x10FFFF or 0xD800 <= code < 0xE000 else chr(code).encode()
    value = int(byte, 16) if byte else int(octal, 8)
    return None if value > 255 else bytes((value,))
