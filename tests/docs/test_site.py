"""The documentation site: a strict build, pages that load nothing from other hosts, and search, in a real browser."""

from __future__ import annotations

import http.server
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.support import pages
from tests.support.browser import launch
from tests.support.pages import ROOT

_LOADED = re.compile(r"<(?:script|img|iframe|source|link)\b[^>]*?\b(?:src|href)=\"?(https?:)?//", re.I)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site. Broken links, anchors and missing pages fail the build."""
    folder = tmp_path_factory.mktemp("site")
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1", "PYTHONWARNINGS": ""},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert built.returncode == 0, built.stdout + built.stderr
    return folder


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def address(site: Path) -> Iterator[str]:
    """The address of a web server with the site."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(site))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_every_page_is_built_and_in_the_navigation(site: Path) -> None:
    navigation = (site / "limitations.html").read_text()
    decisions = (site / "decisions" / "index.html").read_text()
    for page in (ROOT / "docs").rglob("*.md"):
        name = page.relative_to(ROOT / "docs").with_suffix(".html").as_posix()
        assert (site / name).exists(), name
        known = f'href="{name}"' in navigation or f'href="{page.stem}.html"' in decisions
        assert known or name == "limitations.html", f"no way leads to {name}"


def test_pages_load_nothing_from_other_hosts(site: Path) -> None:
    built = [*site.rglob("*.html"), *site.rglob("*.svg")]
    assert len(built) > 60
    assert [page.name for page in built if _LOADED.search(page.read_text())] == []
    assert [page.name for page in site.rglob("*.css") if re.search(r"url\(['\"]?(https?:)?//", page.read_text())] == []


async def test_pages_work_in_a_browser(address: str, tmp_path: Path) -> None:
    async with launch(tmp_path / "profile") as browser:
        for name, width, dark in (
            ("index.html", 1280, False),
            ("index.html", 390, True),
            ("reference/flags.html", 390, False),
            ("tutorials/crd-author.html", 1280, True),
        ):
            page = await browser.page()
            await page.open(f"{address}/{name}", width=width, dark=dark)
            assert [url for url in page.requests if not url.startswith((address, "data:"))] == []
            assert page.errors == []
            assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth"), f"{name} is too wide"
            assert await page.evaluate("document.body.dataset.mdColorScheme") == ("slate" if dark else "default")


async def test_search_finds_a_page(address: str, tmp_path: Path) -> None:
    async with launch(tmp_path / "profile") as browser:
        page = await browser.page()
        await page.open(f"{address}/index.html")
        found = await page.evaluate(
            """new Promise((resolve, reject) => {
                 const input = document.querySelector("input.md-search__input");
                 input.focus();
                 input.value = "stored versions";
                 input.dispatchEvent(new Event("keyup", {bubbles: true}));
                 const look = () => {
                   const links = [...document.querySelectorAll("a.md-search-result__link")];
                   links.length ? resolve(links.map(link => link.href)) : setTimeout(look, 50);
                 };
                 look();
                 setTimeout(() => reject(new Error("nothing found")), 30000);
               })"""
        )
        assert any("removing-versions" in link for link in found), found


async def test_copied_console_blocks_are_the_commands(address: str, tmp_path: Path) -> None:
    async with launch(tmp_path / "profile") as browser:
        page = await browser.page()
        await page.open(f"{address}/tutorials/platform.html")
        copied = await page.evaluate(
            """[...document.querySelectorAll(".language-console code")].map(code => {
                 code.setAttribute("data-md-copying", "");  // as the copy button does
                 const text = code.innerText;
                 code.removeAttribute("data-md-copying");
                 return text;
               }).join("\\n")"""
        )
    lines = [line for line in copied.splitlines() if line.strip()]
    tutorial = pages.commands((ROOT / "docs" / "tutorials" / "platform.md").read_text())
    assert lines == [line for command in tutorial for line in command.line.splitlines()]
