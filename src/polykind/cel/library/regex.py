"""Regular expressions: RE2, in linear time, with Go's grammar."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Any

import re2

from polykind.cel.evaluation_errors import EvalError
from polykind.golang.regexp import PatternError, compile_pattern, to_re2
from polykind.golang.utf8 import replace_lone_surrogates


@lru_cache(maxsize=256)
def compile_regex(text: str) -> Any:
    """A compiled pattern. Raises PatternError."""
    compile_pattern(text)
    return re2.compile(to_re2(replace_lone_surrogates(text)), re2.ASCII)


def _pattern(text: str, complaint: str) -> Any:
    try:
        return compile_regex(text)
    except PatternError as wrong:
        raise EvalError(f"{complaint}{wrong}") from None


def matches(text: str, expression: str) -> bool:
    return bool(_pattern(expression, "").search(replace_lone_surrogates(text)))


def _find(text: str, expression: str) -> str:
    found = _pattern(expression, "Illegal regex: ").search(replace_lone_surrogates(text))
    return found.group() if found else ""


def _find_all(text: str, expression: str, most: int = -1) -> list[str]:
    text = replace_lone_surrogates(text)
    matches = _pattern(expression, "Illegal regex: ").finditer(text)
    found: list[str] = []
    end = -1
    for start, stop in _apart(matches) if most else ():
        # Nothing is found where something has just ended.
        if stop == start <= end:
            continue
        end = stop
        found.append(text[start:stop])
        if len(found) == most:
            break
    return found


def _apart(matches: Iterable[Any]) -> Iterator[tuple[int, int]]:
    """Where matches begin and end. Those within a character are said to begin behind it: the last that does is real."""
    last: tuple[int, int] | None = None
    for match in matches:
        span = match.span()
        if last is not None and span[0] != last[0]:
            yield last
        last = span
    if last is not None:
        yield last


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "matches": matches,
    "matches_string": matches,
    "string_find_string": _find,
    "string_find_all_string": _find_all,
    "string_find_all_string_int": _find_all,
}
