"""The HTML pages in a real browser: no errors, no requests, accessible names, dark mode, phones, printing."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import yaml

from polykind.cli import main
from polykind.toolkit.proving.proof_outcome import collect
from polykind.toolkit.proving.proof_page import proof_page
from polykind.toolkit.rehearsal import rehearsal_report
from polykind.toolkit.rehearsal.rehearsal import Stage, StageResult
from polykind.toolkit.rehearsal.rehearsal_finding import Finding as RehearsalFinding
from tests.evolution import crds
from tests.support.browser import Browser, Page, launch
from tests.toolkit.proving import converters as c
from tests.toolkit.proving.converters import conversions, proof_run
from tests.toolkit.reporting.test_html_page import everything

INTERACTIVE = {"link", "button", "searchbox", "region", "table", "figure", "navigation", "heading", "image"}


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    run = proof_run(conversions(c.bare_down, loses={"spec.hosts": "one only"}), examples=20)
    outcome = collect(run, run.pairs, repeat=lambda name, pair: "polykind prove --seed 0")
    texts = {"kit": everything(), "proof": proof_page(outcome)}
    stage = Stage("1.0.yaml", c.CRONTAB_CRD)
    lost = RehearsalFinding(
        "orders: " + "x" * 500, "clients", "error", "a/b", "v1 (PUT)", "v2", "spec.x", 1, 2, "do it"
    )
    steps = [StageResult(stage, False, 2, True), StageResult(stage, True, 2, findings=[lost], stuck=True)]
    texts["rehearsal"] = rehearsal_report.page("crontabs.stable.example.com", steps)
    for name, text in texts.items():
        (folder / f"{name}.html").write_text(text)
    old, new = folder / "old.yaml", folder / "new.yaml"
    old.write_text(yaml.safe_dump(crds.manifest()))
    new.write_text(yaml.safe_dump(crds.changed(lambda crd: crds.fields(crd)["replicas"].update(maximum=5))))
    assert main(["check", str(old), str(new), "--html", str(folder / "check.html")]) == 1
    return {name: folder / f"{name}.html" for name in (*texts, "check")}


@pytest.fixture
async def browser(tmp_path: Path) -> AsyncIterator[Browser]:
    async with launch(tmp_path / "profile") as out:
        yield out


async def background(page: Page) -> str:
    color: str = await page.evaluate("getComputedStyle(document.body).backgroundColor")
    return color


async def test_pages_in_a_browser(browser: Browser, pages: dict[str, Path]) -> None:
    for file in pages.values():
        page = await browser.page()
        await page.open(file)
        assert page.requests == [file.as_uri()]
        nodes = await page.accessible_nodes()
        unnamed = [role for role, name in nodes if role in INTERACTIVE and not name]
        assert unnamed == []
        assert ("main", "") in nodes
        light = await background(page)
        for width, dark in ((1280, True), (390, False)):
            await page.emulate(width, dark=dark)
            assert (await background(page) != light) is dark
            # Wide content scrolls inside its own box, never the page.
            assert await page.evaluate("document.documentElement.scrollWidth") == width
        assert page.errors == []


async def test_three_way_diff_is_side_by_side_or_stacked(browser: Browser, pages: dict[str, Path]) -> None:
    page = await browser.page()
    await page.open(pages["proof"])
    tops = "[...document.querySelectorAll('.three-way')[0].children].map(e => e.getBoundingClientRect().top)"
    rows = "[...document.querySelectorAll('.three-way')[0].children].map(e => e.querySelectorAll('.line').length)"
    assert len(set(await page.evaluate(tops))) == 1
    assert len(set(await page.evaluate(rows))) == 1
    assert await page.evaluate("document.querySelector('.line.emphasis').textContent.includes('timeZone')")
    await page.emulate(390)
    assert len(set(await page.evaluate(tops))) == 3
    assert page.errors == []


async def test_keyboard_links_filter_copy_and_print(browser: Browser, pages: dict[str, Path]) -> None:
    page = await browser.page()
    await page.open(pages["kit"])
    await page.press("Tab")
    assert await page.evaluate("document.activeElement.className") == "skip"
    shown = "[...document.querySelectorAll('.filterable tbody tr')].filter(row => !row.hidden).length"
    assert await page.evaluate(shown) == 25
    await page.evaluate(
        "(() => { const input = document.querySelector('input'); input.value = 'no such text';"
        " input.dispatchEvent(new Event('input')); })()"
    )
    assert await page.evaluate(shown) == 0
    await page.open(pages["proof"])
    await page.evaluate("for (const each of document.querySelectorAll('details')) each.open = false")
    link = "document.querySelector('td.error a')"
    await page.evaluate(f"{link}.click()")
    await page.evaluate("new Promise(done => setTimeout(done, 0))")
    assert await page.evaluate("document.querySelector(':target > details').open") is True
    await page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert await page.evaluate("document.querySelectorAll('details:not([open])').length") == 0
    await page.evaluate("document.querySelector('button[data-copy]').click()")
    label = "document.querySelector('button[data-copy]').textContent"
    await page.evaluate(
        f"new Promise(done => {{ const wait = () => {label} === 'Copy' ? setTimeout(wait, 1) : done(); wait(); }})"
    )
    assert page.errors == []
