"""The regex library: RE2 regular expressions with Go's syntax. Matching takes linear time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import re2

from polykind.bounded_cache import remember
from polykind.cel.evaluation_errors import EvalError
from polykind.golang.regexp import PatternError, compile_pattern, memory_limit, to_re2
from polykind.golang.utf8 import replace_lone_surrogates

_COMPILED_BYTES = 32 * 1024 * 1024
"""The memory of all patterns that are kept. Most take a quarter of a megabyte at most."""


@remember(_COMPILED_BYTES, cost=lambda compiled: memory_limit(compiled.pattern))
def compile_regex(text: str) -> Any:
    """Compile a regular expression. Raise PatternError if the pattern is invalid."""
    compile_pattern(text)
    translated = to_re2(replace_lone_surrogates(text))
    return re2.compile(translated, re2.ASCII, max_mem=memory_limit(translated))


def _compile(text: str, error_prefix: str) -> Any:
    try:
        return compile_regex(text)
    except PatternError as error:
        raise EvalError(f"{error_prefix}{error}") from None


def matches(text: str, expression: str) -> bool:
    return bool(_compile(expression, "").search(replace_lone_surrogates(text)))


def _find(text: str, expression: str) -> str:
    match = _compile(expression, "Illegal regex: ").search(replace_lone_surrogates(text))
    return match.group() if match else ""


def _find_all(text: str, expression: str, limit: int = -1) -> list[str]:
    text = replace_lone_surrogates(text)
    matches = _compile(expression, "Illegal regex: ").finditer(text)
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
