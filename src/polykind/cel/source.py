"""The text of an expression and the errors found in it, formatted as cel-go formats them."""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple

from polykind.golang.utf8 import byte_length

_MAX_ERRORS = 100
_MAX_SNIPPET_BYTES = 16384
UNPARSED = -2
"""Offset of an expression that could not be parsed. cel-go reports its errors at column 0 of line 1."""


class SourceError(NamedTuple):
    """An error at an offset of the source text. The offset is negative if the error has no position in the text."""

    offset: int
    message: str


class Source:
    """The text of an expression and the errors found in it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.errors: list[SourceError] = []
        self.unrecognized_spans: list[tuple[int, int]] = []
        """Start and end of each piece of text that is not a token."""
        self._line_starts = [0, *(offset + 1 for offset, char in enumerate(text) if char == "\n")]

    def report(self, offset: int, message: str) -> None:
        self.errors.append(SourceError(offset, message))

    def location(self, offset: int) -> tuple[int, int]:
        """Return the line and column of an offset. Lines start at 1 and columns at 0."""
        if offset < 0:
            return (1, -1) if offset == UNPARSED else (-1, -1)
        line = bisect_right(self._line_starts, offset)
        return line, offset - self._line_starts[line - 1]

    def error_text(self) -> str:
        """Return all errors sorted by location, each with its source line and a caret below the column."""
        located = sorted(((self.location(e.offset), e.message) for e in self.errors[:_MAX_ERRORS]), key=lambda x: x[0])
        texts = [self._format(line, column, message) for (line, column), message in located]
        if len(self.errors) > _MAX_ERRORS:
            texts.append(f"{len(self.errors) - _MAX_ERRORS} more errors were truncated")
        return "\n".join(texts)

    def _format(self, line: int, column: int, message: str) -> str:
        if not self.text:
            # cel-go has no location for an error in an empty expression.
            return f"ERROR: <input>:1:0: {message}"
        head = f"ERROR: <input>:{line}:{column + 1}: {message}"
        if line < 1:
            return head
        start = self._line_starts[line - 1]
        end = self._line_starts[line] - 1 if line < len(self._line_starts) else len(self.text)
        snippet = self.text[start:end].replace("\t", " ")
        if byte_length(snippet) > _MAX_SNIPPET_BYTES:
            return head
        dots = "".join("." if char.isascii() else "．" for char in snippet[: max(column, 0)])
        marked = snippet[column : column + 1] if column >= 0 else ""
        return f"{head}\n | {snippet}\n | {dots}{'^' if marked.isascii() else '＾'}"
