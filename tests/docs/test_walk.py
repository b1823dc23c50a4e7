"""The walk from one version to two and back runs command by command and prints what its README shows."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.support import pages
from tests.support.server import free_port, serving

EXAMPLE = pages.ROOT / "examples" / "crontab-v1-v2"


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


@pytest.mark.timeout(240)
def test_walk_prints_the_documented_output(folder: Path, tmp_path: Path) -> None:
    with serving(tmp_path) as server, pages.shell(folder, {"KUBECONFIG": str(server.kubeconfig)}) as shell:
        for command in pages.commands((folder / "README.md").read_text()):
            shell.run(command)


def test_script_contains_every_command(folder: Path) -> None:
    found = subprocess.run(
        ["sed", "-n", r"/^```console$/,/^```$/s/^\$ //p", str(folder / "README.md")],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    assert found == [command.line for command in pages.commands((folder / "README.md").read_text())]
    assert r"""sed -n '/^```console$/,/^```$/s/^\$ //p' README.md""" in (folder / "walk.sh").read_text()
