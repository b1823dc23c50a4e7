"""The text of an expression, its places, and what is wrong with it, told as the reference tells it."""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple

_MOST_PROBLEMS = 100
_LONGEST_SNIPPET = 16384
UNPARSED = -2
"""The place of what could not be read: before the text."""


class SourceError(NamedTuple):
    """One complaint about a place of the text; an `offset` below zero is no place in it."""

    offset: int
    message: str


class Source:
    """An expression's text with the problems found in it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.errors: list[SourceError] = []
        self.unrecognized_spans: list[tuple[int, int]] = []
        """Where there is text that is no token."""
        self._starts = [0, *(at + 1 for at, char in enumerate(text) if char == "\n")]

    def report(self, offset: int, message: str) -> None:
        self.errors.append(SourceError(offset, message))

    def location(self, offset: int) -> tuple[int, int]:
        """Line, from one, and column, from zero."""
        if offset < 0:
            return (1, -1) if offset == UNPARSED else (-1, -1)
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1]

    def error_text(self) -> str:
        """All problems in the order of their places, each with its line and a mark below it."""
        placed = sorted(
            ((self.location(p.offset), p.message) for p in self.errors[:_MOST_PROBLEMS]), key=lambda x: x[0]
        )
        texts = [self._shown(line, column, message) for (line, column), message in placed]
        if len(self.errors) > _MOST_PROBLEMS:
            texts.append(f"{len(self.errors) - _MOST_PROBLEMS} more errors were truncated")
        return "\n".join(texts)

    def _shown(self, line: int, column: int, message: str) -> str:
        head = f"ERROR: <input>:{line}:{column + 1}: {message}"
        if line < 1:
            return head
        start = self._starts[line - 1]
        end = self._starts[line] - 1 if line < len(self._starts) else len(self.text)
        snippet = self.text[start:end].replace("\t", " ")
        if len(snippet.encode("utf-8", "replace")) > _LONGEST_SNIPPET:
            return head
        dots = "".join("." if char.isascii() else "．" for char in snippet[: max(column, 0)])
        marked = snippet[column : column + 1] if column >= 0 else ""
        return f"{head}\n | {snippet}\n | {dots}{'^' if marked.isascii() else '＾'}"
