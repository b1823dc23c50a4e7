"""The tutorials are followed from top to bottom: files are saved, commands run, and outputs compared."""

from __future__ import annotations

import os
import re
import shutil
import tomllib
from pathlib import Path

import pytest

from polykind.cli.assets import write_launchers
from tests.support import pages

TUTORIALS = pages.ROOT / "docs" / "tutorials"
SECONDS = 240


@pytest.mark.timeout(SECONDS)
@pytest.mark.parametrize("name", ["crd-author", "kopf", "platform"])
def test_tutorial_prints_the_documented_output(name: str, tmp_path: Path) -> None:
    with pages.shell(tmp_path) as shell:
        for step in pages.steps((TUTORIALS / f"{name}.md").read_text()):
            shell.run(step)


@pytest.mark.skipif(shutil.which("go") is None, reason="Go is not installed")
@pytest.mark.timeout(SECONDS + 60)
def test_go_tutorial_prints_the_documented_output(tmp_path: Path) -> None:
    folder = tmp_path / "go"
    shutil.copytree(pages.ROOT / "examples" / "go", folder)
    # The example has no dependencies. Without a proxy and with the local toolchain, Go downloads nothing. A fresh
    # toolchain compiles the standard library first, and keeps it in its cache.
    cache = os.environ.get("GOCACHE", str(Path.home() / ".cache" / "go-build"))
    offline = {"GOPROXY": "off", "GOTOOLCHAIN": "local", "CGO_ENABLED": "0", "GOCACHE": cache}
    with pages.shell(folder, offline, seconds=SECONDS) as shell:
        for step in pages.steps((TUTORIALS / "go.md").read_text()):
            shell.run(step)


def test_go_tutorial_names_the_launchers(tmp_path: Path) -> None:
    write_launchers(tmp_path / "bin")
    shown = next(command.shown for command in pages.commands((TUTORIALS / "go.md").read_text()) if "ls" in command.line)
    assert pages.pattern(shown).fullmatch("".join(f"{path.name}\n" for path in sorted((tmp_path / "bin").iterdir())))


def test_every_tutorial_is_run_and_names_its_prerequisites() -> None:
    names = {page.stem for page in TUTORIALS.glob("*.md")} - {"index"}
    assert names == {"crd-author", "kopf", "platform", "go", "operator"}
    for name in names:
        assert "install" in (TUTORIALS / f"{name}.md").read_text().partition("\n## ")[0], name


def test_extras_of_the_install_command_exist() -> None:
    project = tomllib.loads((pages.ROOT / "pyproject.toml").read_text())["project"]
    used = set(re.findall(r'"\.\[(\w+)\]"', (TUTORIALS / "index.md").read_text()))
    assert used
    assert used <= set(project["optional-dependencies"])
