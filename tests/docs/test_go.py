"""The Go example passes on the launchers, where a Go toolchain is installed."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from polykind.cli.assets import write_launchers

EXAMPLE = Path(__file__).parents[2] / "examples" / "go"
SECONDS = 300.0
"""A fresh toolchain compiles the standard library first."""


@pytest.mark.skipif(shutil.which("go") is None, reason="Go is not installed")
@pytest.mark.timeout(SECONDS + 30)
def test_the_go_example_passes(tmp_path: Path) -> None:
    write_launchers(tmp_path / "bin")
    # The example has no dependencies. Without a proxy and with the local toolchain, Go downloads nothing.
    environment = {
        **os.environ,
        "KUBEBUILDER_ASSETS": str(tmp_path / "bin"),
        "GOPROXY": "off",
        "GOTOOLCHAIN": "local",
        "CGO_ENABLED": "0",
    }
    command = ["go", "test", "-count=1", "-v", "./..."]
    tested = subprocess.run(command, cwd=EXAMPLE, env=environment, capture_output=True, timeout=SECONDS)
    assert tested.returncode == 0, tested.stdout.decode() + tested.stderr.decode()
    assert b"--- PASS: TestWidgets/invalid_objects_are_rejected" in tested.stdout
