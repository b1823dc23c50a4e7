"""Links, make targets, decisions and packages that the documentation names exist."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from tests.support.pages import ROOT

PAGES = [
    *ROOT.glob("*.md"),
    *ROOT.glob("docs/**/*.md"),
    *ROOT.glob("examples/*/README.md"),
    ROOT / "benches" / "README.md",
]


def _links(page: Path) -> Iterator[tuple[str, str]]:
    """Yield the path and the anchor of each link to a file of the repository."""
    yield from re.findall(r"\]\(([^)#:\s]*)(?:#([^)\s]+))?\)", page.read_text())


def _anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub and MkDocs build them."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.S | re.M)
    headings = re.findall(r"^#+ (.+)$", text, re.M)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_links_lead_to_existing_files_and_headings() -> None:
    broken = []
    for page in PAGES:
        for target, anchor in _links(page):
            goal = page.parent / target if target else page
            if not goal.exists() or (anchor and goal.suffix == ".md" and anchor not in _anchors(goal)):
                broken.append(f"{page.relative_to(ROOT)} links to {target}#{anchor}")
    assert broken == []


def test_paths_of_documentation_in_code_exist() -> None:
    folders = ("src", "tests", "benches", "tools")
    files = [file for folder in folders for file in (ROOT / folder).rglob("*") if file.suffix in (".py", "")]
    missing = {
        f"{file.relative_to(ROOT)}: {path}"
        for file in files
        if file.is_file() and file.name != Path(__file__).name
        for path in re.findall(r"(?<![\w/.])docs/[\w./-]+\.md\b", file.read_text(errors="ignore"))
        if not (ROOT / path).exists()
    }
    assert missing == set()


def test_make_targets_named_in_docs_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M))
    named = {name for page in PAGES for name in re.findall(r"(?:^|`)make ([a-z-]+)", page.read_text(), re.M)}
    assert {"run", "test"} <= named <= targets


def test_decisions_have_unique_numbers() -> None:
    pages = sorted((ROOT / "docs" / "decisions").glob("[0-9]*.md"))
    numbers = [int(page.name[:4]) for page in pages]
    titles = [int(re.match(r"# (\d+)\. ", page.read_text())[1]) for page in pages]  # type: ignore[index]
    assert titles == numbers
    assert len(set(numbers)) == len(numbers)


def test_architecture_describes_every_package() -> None:
    table = (ROOT / "ARCHITECTURE.md").read_text().partition("## Packages")[2]
    source = ROOT / "src" / "polykind"
    packages = {page.parent for pattern in ("*", "toolkit/*") for page in source.glob(f"{pattern}/__init__.py")}
    described = set(re.findall(r"\]\(src/polykind/([a-z0-9_/]+)\)", table.partition("\n## ")[0]))
    assert described == {str(package.relative_to(source)) for package in packages}
