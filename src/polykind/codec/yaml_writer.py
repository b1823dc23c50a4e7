"""The YAML writer: encodes values as documents with the same format as kube-apiserver's."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cmp_to_key
from itertools import takewhile
from typing import Any

import yaml

from polykind.codec.yaml_scalar import needs_quotes
from polykind.golang.fmt import go_float
from polykind.golang.json import json_float

_FOLDED_WIDTH, _UNFOLDED_WIDTH = 80, 1 << 24


def write(value: Any, *, ordered: bool = False) -> bytes:
    """Return a value as a YAML document. If `ordered` is true, keep the order of keys and do not fold long lines."""
    width = _UNFOLDED_WIDTH if ordered else _FOLDED_WIDTH
    out: str = yaml.emit(_events(value, ordered), Dumper=yaml.CDumper, allow_unicode=True, width=width)
    # libyaml writes "..." after a document that is one scalar. The dots of a string are never at the start of a line,
    # so this removes only libyaml's marker.
    return (out[:-4] if out.endswith("\n...\n") else out).encode(errors="replace")


def _events(root: Any, ordered: bool) -> Iterator[Any]:
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
            for key in reversed(value) if ordered else sorted(value, key=cmp_to_key(_compare_natural), reverse=True):
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
        # kube-apiserver converts through JSON, where an integral float is written as digits and read as an integer.
        text = json_float(value) if value.is_integer() and 0 <= value < 2**64 else go_float(value)
    else:
        text = str(value)
    return yaml.ScalarEvent(None, None, (True, True), text, style=style)


def _compare_natural(one: str, other: str) -> int:
    """Compare two keys: digits by their numeric value (a2 is before a10), and other characters before letters."""
    for i, (a, b) in enumerate(zip(one, other, strict=False)):
        if a == b:
            continue
        if a.isalpha() or b.isalpha():
            return (-1 if a < b else 1) if a.isalpha() and b.isalpha() else (-1 if b.isalpha() else 1)
        leading = 1 if "0" in (a, b) and _leading_digits(one[:i][::-1]).strip("0") else 0
        first, second = _leading_digits(one[i:]), _leading_digits(other[i:])
        pairs = (
            (_wrapping_int(leading, first), _wrapping_int(leading, second)),
            (len(first), len(second)),
            (a, b),
        )
        return next((-1 if x < y else 1 for x, y in pairs if x != y), 0)  # type: ignore[operator]
    return len(one) - len(other)


def _leading_digits(text: str) -> str:
    return "".join(takewhile(str.isdecimal, text))


def _wrapping_int(leading: int, digits: str) -> int:
    """Parse digits with 64-bit overflow, as Go does."""
    value = leading
    for digit in digits:
        value = (value * 10 + int(digit)) & 0xFFFFFFFFFFFFFFFF
    return value - (1 << 64) if value >> 63 else value
