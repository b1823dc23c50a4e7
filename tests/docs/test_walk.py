"""The walk from one version to two and back runs command by command and prints what its README shows."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.support.server import ServerProcess, free_port, serving

EXAMPLE = Path(__file__).parents[2] / "examples" / "crontab-v1-v2"


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A copy of the example. Its webhook uses a free port and stops with the test."""
    copy, port = tmp_path / "example", str(free_port())
    shutil.copytree(EXAMPLE, copy, ignore=shutil.ignore_patterns("*.crt", "*.key", "*.log", "*.pid"))
    for path in [*copy.glob("*.yaml"), copy / "README.md"]:
        path.write_text(path.read_text().replace("9443", port))
    yield copy
    with suppress(FileNotFoundError, ProcessLookupError):
        os.kill(int((copy / "webhook.pid").read_text()), signal.SIGKILL)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ServerProcess]:
    with serving(tmp_path) as process:
        yield process


def steps(readme: str) -> list[tuple[str, str]]:
    """Return each command with the output shown below it."""
    blocks = re.findall(r"```console\n(.*?)```", readme, re.S)
    parts = [part for block in blocks for part in re.split(r"^\$ ", block, flags=re.M)[1:]]
    return [(command, shown) for command, _, shown in (part.partition("\n") for part in parts)]


def columns(text: str) -> list[list[str]]:
    return [re.split(r" {2,}", line.strip()) for line in text.splitlines() if line.strip()]


@pytest.mark.timeout(240)
def test_walk_prints_the_documented_output(folder: Path, server: ServerProcess, tmp_path: Path) -> None:
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "KUBECONFIG": str(server.kubeconfig)}
    for command, shown in steps((folder / "README.md").read_text()):
        done = subprocess.run(
            ["bash", "-c", command], cwd=folder, env=env, capture_output=True, text=True, timeout=60, check=False
        )
        printed = re.sub(r"(?m)^Warning: .*\n", "", done.stdout + done.stderr)
        assert columns(_without_namespace(printed)) == columns(shown), f"$ {command}\n{printed}\n{server.tail()}"


def _without_namespace(printed: str) -> str:
    """Remove the namespace from the output: newer clients print which namespace they deleted from."""
    return re.sub(r"deleted from \S+ namespace", "deleted", printed)


def test_script_contains_every_command(folder: Path) -> None:
    readme = (folder / "README.md").read_text()
    found = subprocess.run(
        ["sed", "-n", r"/^```console$/,/^```$/s/^\$ //p", str(folder / "README.md")],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    assert found == [command for command, _ in steps(readme)]
    assert r"""sed -n '/^```console$/,/^```$/s/^\$ //p' README.md""" in (folder / "walk.sh").read_text()
