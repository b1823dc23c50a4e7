"""Differences between texts, line by line: aligned for two or three columns, or as a unified diff."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Literal, NamedTuple

Mark = Literal["same", "added", "removed", "changed", "other", "filler"]
_MAX_LINES = 5000
"""Longer texts are not aligned, because the time for it grows with the square of the number of lines."""


class DiffLine(NamedTuple):
    """One line of a column. A filler is an empty line that keeps the columns aligned; its number is 0."""

    number: int
    text: str
    mark: Mark


_FILLER = DiffLine(0, "", "filler")


def align(before: str, converted: str, back: str) -> tuple[list[DiffLine], list[DiffLine], list[DiffLine]]:
    """Align three texts, so that line N of each result is about the same field.

    `back` is compared with `before`: lines are added, removed or changed. `converted` is another representation, so its
    lines that `before` lacks have the mark "other".
    """
    base, middle, last = before.splitlines(), converted.splitlines(), back.splitlines()
    to_middle, to_last = _match(base, middle), _match(base, last)
    out: tuple[list[DiffLine], list[DiffLine], list[DiffLine]] = ([], [], [])
    for at in range(len(base) + 1):
        extra_middle, extra_last = to_middle.extras[at], to_last.extras[at]
        for step in range(max(len(extra_middle), len(extra_last))):
            out[0].append(_FILLER)
            out[1].append(_line(middle, extra_middle[step], "other") if step < len(extra_middle) else _FILLER)
            out[2].append(_line(last, extra_last[step], "added") if step < len(extra_last) else _FILLER)
        if at == len(base):
            break
        other, returned = to_middle.partners[at], to_last.partners[at]
        same = returned is not None and base[at] == last[returned]
        out[0].append(_line(base, at, "same" if same else "removed" if returned is None else "changed"))
        out[1].append(_FILLER if other is None else _line(middle, other, _compare(base[at], middle[other], "other")))
        out[2].append(_FILLER if returned is None else _line(last, returned, "same" if same else "changed"))
    return out


def unified(before: str, after: str, context: int = 3) -> list[DiffLine]:
    """Return the changed lines of a text with some lines of context. A filler stands for skipped lines."""
    old, new = before.splitlines(), after.splitlines()
    out: list[DiffLine] = []
    for group in difflib.SequenceMatcher(None, old, new, autojunk=False).get_grouped_opcodes(context):
        if out or group[0][1]:
            out.append(_FILLER)
        for tag, first, end, new_first, new_end in group:
            if tag == "equal":
                out += [_line(new, at, "same") for at in range(new_first, new_end)]
                continue
            out += [_line(old, at, "removed") for at in range(first, end)]
            out += [_line(new, at, "added") for at in range(new_first, new_end)]
    return out


def _line(lines: Sequence[str], at: int, mark: Mark) -> DiffLine:
    return DiffLine(at + 1, lines[at], mark)


def _compare(left: str, right: str, otherwise: Mark) -> Mark:
    return "same" if left == right else otherwise


class _Matching(NamedTuple):
    partners: list[int | None]
    """For each line of the base, the line of the other text that stands beside it."""
    extras: list[list[int]]
    """For each line of the base and for its end, the lines of the other text that come before it."""


def _match(base: list[str], other: list[str]) -> _Matching:
    out = _Matching([None] * len(base), [[] for _ in range(len(base) + 1)])
    if max(len(base), len(other)) > _MAX_LINES:
        out.partners[: len(other)] = range(min(len(base), len(other)))
        out.extras[-1].extend(range(len(base), len(other)))
        return out
    for _, first, end, other_first, other_end in difflib.SequenceMatcher(
        None, base, other, autojunk=False
    ).get_opcodes():
        paired = min(end - first, other_end - other_first)
        for step in range(paired):
            out.partners[first + step] = other_first + step
        out.extras[end].extend(range(other_first + paired, other_end))
    return out
