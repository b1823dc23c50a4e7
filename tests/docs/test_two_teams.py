"""examples/two-teams/README.md: its commands print what it shows."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.support import pages

EXAMPLE = pages.ROOT / "examples" / "two-teams"


@pytest.mark.skipif(shutil.which("jq") is None, reason="jq is not installed")
@pytest.mark.timeout(120)
def test_example_prints_the_documented_output(tmp_path: Path) -> None:
    folder = tmp_path / "two-teams"
    shutil.copytree(EXAMPLE, folder)
    with pages.shell(folder) as shell:
        for step in pages.steps((EXAMPLE / "README.md").read_text()):
            shell.run(step)
