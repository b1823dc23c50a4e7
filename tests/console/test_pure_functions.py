"""The tests of the console's pure functions, which Vitest runs."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

CONSOLE = Path(__file__).parents[2] / "console"


@pytest.mark.skipif(not (CONSOLE / "node_modules").exists(), reason="the console is not built: run make console")
def test_the_pure_functions_of_the_console() -> None:
    npm = shutil.which("npm")
    assert npm is not None
    run = subprocess.run([npm, "test", "--silent"], cwd=CONSOLE, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
