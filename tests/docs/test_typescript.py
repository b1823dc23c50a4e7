"""The TypeScript example runs, where npm and its registry are available."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "typescript"
INSTALL_SECONDS, TEST_SECONDS = 90, 90


@pytest.mark.skipif(shutil.which("npm") is None, reason="npm is not installed")
@pytest.mark.timeout(INSTALL_SECONDS + TEST_SECONDS + 30)
def test_the_typescript_example_passes(tmp_path: Path) -> None:
    folder = tmp_path / "typescript"
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("node_modules"))
    install = ["npm", "install", "--no-audit", "--no-fund", "--fetch-retries=0"]
    try:
        installed = subprocess.run(install, cwd=folder, capture_output=True, timeout=INSTALL_SECONDS)
    except subprocess.TimeoutExpired:
        pytest.skip("npm install takes too long")
    if installed.returncode != 0:
        pytest.skip(f"npm install fails: {installed.stderr.decode()[-500:]}")
    programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": programs, "TMPDIR": str(tmp_path)}
    tested = subprocess.run(["npm", "test"], cwd=folder, env=environment, capture_output=True, timeout=TEST_SECONDS)
    assert tested.returncode == 0, tested.stdout.decode()
