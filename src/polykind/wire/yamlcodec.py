"""YAML bodies to values and back, as the reference reads and prints them.

A body is read event by event, so that neither its depth nor its aliases can cost more than is allowed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cmp_to_key
from itertools import pairwise
from typing import Any, Final

import yaml

from polykind.gotext import json_float
from polykind.wire import codec
from polykind.wire.yamlbuilder import Builder, MalformedYAML
from polykind.wire.yamlscalar import general, needs_quotes

__all__ = ["STRICT_PREFIX", "MalformedYAML", "decode", "decode_strict", "encode", "strict_error"]

STRICT_PREFIX: Final = "yaml: unmarshal errors:\n  "

# JSON that YAML refuses or reads in another way: escaped solidi and surrogates; raw controls, breaks and marks.
_NOT_AS_JSON: Final = re.compile(
    rb"\\(?:/|u[dD][89a-fA-F])|\x7f|\xc2[\x80-\x9f]|\xe2\x80[\xa8\xa9]|\xef(?:\xbb\xbf|\xbf[\xbe\xbf])"
)
_before_colons: Final = re.compile(rb'"(\s+):').findall
_UNQUOTED: Final = bytes(b if b == 0x22 else 0x20 for b in range(256))
_LONG: Final = b" " * 1000
"""What with quotes, and blanks before the colon, may be longer than the 1024 characters of a key."""
_SOLIDUS: Final = re.compile(rb"(?<!\\)((?:\\\\)*)\\/")


def decode(body: bytes) -> Any:
    """The value of the first document; None if there is none. Raises MalformedYAML."""
    return decode_strict(body)[0]


def decode_strict(body: bytes) -> tuple[Any, list[str]]:
    """The value, and a complaint such as `line 3: key "x" already set in map` for each key that is repeated."""
    if body[:1] == b"{" and _NOT_AS_JSON.search(body) is None and not _spread_keys(body):
        try:
            value = codec.decode(body)
            if not codec.duplicate_keys(body, value):
                return value, []
        except codec.Malformed:
            pass
    if b"\\/" in body:
        _refuse_solidus(body)
    parser = yaml.CSafeLoader(body or b"\n")
    try:
        return Builder().build(parser)
    except yaml.MarkedYAMLError as error:
        raise MalformedYAML(_syntax(error)) from None
    except yaml.reader.ReaderError as error:
        raise MalformedYAML(f"yaml: {error.reason}") from None
    finally:
        parser.dispose()


def _spread_keys(body: bytes) -> bool:
    """Whether keys may be too long for YAML, or on another line than their colons."""
    lines = b"\n" in body or b"\r" in body
    if lines and any(b"\n" in blanks or b"\r" in blanks for blanks in _before_colons(body)):
        return True
    if len(body) <= len(_LONG) or _LONG not in body.translate(_UNQUOTED):
        return False
    pieces = body.split(b'"')
    return any(len(piece) >= len(_LONG) and after.lstrip()[:1] == b":" for piece, after in pairwise(pieces))


def strict_error(complaints: list[str]) -> str:
    """The complaints of a strict reading as one error."""
    return STRICT_PREFIX + "\n  ".join(complaints)


def _refuse_solidus(body: bytes) -> None:
    """Refuse a solidus that is escaped between double quotes: our parser takes it, the reference's does not."""
    parser = yaml.CSafeLoader(_SOLIDUS.sub(rb"\1\\q", body))
    try:
        while parser.get_event() is not None:
            pass
    except yaml.MarkedYAMLError as error:
        if error.problem == "found unknown escape character":
            raise MalformedYAML(_syntax(error)) from None
    except yaml.reader.ReaderError:
        # The body itself is refused for the same.
        pass
    finally:
        parser.dispose()


def _syntax(error: yaml.MarkedYAMLError) -> str:
    """The parser's complaint, with the line as the reference counts it: one too low unless its scanner complains."""
    line = 0
    if error.problem_mark is not None and error.problem_mark.line:
        line = error.problem_mark.line + isinstance(error, yaml.scanner.ScannerError)
    elif error.context_mark is not None:
        line = error.context_mark.line
    return f"yaml: line {line}: {error.problem}" if line else f"yaml: {error.problem}"


def encode(value: Any) -> bytes:
    """The value as a YAML document: keys in natural order, texts quoted where they would be read as something else."""
    out: str = yaml.emit(_events(value), Dumper=yaml.CDumper, allow_unicode=True, width=80)
    return out.removesuffix("...\n").encode(errors="replace")


def _events(root: Any) -> Iterator[Any]:
    yield yaml.StreamStartEvent(encoding=None)
    yield yaml.DocumentStartEvent(explicit=False)
    stack: list[Any] = [root]
    while stack:
        value = stack.pop()
        if isinstance(value, yaml.Event):
            yield value
        elif isinstance(value, dict):
            yield yaml.MappingStartEvent(None, None, True, flow_style=False)
            stack.append(yaml.MappingEndEvent())
            for key in sorted(value, key=cmp_to_key(_natural), reverse=True):
                stack += (value[key], key)
        elif isinstance(value, list):
            yield yaml.SequenceStartEvent(None, None, True, flow_style=False)
            stack.append(yaml.SequenceEndEvent())
            stack.extend(reversed(value))
        else:
            yield _scalar_event(value)
    yield yaml.DocumentEndEvent(explicit=False)
    yield yaml.StreamEndEvent()


def _scalar_event(value: Any) -> Any:
    style = None
    if isinstance(value, str):
        text = value
        if "\n" in text:
            style = "|"
        elif needs_quotes(text):
            style = '"'
    elif isinstance(value, bool):
        text = "true" if value else "false"
    elif value is None:
        text = "null"
    elif isinstance(value, float):
        # The reference goes by way of JSON, where such a number is all digits: they are read as an integer again.
        text = json_float(value) if value.is_integer() and 0 <= value < 2**64 else general(value)
    else:
        text = str(value)
    return yaml.ScalarEvent(None, None, (True, True), text, style=style)


def _natural(one: str, other: str) -> int:
    """Which key comes first: digits by the number they make, other signs before letters."""
    for i, (a, b) in enumerate(zip(one, other, strict=False)):
        if a == b:
            continue
        if a.isalpha() or b.isalpha():
            return (-1 if a < b else 1) if a.isalpha() and b.isalpha() else (-1 if b.isalpha() else 1)
        lead = 1 if "0" in (a, b) and _digits(one[:i][::-1])[0].strip("0") else 0
        first, second = _digits(one[i:])[0], _digits(other[i:])[0]
        pairs = (
            (_number(lead, first), _number(lead, second)),
            (len(first), len(second)),
            (a, b),
        )
        return next((-1 if x < y else 1 for x, y in pairs if x != y), 0)  # type: ignore[operator]
    return len(one) - len(other)


def _digits(text: str) -> re.Match[str]:
    found = re.match(r"\d*", text)
    assert found is not None
    return found


def _number(lead: int, digits: str) -> int:
    """As the reference counts, in 64 bits."""
    value = lead
    for digit in digits:
        value = (value * 10 + int(digit)) & 0xFFFFFFFFFFFFFFFF
    return value - (1 << 64) if value >> 63 else value
