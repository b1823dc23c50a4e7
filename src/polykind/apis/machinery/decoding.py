"""One run of a Go decoder: where it is, and what it has to complain about.

Places inside the input are linked pairs, made as the walk goes down and read only when there is something to say.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from polykind.golang.json import NumberLiteral, json_float

MOST_UNKNOWN = 100
DEEPEST = 250
"""Levels of nesting; orjson writes no more than 254."""


class Place(NamedTuple):
    """Where the walk is: a field of a struct (`struct` names it), an index of a list or a key of a map."""

    parent: Place | None
    key: str | int
    struct: str
    depth: int


class Promoted(str):
    """The name of a field of an embedded struct, with the path to it that Go tells."""

    __slots__ = ("path",)
    path: str

    def __new__(cls, name: str, path: str) -> Promoted:
        made = super().__new__(cls, name)
        made.path = path
        return made


class DecodeError(Exception):
    """A decoding error in Go's words; a type mismatch gains its place on the way out of nested decoders."""

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

    def placed(self, at: Place | None) -> DecodeError:
        """The same complaint as the surrounding decoder reports it."""
        fields, struct = _fields(at)
        if self.text or not fields:
            return self
        path = ".".join([*fields, self.path] if self.path else fields)
        return DecodeError(got=self.got, wanted=self.wanted, struct=struct, path=path)


def _fields(at: Place | None) -> tuple[list[str], str]:
    """The struct fields that lead to a place, and the struct of the innermost."""
    names: list[str] = []
    struct = ""
    while at is not None:
        if at.struct:
            names.append(at.key.path if isinstance(at.key, Promoted) else str(at.key))
            struct = struct or at.struct
        at = at.parent
    names.reverse()
    return names, struct


def _dotted(at: Place | None, last: str) -> str:
    keys: list[str | int] = []
    while at is not None:
        keys.append(at.key)
        at = at.parent
    out = ""
    for key in reversed(keys):
        out += f"[{key}]" if isinstance(key, int) else f".{key}" if out else key
    return f"{out}.{last}" if out else last


@dataclass(slots=True)
class Decoding:
    """One run of a decoder: the first type mismatch is kept for the end, unknown fields are noted if asked for."""

    report: bool
    refusal: DecodeError | None = None
    unknown: list[str] = field(default_factory=list)

    def mismatch(self, value: object, wanted: str, at: Place | None, *, literal: bool = False) -> None:
        if self.refusal is None:
            self.refusal = DecodeError(got=described(value, literal), wanted=wanted).placed(at)

    def corrupt(self, text: str) -> None:
        if self.refusal is None:
            self.refusal = DecodeError(text)

    def stranger(self, at: Place | None, key: str) -> None:
        if len(self.unknown) < MOST_UNKNOWN:
            self.unknown.append(_dotted(at, key))


def described(value: object, literal: bool = False) -> str:
    """A value as type mismatches name it; numbers with their digits where those are what is wrong."""
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


def deeper(at: Place | None) -> int:
    """One level further down; there is an end to it."""
    depth = at.depth + 1 if at is not None else 0
    if depth > DEEPEST:
        raise DecodeError("exceeded max depth")
    return depth
