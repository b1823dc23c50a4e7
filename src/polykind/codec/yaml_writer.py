"""A value as YAML, as the reference prints it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cmp_to_key
from typing import Any

import yaml

from polykind.codec.yaml_scalar import needs_quotes
from polykind.golang.fmt import go_float
from polykind.golang.json import json_float

_FOLDED, _UNFOLDED = 80, 1 << 24


def write(value: Any, *, ordered: bool = False) -> bytes:
    """The value as a YAML document; `ordered`: the keys as they come, and no line folded, for files that are kept."""
    width = _UNFOLDED if ordered else _FOLDED
    out: str = yaml.emit(_events(value, ordered), Dumper=yaml.CDumper, allow_unicode=True, width=width)
    # The end of a document is marked behind a lone scalar; a text may end in such dots, but never begins a line.
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
            for key in reversed(value) if ordered else sorted(value, key=cmp_to_key(_natural), reverse=True):
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
        text = json_float(value) if value.is_integer() and 0 <= value < 2**64 else go_float(value)
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
