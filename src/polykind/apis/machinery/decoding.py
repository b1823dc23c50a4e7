"""The state of one decoding run: the first error and the unknown fields, with their locations in the input.

A `Location` is a linked list that grows as the decoder descends. It is rendered as a path only when an error or an
unknown field must be reported.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from polykind.golang.json import NumberLiteral, json_float

MAX_UNKNOWN_FIELDS = 100
MAX_DEPTH = 250
"""The maximum nesting depth of an object that the server accepts. orjson can write at most 254 levels."""


class Location(NamedTuple):
    """A location in the input. `key` is a list index, a map key or, with a `struct`, the name of a field."""

    parent: Location | None
    key: str | int
    struct: str
    depth: int


class PromotedName(str):
    """The JSON name of a field of an embedded struct. `path` is its name in Go's error messages."""

    __slots__ = ("path",)
    path: str

    def __new__(cls, name: str, path: str) -> PromotedName:
        promoted = super().__new__(cls, name)
        promoted.path = path
        return promoted


class DecodeError(Exception):
    """A decoding error with the message of Go's encoding/json.

    A type mismatch has no `text`. It has `got`, `wanted`, `struct` and `path` instead, because each enclosing type with
    its own UnmarshalJSON adds field names to the front of `path`.
    """

    def __init__(self, text: str = "", *, got: str = "", wanted: str = "", struct: str = "", path: str = "") -> None:
        super().__init__(text)
        self.text = text
        self.got, self.wanted, self.struct, self.path = got, wanted, struct, path

    def __str__(self) -> str:
        if self.text:
            return self.text
        if self.struct or self.path:
            into = f"struct field {self.struct}.{self.path}"
        else:
            into = "value"
        return f"json: cannot unmarshal {self.got} into Go {into} of type {self.wanted}"

    def located(self, at: Location | None) -> DecodeError:
        """Return a type mismatch with the path to `at` in front of its own path. Return any other error unchanged."""
        fields, struct = _field_path(at)
        if self.text or not fields:
            return self
        path = ".".join([*fields, self.path] if self.path else fields)
        return DecodeError(got=self.got, wanted=self.wanted, struct=struct, path=path)


def _field_path(at: Location | None) -> tuple[list[str], str]:
    """Return the names of the struct fields on the way to a location, and the name of the innermost struct."""
    names: list[str] = []
    struct = ""
    while at is not None:
        if at.struct:
            names.append(at.key.path if isinstance(at.key, PromotedName) else str(at.key))
            struct = struct or at.struct
        at = at.parent
    names.reverse()
    return names, struct


def _dotted_path(at: Location | None, last: str) -> str:
    keys: list[str | int] = []
    while at is not None:
        keys.append(at.key)
        at = at.parent
    out = ""
    for key in reversed(keys):
        out += f"[{key}]" if isinstance(key, int) else f".{key}" if out else key
    return f"{out}.{last}" if out else last


class Decoding(msgspec.Struct):
    """One decoding run. Like Go's decoder, it continues after a type mismatch and finally reports the first one."""

    report_unknown: bool
    error: DecodeError | None = None
    unknown: list[str] = []

    def mismatch(self, value: object, wanted: str, at: Location | None, *, literal: bool = False) -> None:
        """Record that a value is not of the Go type `wanted`, unless an earlier error is recorded."""
        if self.error is None:
            self.error = DecodeError(got=describe(value, literal), wanted=wanted).located(at)

    def fail(self, text: str) -> None:
        """Record an error with the message `text`, unless an earlier error is recorded."""
        if self.error is None:
            self.error = DecodeError(text)

    def unknown_field(self, at: Location | None, key: str) -> None:
        if len(self.unknown) < MAX_UNKNOWN_FIELDS:
            self.unknown.append(_dotted_path(at, key))


def describe(value: object, literal: bool = False) -> str:
    """Return the JSON type of a value as Go's errors name it. If `literal` is true, add the digits of a number."""
    if isinstance(value, dict):
        return "object"
    if isinstance(value, list):
        return "array"
    if isinstance(value, str):
        return "string"
    if isinstance(value, bool):
        return "bool"
    if not literal:
        return "number"
    if isinstance(value, NumberLiteral):
        return f"number {value.text}"
    return f"number {json_float(value) if isinstance(value, float) else value}"


def next_depth(at: Location | None) -> int:
    """Return the depth of the values inside `at`. Raise DecodeError if the depth exceeds MAX_DEPTH."""
    depth = at.depth + 1 if at is not None else 0
    if depth > MAX_DEPTH:
        raise DecodeError("exceeded max depth")
    return depth
