"""kr8s works unchanged: discovery, every spelling of a kind, helpers, waits."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.support.server import ServerProcess


@pytest.mark.parametrize("walk", ["discovery", "names", "objects", "namespaces", "builtins"])
def test_kr8s_works_unchanged(server: ServerProcess, crontabs: str, group: str, walk: str) -> None:
    assert crontabs == f"crontabs.{group}"
    command = [sys.executable, "-m", "tests.clients.walk_kr8s", walk, str(server.kubeconfig), group]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
