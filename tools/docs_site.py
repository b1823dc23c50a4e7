"""MkDocs hooks: pages from outside of docs/, links to files of the repository, decisions, the colours of reports."""

from __future__ import annotations

import os
import re
from pathlib import Path, PurePosixPath
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]
DESIGN = ROOT / "src" / "polykind" / "toolkit" / "reporting" / "design.css"
ICON = ROOT / "console" / "src" / "icon.svg"
OUTSIDE = {
    "ARCHITECTURE.md": ("explanation/architecture.md", "Explanation", "Architecture"),
    "benches/README.md": ("reference/benchmarks.md", "Reference", "Benchmarks"),
    "tests/conformance/README.md": ("explanation/conformance.md", "Explanation", "Conformance scenarios"),
    "deploy/README.md": ("guides/deploy.md", "Run a server", "Files to deploy"),
    "CONTRIBUTING.md": ("project/contributing.md", "Project", "Contributing"),
    "SECURITY.md": ("project/security.md", "Project", "Security"),
    "CHANGELOG.md": ("project/changelog.md", "Project", "Changelog"),
    **{
        f"examples/{path.parent.name}/README.md": (f"examples/{path.parent.name}.md", "Examples", path.parent.name)
        for path in sorted((ROOT / "examples").glob("*/README.md"))
    },
}
"""Pages outside of docs/: where the site has them, the section of the navigation, and the title in it."""
_SECTIONS = {"guides": "Guides", "tutorials": "Tutorials", "reference": "Reference", "explanation": "Explanation"}
_LINK = re.compile(r"(?P<image>!?)\[(?P<text>(?:[^\[\]]|\[[^\]]*\])*)\]\((?P<target>[^)\s]+)\)")
_CODE = re.compile(r"(^```.*?^```$|`[^`\n]*`)", re.S | re.M)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Complete the navigation: pages from outside, and pages that mkdocs.yml does not list."""
    nav: list[Any] = config.nav or []
    for target, section, title in OUTSIDE.values():
        _section(nav, section).append({title: target})
    listed = {*_pages(nav), *(f"decisions/{page.name}" for page in _decisions())}
    for page in sorted((ROOT / "docs").rglob("*.md")):
        name = page.relative_to(ROOT / "docs").as_posix()
        if name not in listed:
            _section(nav, _SECTIONS.get(name.split("/")[0], "Guides")).append(name)
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages from outside, the index of decisions, the colours of reports and the icon of the console."""
    for source, (target, _, _) in OUTSIDE.items():
        files.append(File.generated(config, target, content=(ROOT / source).read_text()))
    files.append(File.generated(config, "decisions/index.md", content=_index_of_decisions()))
    files.append(File.generated(config, "assets/design.css", content=_colours()))
    files.append(File.generated(config, "assets/logo.svg", content=ICON.read_text()))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Point links at the pages of the site. A link to any other file of the repository becomes text."""
    outside = {target: source for source, (target, _, _) in OUTSIDE.items()}
    here = page.file.src_uri
    source = PurePosixPath(outside.get(here, f"docs/{here}"))

    def replace(link: re.Match[str]) -> str:
        path, _, anchor = link["target"].partition("#")
        if not path or "://" in path or path.startswith("mailto:"):
            return link[0]
        goal = os.path.normpath(source.parent / path)
        known = f"{goal}/README.md" if f"{goal}/README.md" in OUTSIDE else goal
        if goal == "docs/decisions":
            inside = "decisions/index.md"
        elif goal == "README.md":
            inside = "index.md"
        elif known in OUTSIDE:
            inside = OUTSIDE[known][0]
        elif goal.startswith("docs/"):
            inside = goal.removeprefix("docs/")
        else:
            repository = config.extra["repository"]
            return f"[{link['text']}]({repository}/{goal})" if repository else link["text"]
        relative = os.path.relpath(inside, PurePosixPath(here).parent)
        return f"{link['image']}[{link['text']}]({relative}{'#' + anchor if anchor else ''})"

    # A link whose text is code has a backtick before its closing bracket, so code is set aside first.
    code: list[str] = []

    def set_aside(found: re.Match[str]) -> str:
        code.append(found[0])
        return f"\x00{len(code) - 1}\x00"

    linked = _LINK.sub(replace, _CODE.sub(set_aside, markdown))
    return re.sub("\x00(\\d+)\x00", lambda found: code[int(found[1])], linked)


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    """Name the search dialog for screen readers, which the theme does not."""
    return output.replace('role="dialog"', 'role="dialog" aria-label="Search"', 1)


def _section(nav: list[Any], title: str) -> list[Any]:
    """Return the entries of a section, at any depth."""
    for entry in nav:
        if isinstance(entry, dict):
            for name, value in entry.items():
                if isinstance(value, list):
                    if name == title:
                        return value
                    try:
                        return _section(value, title)
                    except KeyError:
                        continue
    raise KeyError(title)


def _pages(entry: Any) -> list[str]:
    """Return the pages that an entry of the navigation contains."""
    if isinstance(entry, str):
        return [entry]
    values = entry.values() if isinstance(entry, dict) else entry
    return [page for value in values for page in _pages(value)]


def _decisions() -> list[Path]:
    return sorted((ROOT / "docs" / "decisions").glob("[0-9]*.md"))


def _index_of_decisions() -> str:
    rows = []
    for page in _decisions():
        number, _, title = page.read_text().partition("\n")[0].removeprefix("# ").partition(". ")
        rows.append(f"| {number} | [{title}]({page.name}) |")
    intro = "Each decision that shapes the design has a short record: the problem, the decision, what was measured."
    return "\n".join(["# Decisions", "", intro, "", "| | decision |", "|---|---|", *rows, ""])


def _colours() -> str:
    """Return the variables of the reports' design. Each has a light and a dark value; the site's scheme selects one."""
    found = re.search(r"^:root \{(.*?)^\}", DESIGN.read_text(), re.S | re.M)
    assert found is not None
    variables = found[1].replace("color-scheme: light dark;", "")
    return (
        f"[data-md-color-scheme] {{{variables}}}\n"
        '[data-md-color-scheme="default"] { color-scheme: light }\n'
        '[data-md-color-scheme="slate"] { color-scheme: dark }\n'
    )
