"""Every Python, YAML, TOML and JSON block of the documentation is valid."""

from __future__ import annotations

import ast
import json
import re
import textwrap
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from tests.support import pages

PAGES = [
    page
    for pattern in ("*.md", "docs/**/*.md", "examples/*/README.md", "deploy/**/*.md")
    for page in sorted(pages.ROOT.glob(pattern))
]
PARSERS: dict[str, Callable[[str], object]] = {
    "python": ast.parse,
    "yaml": lambda text: list(yaml.safe_load_all(text)),
    "toml": tomllib.loads,
    "json": json.loads,
}


@pytest.mark.parametrize("language", PARSERS)
def test_blocks_are_valid(language: str) -> None:
    parse = PARSERS[language]
    invalid = []
    for page in PAGES:
        for number, block in enumerate(pages.blocks(page.read_text(), language)):
            try:
                parse(textwrap.dedent(block))
            except Exception as error:
                invalid.append(f"{_name(page)}, {language} block {number}: {error}")
    assert invalid == []


def _name(page: Path) -> str:
    return str(page.relative_to(pages.ROOT))


def test_every_page_with_commands_and_outputs_is_run_by_a_test() -> None:
    sources = [*Path(__file__).parent.glob("*.py"), pages.ROOT / "tests" / "toolkit" / "example.py"]
    tests = "\n".join(source.read_text() for source in sources)
    shown = [page for page in PAGES if pages.commands(page.read_text())]
    names = {page: page.parent.name if page.name == "README.md" else page.stem for page in shown}
    assert len(names) > 10
    assert [_name(page) for page, name in names.items() if not re.search(rf"\b{re.escape(name)}\b", tests)] == []
