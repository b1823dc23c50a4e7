from __future__ import annotations

import io
import os
import pty
import re

import pytest

from polykind.toolkit.reporting.terminal import (
    Styled,
    Table,
    open_console,
    plain_table,
    print_line,
    print_lines,
    print_table,
    progress_bar,
    uses_color,
)

TABLE = Table(
    ["", "v1 to v2"], [["never-fails", Styled("ok", "ok")], ["order-kept", ["was ", Styled("FAILED", "error")]]]
)


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "COLORTERM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_pipe_receives_plain_unwrapped_text() -> None:
    out = io.StringIO()
    console = open_console(stream=out)
    print_line(console, Styled("spec.ports[0]", "path"), " is lost [bold]", " x" * 200)
    print_table(console, TABLE, indent=2)
    print_lines(console, "a\n\nb", "muted", indent=2)
    lines = out.getvalue().splitlines()
    assert lines[0] == "spec.ports[0] is lost [bold]" + " x" * 200
    assert lines[1:] == ["               v1 to v2", "  never-fails  ok", "  order-kept   was FAILED", "  a", "", "  b"]


def test_terminal_has_colour_and_frames() -> None:
    out = Terminal()
    console = open_console(stream=out)
    print_line(console, Styled("FAILED", "error"))
    print_table(console, TABLE)
    text = out.getvalue()
    assert "\x1b[1;31mFAILED\x1b[0m" in text
    assert "│ never-fails │" in re.sub(r"\x1b\[[\d;]*m", "", text)


@pytest.mark.parametrize(
    ("color", "variables", "terminal", "colored"),
    [
        ("auto", {}, True, True),
        ("auto", {}, False, False),
        ("auto", {"NO_COLOR": "1"}, True, False),
        ("auto", {"NO_COLOR": ""}, True, True),
        ("auto", {"FORCE_COLOR": "1"}, False, True),
        ("auto", {"NO_COLOR": "1", "FORCE_COLOR": "1"}, True, False),
        ("auto", {"TERM": "dumb"}, True, False),
        ("always", {"NO_COLOR": "1"}, False, True),
        ("never", {"FORCE_COLOR": "1"}, True, False),
    ],
)
def test_flag_then_variables_then_terminal_decide_about_colour(
    color: str, variables: dict[str, str], terminal: bool, colored: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    out = Terminal() if terminal else io.StringIO()
    assert uses_color(color, out) is colored  # type: ignore[arg-type]
    print_line(open_console(color, out), Styled("x", "error"))  # type: ignore[arg-type]
    assert ("\x1b[" in out.getvalue()) is colored


def test_forced_colour_has_a_width_for_logs(monkeypatch: pytest.MonkeyPatch) -> None:
    wide = Table(["a", "b"], [["x", "y " * 200]])
    for columns, expected in (("", 140), ("60", 60)):
        monkeypatch.setenv("COLUMNS", columns)
        out = io.StringIO()
        print_table(open_console("always", out), wide)
        assert max(len(re.sub(r"\x1b\[[\d;]*m", "", line)) for line in out.getvalue().splitlines()) == expected


@pytest.mark.parametrize("terminal", [True, False])
def test_control_characters_are_escaped(terminal: bool) -> None:
    out = Terminal() if terminal else io.StringIO()
    console = open_console("never", out)
    print_line(console, "a\x1b]0;title\x07b\u202ec")
    print_table(console, Table(rows=[["\x1b[2J"]]))
    assert "\x1b" not in out.getvalue()
    assert out.getvalue().splitlines()[0] == r"a\x1b]0;title\x07b\u202ec"


def test_plain_table_aligns_columns() -> None:
    assert plain_table(Table(rows=[["a", "b"], ["long", "c"]], title="t")) == ["t", "a     b", "long  c"]
    assert plain_table(Table()) == []


def test_progress_bar_moves_on_a_terminal_only() -> None:
    out = io.StringIO()
    with progress_bar(stream=out) as bar:
        bar.update("v1 to v2", 1, 2)
    assert out.getvalue() == ""
    main, other = pty.openpty()
    with os.fdopen(other, "w") as stream:
        with progress_bar("never", stream) as bar:
            bar.update("v1 to v2", 1, 2000)
            bar._next = 0
            bar.update("v1 to v2", 1500, 2000)
            with bar.paused():
                stream.write("between\n")
        stream.flush()
        text = os.read(main, 100_000).decode()
    os.close(main)
    assert "v1 to v2" in text
    assert "1,500/2,000" in text
    assert "between" in text
