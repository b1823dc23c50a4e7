"""Documentation pages as programs: write their files, run their commands in order, and compare what they print.

A page is run from top to bottom, as a reader follows it:

- A code block whose first line is a comment with a path (`# crds/website.yaml`, `// main_test.go`) becomes that file.
- A `console` block holds commands after `$ `, continued after `> `, each with the output that the page shows for it.
  A command that ends with ` &` runs in the background, and the page goes on when it has printed what is shown.

In a shown output, a line `...` stands for any lines, and `...` within a line for any text. Blanks, ages and durations
may differ.
"""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.support.server import free_port

ROOT = Path(__file__).parents[2]
_SECONDS = 100.0
_BLOCK = re.compile(r"^```(?P<language>\w*)[^\n]*\n(?P<text>.*?)^```$", re.S | re.M)
_FILE = re.compile(r"(?:#|//) (?P<name>[\w./-]+\.\w+)\n(?P<text>.*)", re.S)


@dataclass(frozen=True)
class File:
    """A file that the reader saves."""

    name: str
    text: str


@dataclass(frozen=True)
class Command:
    """A command that the reader enters, and the output that the page shows."""

    line: str
    shown: str


def blocks(text: str, language: str) -> list[str]:
    """Return the code blocks of a page that are written in a language."""
    return [found["text"] for found in _BLOCK.finditer(text) if found["language"] == language]


def steps(text: str) -> list[File | Command]:
    """Return the files and commands of a page in its order."""
    return list(_steps(text))


def commands(text: str) -> list[Command]:
    """Return the commands of a page in its order."""
    return [step for step in _steps(text) if isinstance(step, Command)]


def files(text: str) -> dict[str, str]:
    """Return the files of a page by their names."""
    return {step.name: step.text for step in _steps(text) if isinstance(step, File)}


def _steps(text: str) -> Iterator[File | Command]:
    for block in _BLOCK.finditer(text):
        if block["language"] != "console":
            if found := _FILE.match(block["text"]):
                yield File(found["name"], found["text"])
            continue
        for part in re.split(r"^\$ ", block["text"], flags=re.M)[1:]:
            lines = part.split("\n")
            more = next((n for n, line in enumerate(lines[1:], 1) if not line.startswith("> ")), len(lines))
            entered = [lines[0], *(line.removeprefix("> ") for line in lines[1:more])]
            yield Command("\n".join(entered), "\n".join(lines[more:]))


def pattern(shown: str) -> re.Pattern[str]:
    """Return the pattern that an output must match."""
    lines = []
    for line in shown.splitlines():
        if line.strip() == "...":
            lines.append(r"(?:.*\n)*?")
        else:
            lines.append(r"[ \t]*" + r"[ \t]+".join(_word(word) for word in line.split()) + r"[ \t]*\n")
    return re.compile("".join(lines))


def _word(word: str) -> str:
    if re.fullmatch(r"(\d+m)?[\d.]+s", word):
        return r"(?:\d+m)?[\d.]+m?s?"
    return re.escape(word).replace(r"\.\.\.", ".*")


def _normalized(printed: str) -> str:
    """Return an output without what varies between machines.

    These are warnings, colours, the address of the console, which a server without npm's build does not have, and the
    namespace from which newer clients say that they delete.
    """
    printed = re.sub(r"(?m)^Console: .*\n", "", printed)
    printed = re.sub(r"\x1b\[[\d;]*m", "", re.sub(r"(?m)^Warning: .*\n", "", printed))
    printed = re.sub(r"deleted from \S+ namespace", "deleted", printed)
    return printed if printed.endswith("\n") or not printed else printed + "\n"


class Shell:
    """One Bash for all commands of a page, in its folder. `polykind` is the one of this environment."""

    def __init__(self, folder: Path, environment: Mapping[str, str], seconds: float) -> None:
        self._folder, self._log, self._seconds = folder, folder / ".shell", seconds
        self._log.mkdir()
        programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        env = {"PATH": programs, "HOME": str(folder), "TERM": "dumb", "PYTHONDONTWRITEBYTECODE": "1"}
        env |= {"PYTEST_ADDOPTS": "-p no:asyncio", **environment}
        self._bash = subprocess.Popen(
            ["bash", "--norc"], cwd=folder, env=env, stdin=subprocess.PIPE, text=True, start_new_session=True
        )
        self._count = 0
        self._port = free_port()

    def run(self, step: File | Command) -> None:
        """Save a file, or run a command and compare its output."""
        if isinstance(step, File):
            path = self._folder / step.name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(step.text)
        else:
            self._enter(*(self._on_a_free_port(text) for text in (step.line, step.shown)))

    def _on_a_free_port(self, text: str) -> str:
        """Return a text with another port than 6443, because several pages are tested at once."""
        serve = f"polykind serve --secure-port {self._port}"
        return re.sub(r"polykind serve(?!.*--secure-port)", serve, text).replace(":6443", f":{self._port}")

    def _enter(self, line: str, shown: str) -> None:
        self._count += 1
        out, log, code = (self._log / f"{self._count}.{end}" for end in ("out", "log", "code"))
        waits = not line.endswith(" &")
        if waits:
            entered = f"{{ {line}\n}} > {shlex.quote(str(out))} 2>&1 < /dev/null"
        else:
            # A command in the background is a job, so that a page can stop it with kill %1.
            entered = f"{line[:-2]} > {shlex.quote(str(out))} 2> {shlex.quote(str(log))} < /dev/null &"
        assert self._bash.stdin is not None
        self._bash.stdin.write(f"{entered}\necho $? > {shlex.quote(str(code))}\n")
        self._bash.stdin.flush()
        expected = pattern(re.sub(r"(?m)^Console: .*\n", "", shown))
        deadline = time.monotonic() + self._seconds
        while True:
            ended = code.exists() and code.read_text().endswith("\n")
            printed = _normalized(out.read_text(errors="replace")) if out.exists() else ""
            matches = expected.fullmatch(printed) is not None
            if ended and (matches or waits):
                break
            assert time.monotonic() < deadline, f"$ {line}\n{printed}{log.read_text() if log.exists() else ''}"
            time.sleep(0.01)
        assert matches, f"$ {line}\n{printed}\nthe page shows:\n{shown}"

    def stop(self) -> None:
        """End the shell and everything that it started."""
        assert self._bash.stdin is not None
        self._bash.stdin.write("kill $(jobs -p) 2> /dev/null; wait; exit\n")
        self._bash.stdin.close()
        try:
            self._bash.wait(_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(self._bash.pid, signal.SIGKILL)
            self._bash.wait()


@contextmanager
def shell(folder: Path, environment: Mapping[str, str] | None = None, *, seconds: float = _SECONDS) -> Iterator[Shell]:
    """Open a shell in a folder, and end it with everything that it started. `seconds` limits each command."""
    out = Shell(folder, environment or {}, seconds)
    try:
        yield out
    finally:
        out.stop()
