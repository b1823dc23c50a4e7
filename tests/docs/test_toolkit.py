"""Every block of the toolkit page and its example runs and does what is shown; every public name is documented."""

from __future__ import annotations

import inspect
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import polykind.convert
from polykind.codec import yaml_codec
from polykind.convert import Conversions, put, take
from polykind.toolkit.declare import rules_file
from polykind.toolkit.hosting.review_response import convert_review
from tests.support.server import free_port
from tests.toolkit.example import EXAMPLE, importable

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "toolkit.md"
PATIENCE = 30.0


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", page.read_text(), re.S | re.M)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the example."""
    copy = tmp_path / "example"
    shutil.copytree(EXAMPLE, copy, ignore=shutil.ignore_patterns("__pycache__", ".*", "plain", "converted"))
    return copy


def test_python_blocks_run(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = blocks(PAGE, "python")
    assert found
    monkeypatch.chdir(folder)
    importable(monkeypatch)
    names: dict[str, object] = {"__name__": "toolkit"}
    for number, block in enumerate(found):
        exec(compile(block, f"toolkit.md, block {number}", "exec"), names)


def test_rule_blocks_are_valid_rule_files() -> None:
    [block] = blocks(PAGE, "yaml")
    assert rules_file.parse_rules_file(yaml_codec.decode(block.encode())).versions == ["v1", "v2"]


class Shell:
    """Run the commands of a page in order. A command that ends with & runs in the background."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.env = {
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "HOME": str(folder),
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        self.running: list[subprocess.Popen[bytes]] = []

    def run(self, command: str, shown: str) -> None:
        if command.startswith("export "):
            name, _, value = command.removeprefix("export ").partition("=")
            self.env[name] = value
        elif command.endswith(" &"):
            self._begin(command.removesuffix(" &"), shown)
        else:
            done = subprocess.run(
                ["bash", "-c", command],
                cwd=self.folder,
                env=self.env,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=100,
                check=False,
            )
            printed = re.sub(r"(?m)^Warning: .*\n", "", done.stdout)
            assert pattern(shown).fullmatch(_ended(printed)), f"$ {command}\n{printed}"

    def _begin(self, command: str, shown: str) -> None:
        out, log = (self.folder / f"{len(self.running)}.{name}" for name in ("out", "log"))
        with out.open("wb") as stdout, log.open("wb") as stderr:
            process = subprocess.Popen(
                ["bash", "-c", f"exec {command}"], cwd=self.folder, env=self.env, stdout=stdout, stderr=stderr
            )
        self.running.append(process)
        deadline = time.monotonic() + PATIENCE
        while not pattern(shown).fullmatch(_ended(out.read_text())):
            if process.poll() is not None or time.monotonic() > deadline:
                raise AssertionError(f"$ {command}\n{out.read_text()}{log.read_text()}")
            time.sleep(0.02)

    def stop(self) -> None:
        for process in reversed(self.running):
            process.send_signal(signal.SIGTERM)
        for process in self.running:
            process.wait(PATIENCE)


@pytest.fixture
def shell(folder: Path) -> Iterator[Shell]:
    out = Shell(folder)
    yield out
    out.stop()


def _ended(text: str) -> str:
    return text if text.endswith("\n") or not text else text + "\n"


def pattern(shown: str) -> re.Pattern[str]:
    """Return the pattern for an output. `...` stands for any text, and blanks and counts may differ."""
    lines = []
    for line in shown.splitlines():
        if line == "...":
            lines.append(r"(?:.*\n)*?")
            continue
        words = [re.escape(word).replace(r"\.\.\.", ".*") for word in line.split()]
        words = [re.sub(r"^[\d.\\]+s$", r"[\\d.]+s", word) for word in words]
        if line.endswith("s") and " passed in " in line:
            words[0] = r"\d+"
        lines.append(r"\s*" + r"\s+".join(words) + r"[ \t]*\n")
    return re.compile("".join(lines))


def steps(text: str) -> list[tuple[str, str]]:
    """Return each command with the output shown below it."""
    found = re.findall(r"^```console\n(.*?)^```$", text, re.S | re.M)
    parts = [part for block in found for part in re.split(r"^\$ ", block, flags=re.M)[1:]]
    return [(command, shown) for command, _, shown in (part.partition("\n") for part in parts)]


@pytest.mark.timeout(240)
@pytest.mark.parametrize("page", [PAGE, EXAMPLE / "README.md"], ids=["toolkit", "example"])
def test_commands_print_the_documented_output(page: Path, shell: Shell) -> None:
    text = page.read_text()
    for port in sorted(set(re.findall(r"(?:secure-port |127\.0\.0\.1:)(\d{5})\b", text))):
        text = text.replace(port, str(free_port()))
    commands = steps(text)
    assert commands
    for command, shown in commands:
        shell.run(command, shown)


def test_public_names_and_arguments_are_documented() -> None:
    text = PAGE.read_text()
    said = set(re.findall(r"\w+", " ".join(re.findall(r"`([^`\n]+)`", text) + blocks(PAGE, "python"))))
    assert set(polykind.convert.__all__) <= said
    for function in (Conversions, Conversions.step, Conversions.between, put, take, convert_review):
        names = {name for name in inspect.signature(function).parameters if name not in ("self", "rules", "old", "new")}
        names -= {"body", "libraries", "kind"}
        assert names <= said, function
    public = {name for name in vars(Conversions) if not name.startswith("_")}
    assert public - {"convert_in_place", "handles", "versions", "way", "change"} <= said


def test_properties_are_documented() -> None:
    from polykind.toolkit.proving.proofs import PROPERTIES

    text = PAGE.read_text()
    assert [name for name in PROPERTIES if f"`{name}`" not in text] == []


@pytest.mark.parametrize("page", [PAGE, EXAMPLE / "README.md"], ids=["toolkit", "example"])
def test_links_lead_to_existing_files(page: Path) -> None:
    text = page.read_text()
    for target in re.findall(r"\]\(([^)#:]+)\)", text):
        assert (page.parent / target).exists(), target
    headings = {
        re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in re.findall(r"^#+ (.+)$", text, re.M)
    }
    assert set(re.findall(r"\]\(#([^)]+)\)", text)) <= headings
