"""The blocks of the toolkit's guides and of its example run and do what is shown; every public name is documented."""

from __future__ import annotations

import inspect
import re
import shutil
from pathlib import Path

import pytest

import polykind.convert
from polykind.codec import yaml_codec
from polykind.convert import Conversions, put, take
from polykind.declare import rules_file
from polykind.toolkit.hosting.review_response import convert_review
from polykind.toolkit.proving.proofs import PROPERTIES
from tests.support import pages
from tests.support.server import free_port
from tests.toolkit.example import EXAMPLE, importable

GUIDES = pages.ROOT / "docs" / "guides"
PAGES = [GUIDES / f"{name}.md" for name in ("conversions", "hosting", "files", "proving", "rehearsing")]
RULES = pages.ROOT / "docs" / "reference" / "conversion-rules.md"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the example."""
    copy = tmp_path / "example"
    shutil.copytree(EXAMPLE, copy, ignore=shutil.ignore_patterns("__pycache__", ".*", "plain", "converted"))
    return copy


@pytest.mark.parametrize(
    "page", [page for page in PAGES if "```python" in page.read_text()], ids=lambda page: page.stem
)
def test_python_blocks_run(page: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    importable(monkeypatch)
    names: dict[str, object] = {"__name__": page.stem}
    for number, block in enumerate(pages.blocks(page.read_text(), "python")):
        exec(compile(block, f"{page.name}, block {number}", "exec"), names)


def test_rule_blocks_are_valid_rule_files() -> None:
    [block] = pages.blocks((GUIDES / "conversions.md").read_text(), "yaml")
    assert rules_file.parse_rules_file(yaml_codec.decode(block.encode())).versions == ["v1", "v2"]


@pytest.mark.timeout(240)
@pytest.mark.parametrize(
    "page",
    [*(page for page in PAGES if "```console" in page.read_text()), EXAMPLE / "README.md"],
    ids=lambda page: page.stem,
)
def test_commands_print_the_documented_output(page: Path, folder: Path) -> None:
    text = page.read_text()
    for port in sorted(set(re.findall(r"(?:secure-port |127\.0\.0\.1:)(\d{5})\b", text))):
        text = text.replace(port, str(free_port()))
    with pages.shell(folder) as shell:
        for command in pages.commands(text):
            shell.run(command)


def _names_in_code() -> set[str]:
    text = "\n".join(page.read_text() for page in [*PAGES, RULES])
    return set(re.findall(r"\w+", " ".join(re.findall(r"`([^`\n]+)`", text) + pages.blocks(text, "python"))))


def test_public_names_and_arguments_are_documented() -> None:
    said = _names_in_code()
    assert set(polykind.convert.__all__) <= said
    for function in (Conversions, Conversions.step, Conversions.between, put, take, convert_review):
        names = {name for name in inspect.signature(function).parameters if name not in ("self", "rules", "old", "new")}
        names -= {"body", "libraries", "kind"}
        assert names <= said, function
    public = {name for name in vars(Conversions) if not name.startswith("_")}
    assert public - {"convert_in_place", "handles", "versions", "way", "change"} <= said


def test_properties_are_documented() -> None:
    text = (GUIDES / "proving.md").read_text()
    assert [name for name in PROPERTIES if f"`{name}`" not in text] == []
