"""The tour with kubectl runs command by command and prints what its page shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import pages
from tests.support.server import ServerProcess

PAGE = (pages.ROOT / "docs" / "guides" / "tour.md").read_text()


def test_tour_starts_with_the_kubeconfig_of_make_run() -> None:
    assert pages.commands(PAGE)[0].line == "export KUBECONFIG=.polykind/admin.kubeconfig"
    assert "polykind serve --data-dir .polykind\n" in (pages.ROOT / "Makefile").read_text()


@pytest.mark.timeout(180)
def test_tour_prints_the_documented_output(tmp_path: Path) -> None:
    (tmp_path / "examples").symlink_to(pages.ROOT / "examples")
    with ServerProcess(tmp_path / ".polykind"), pages.shell(tmp_path) as shell:
        for command in pages.commands(PAGE):
            shell.run(command)
