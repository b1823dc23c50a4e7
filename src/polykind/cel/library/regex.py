"""The regex library: RE2 regular expressions with Go's syntax. Matching takes linear time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from polykind.cel.evaluation_errors import EvalError
from polykind.golang.regexp import Pattern, PatternError, PatternTooLargeError, compile_pattern
from polykind.golang.utf8 import replace_lone_surrogates

_WORK_PER_CHARACTER = 10
"""The work to check a character of a pattern, in instructions that RE2 compiles in the same time."""
_SMALL_PATTERN = 200
"""Characters of a pattern that is checked before its work is known."""


def compile_work(values: Sequence[Any]) -> int:
    """Return how much a call of a regex function compiles, in RE2 instructions. `values` are the call's arguments."""
    text = values[1]
    if not isinstance(text, str):
        return 0
    if len(text) > _SMALL_PATTERN:
        return len(text) * _WORK_PER_CHARACTER
    try:
        return compile_pattern(text).work
    except PatternError:
        return 0


def _compile(text: str, error_prefix: str) -> Pattern:
    try:
        return compile_pattern(text)
    except PatternError as error:
        raise EvalError(f"{error_prefix}{error}") from None


def _program(text: str) -> Any:
    try:
        return _compile(text, "Illegal regex: ").program
    except PatternTooLargeError as error:
        raise EvalError(str(error)) from None


def matches(text: str, expression: str) -> bool:
    try:
        return _compile(expression, "")(text)
    except PatternTooLargeError as error:
        raise EvalError(str(error)) from None


def _find(text: str, expression: str) -> str:
    match = _program(expression).search(replace_lone_surrogates(text))
    return match.group() if match else ""


def _find_all(text: str, expression: str, limit: int = -1) -> list[str]:
    text = replace_lone_surrogates(text)
    matches = _program(expression).finditer(text)
    results: list[str] = []
    end = -1
    for start, stop in _match_spans(matches) if limit else ():
        # As in Go, skip an empty match directly after another match.
        if stop == start <= end:
            continue
        end = stop
        results.append(text[start:stop])
        if len(results) == limit:
            break
    return results


def _match_spans(matches: Iterable[Any]) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each match.

    RE2 also reports matches inside a multi-byte character as matches at the start of the next character. Of several
    matches with the same start, only the last one is real.
    """
    last: tuple[int, int] | None = None
    for match in matches:
        span = match.span()
        if last is not None and span[0] != last[0]:
            yield last
        last = span
    if last is not None:
        yield last


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "matches matches string string -> bool": matches,
    ".matches matches_string string string -> bool": matches,
    ".find string_find_string string string -> string": _find,
    ".findAll string_find_all_string string string -> list(string)": _find_all,
    ".findAll string_find_all_string_int string string int -> list(string)": _find_all,
}
