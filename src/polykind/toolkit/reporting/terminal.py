"""Output in a terminal: colour, tables and a progress bar. In a pipe the same output is plain text.

    console = open_console(args.color)
    print_line(console, Styled("spec.ports", "path"), " is lost")
    print_table(console, Table(["", "v1 to v2"], [["never-fails", Styled("FAILED", "error")]]))
    with progress_bar(args.color) as bar:
        bar.update("v1 to v2", 20, 100)

The library `rich` writes to terminals. It is imported when a console is opened, never by the server.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple, TextIO

from polykind.toolkit.reporting.safe_text import printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, TaskID
    from rich.text import Text as RichText

Color = Literal["auto", "always", "never"]
Style = Literal["", "ok", "error", "warning", "muted", "path", "added", "removed", "changed", "heading"]
_STYLES: dict[str, str] = {
    "ok": "green",
    "error": "bold red",
    "warning": "yellow",
    "muted": "dim",
    "path": "cyan",
    "added": "green",
    "removed": "red",
    "changed": "yellow",
    "heading": "bold",
}
_LOG_WIDTH = 140
"""The width of coloured output that is not a terminal, such as the log of a CI system, if COLUMNS does not say it."""
_UNBOUNDED = 1 << 16
_INTERVAL = 0.1
"""The seconds between two updates of a progress bar."""


class Styled(NamedTuple):
    """A text with a style. A style only adds colour: the text must say everything."""

    text: str
    style: Style = ""


Line = str | Styled | Sequence[str | Styled]
"""One or more texts that are printed side by side."""


@dataclass
class Table:
    """A table. `head` may be empty. The last column takes the remaining width and wraps in a terminal."""

    head: Sequence[Line] = ()
    rows: list[Sequence[Line]] = field(default_factory=list)
    title: str = ""


def uses_color(color: Color, stream: TextIO) -> bool:
    """True if output to a stream has colour. The order is: the flag, NO_COLOR, FORCE_COLOR, the terminal."""
    if color != "auto":
        return color == "always"
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or (_is_terminal(stream) and os.environ.get("TERM") != "dumb")


def open_console(color: Color = "auto", stream: TextIO | None = None) -> Console:
    """Return a console for a stream, by default stdout.

    Lines wrap and tables have borders only on a terminal or with colour. A pipe receives plain, unwrapped text.
    """
    from rich.console import Console
    from rich.theme import Theme

    stream = sys.stdout if stream is None else stream
    colored = uses_color(color, stream)
    return Console(
        file=stream,
        theme=Theme(_STYLES),
        force_terminal=colored or _is_terminal(stream),
        color_system=_color_system() if colored else None,
        no_color=not colored,
        width=_width(stream, colored),
        markup=False,
        highlight=False,
        emoji=False,
    )


def _color_system() -> Literal["standard", "256", "truecolor"]:
    """Return the number of colours that the terminal supports. The styles need 16."""
    return "truecolor" if os.environ.get("COLORTERM") in ("truecolor", "24bit") else "standard"


def _is_terminal(stream: TextIO) -> bool:
    return stream.isatty()


def _width(stream: TextIO, colored: bool) -> int:
    if (columns := os.environ.get("COLUMNS", "")).isdecimal() and int(columns) and (colored or _is_terminal(stream)):
        return int(columns)
    try:
        return os.get_terminal_size(stream.fileno()).columns or _LOG_WIDTH
    except (OSError, ValueError):
        return _LOG_WIDTH if colored else _UNBOUNDED


def print_line(console: Console, *line: str | Styled) -> None:
    """Print texts side by side on one line. A text may contain line breaks."""
    console.print(_rich(line), soft_wrap=True)


def print_lines(console: Console, text: str, style: Style = "", *, indent: int = 0) -> None:
    """Print the lines of a text, each with an indent."""
    for line in text.splitlines():
        print_line(console, Styled(f"{' ' * indent}{line}" if line else "", style))


def print_table(console: Console, table: Table, *, indent: int = 0) -> None:
    """Print a table: with a frame on a terminal, as plain columns in a pipe."""
    if not console.is_terminal:
        for line in plain_table(table):
            print_line(console, f"{' ' * indent}{line}".rstrip())
        return
    from rich import box
    from rich.padding import Padding
    from rich.table import Table as RichTable

    out = RichTable(
        box=box.ROUNDED if table.head else None,
        border_style="muted",
        header_style="heading",
        show_header=bool(table.head),
        title=_rich(table.title) if table.title else None,
        title_justify="left",
        title_style="heading",
        padding=(0, 1),
        pad_edge=bool(table.head),
    )
    columns = max((len(row) for row in [table.head, *table.rows]), default=0)
    for at in range(columns):
        out.add_column(_rich(table.head[at]) if at < len(table.head) else "", overflow="fold", no_wrap=at == 0)
    for row in table.rows:
        out.add_row(*map(_rich, row))
    console.print(Padding(out, (0, 0, 0, indent), expand=False))


def plain_table(table: Table) -> list[str]:
    """Return the lines of a table as plain text, with two blanks between the columns."""
    rows = [[_plain(cell) for cell in row] for row in ([table.head] if table.head else []) + table.rows]
    if not rows:
        return [table.title] if table.title else []
    count = max(map(len, rows))
    widths = [max((len(row[at]) for row in rows if at < len(row)), default=0) for at in range(count)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=False)).rstrip() for row in rows]
    return [table.title, *lines] if table.title else lines


def _texts(line: Line) -> list[Styled]:
    if isinstance(line, str):
        return [Styled(line)]
    if isinstance(line, Styled):
        return [line]
    return [Styled(part) if isinstance(part, str) else part for part in line]


def _plain(line: Line) -> str:
    return "".join(printable(part.text) for part in _texts(line))


def _rich(line: Line) -> RichText:
    from rich.text import Text as RichText

    out = RichText()
    for part in _texts(line):
        out.append(printable(part.text), part.style or None)
    return out


class ProgressBar:
    """A progress bar on stderr, or nothing at all if stderr is not a terminal."""

    def __init__(self, bar: Progress | None = None, task: TaskID | None = None) -> None:
        self._bar = bar
        self._task = task
        self._done = 0.0
        self._next = 0.0

    def update(self, label: str, done: float, total: float | None = None, detail: str = "") -> None:
        """Show how much is done. The bar starts anew if `done` becomes smaller.

        `total` is None if it is not known. `detail` is shown behind the bar, by default `done/total`. The caller may
        call this method for every object: it draws at most ten times a second.
        """
        if self._bar is None or self._task is None:
            return
        if done < self._done:
            self._bar.reset(self._task, total=total)
        elif time.monotonic() < self._next:
            return
        self._done = done
        self._next = time.monotonic() + _INTERVAL
        counts = detail or (f"{done:,.0f}/{total:,.0f}" if total is not None else f"{done:,.0f}")
        self._bar.update(
            self._task, description=printable(label), completed=done, total=total, counts=printable(counts)
        )

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Remove the bar while other text is printed."""
        if self._bar is not None:
            self._bar.stop()
        try:
            yield
        finally:
            if self._bar is not None:
                self._bar.start()


@contextmanager
def progress_bar(color: Color = "auto", stream: TextIO | None = None) -> Iterator[ProgressBar]:
    """Show a progress bar with counts and the time left on stderr until the block ends, then remove it."""
    stream = sys.stderr if stream is None else stream
    if not _is_terminal(stream) or os.environ.get("TERM") == "dumb":
        yield ProgressBar()
        return
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (
        SpinnerColumn(style="path"),
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=40, complete_style="path", finished_style="ok", pulse_style="path"),
        TextColumn("{task.fields[counts]}", markup=False),
        TimeElapsedColumn(),
        TextColumn("left", style="muted"),
        TimeRemainingColumn(compact=True),
    )
    with Progress(*columns, console=open_console(color, stream), transient=True) as bar:
        yield ProgressBar(bar, bar.add_task("", total=None, counts=""))
