"""`make screenshots`: pictures of the console's pages for the docs.

Each page is taken in light colours, in dark colours, and on a phone. `--only NAME` takes one page, `--into FOLDER`
writes elsewhere.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

import yaml
from playwright.sync_api import FilePayload, Page, ViewportSize, sync_playwright

from tests.console import backups, demo
from tests.support.browser import executable
from tests.support.server import ServerProcess, serving

FOLDER = Path(__file__).parents[2] / "docs" / "images"
_DESKTOP: ViewportSize = {"width": 1280, "height": 800}
_PHONE: ViewportSize = {"width": 390, "height": 844}

Action = Callable[[Page], object]


def _until(text: str) -> Action:
    """Return a function that waits until the page shows a text."""
    return lambda page: page.get_by_text(text).first.wait_for()


def _point_at(field: str) -> Action:
    """Return a function that points at a line of the YAML."""
    return lambda page: page.get_by_role("option").filter(has_text=field).first.hover()


def _search_dependents(page: Page) -> None:
    page.get_by_role("button", name="Search dependents").click()
    page.get_by_text("1 dependent in").wait_for()


def _conflict(page: Page) -> None:
    """Change a field that another manager owns, and try to apply it."""
    editor = page.get_by_role("textbox", name="Edit order-1000 as YAML")
    editor.get_by_text("urgent").or_(editor.get_by_text("normal")).first.dblclick()
    page.keyboard.type("low")
    page.get_by_role("button", name="Apply", exact=True).click()
    page.get_by_role("button", name="Take over").wait_for()
    page.get_by_text("packed before all others").wait_for()


def _round_trips(page: Page) -> None:
    """Compare an object at all versions, and try the round trips."""
    page.get_by_role("button", name="Try round trips").click()
    page.get_by_text("can save the object without a loss").wait_for()
    page.evaluate("scrollTo(0, 0)")


def _preview(page: Page) -> None:
    """Edit at the old version, and wait for the effect on the new one."""
    page.locator(".cm-line").filter(has_text="keep: 7").click()
    page.keyboard.press("End")
    page.keyboard.press("Backspace")
    page.keyboard.type("3\nverbose: true")
    page.get_by_text("will not be there after saving").wait_for()
    page.evaluate("scrollTo(0, 0)")


def _paste_release(page: Page) -> None:
    page.get_by_label("Manifest of the new CRD").fill(yaml.safe_dump(backups.next_release()))
    page.get_by_role("button", name="Compare").click()
    page.get_by_role("list", name="Changes of v1").wait_for()
    page.evaluate("document.querySelector('.verdict').scrollIntoView()")


def _watch_server(page: Page) -> None:
    """Send requests at several versions for a while, so that the plots show something."""
    page.get_by_text("Duration of conversions").wait_for()
    for number in range(_PLOTTED_SECONDS):
        for version in ("v1", "v1beta1"):
            page.evaluate(_READ, [f"/apis/{backups.GROUP}/{version}/backups", number % 5 + 1])
        page.evaluate(_WRITE, [f"{backups.COLLECTION}/customers", number + 1])
        page.wait_for_timeout(1000)


_PLOTTED_SECONDS = 24
_READ = """async ([path, times]) => {
  const headers = {Authorization: `Bearer ${sessionStorage.getItem("polykind.token")}`};
  for (let time = 0; time < times; time += 1) await (await fetch(path, {headers})).text();
}"""
_WRITE = """async ([path, count]) => {
  const headers = {Authorization: `Bearer ${sessionStorage.getItem("polykind.token")}`,
    "Content-Type": "application/merge-patch+json"};
  const body = JSON.stringify({spec: {retention: {count}}});
  await fetch(path, {method: "PATCH", headers, body});
}"""


@cache
def _proof() -> bytes:
    """Return a report of `polykind prove` about the backups."""
    with tempfile.TemporaryDirectory() as folder:
        manifest = Path(folder) / "crd.yaml"
        manifest.write_text(yaml.safe_dump(backups.crd()))
        flags = ["--crd=crd.yaml", f"--converter={backups.CONVERTER}", "--examples=40", "--save=.", "--json"]
        command = [str(Path(sys.executable).with_name("polykind")), "prove", *flags]
        environment = {**os.environ, "PYTHONPATH": str(FOLDER.parents[1])}
        return subprocess.run(command, stdout=subprocess.PIPE, check=False, cwd=folder, env=environment).stdout


def _open_report(page: Page) -> None:
    file: FilePayload = {"name": "prove.json", "mimeType": "application/json", "buffer": _proof()}
    page.locator("input[type=file]").set_input_files(file)
    page.get_by_role("heading", name="Findings").wait_for()


_ORDER = f"/console/objects/{demo.GROUP}/v1/orders/berlin/order-1000"
_BACKUP = f"/console/compare/{backups.GROUP}/backups/default/orders"
_SCHEMAS = f"/console/schemas/{backups.GROUP}/backups"

PAGES: dict[str, tuple[str, Action]] = {
    "kinds": ("/console/kinds", _until("Can be removed")),
    "kind": (f"/console/kinds/{demo.GROUP}/orders", _until("legacy-importer")),
    "objects": (f"/console/objects/{demo.GROUP}/v1/orders", _until("order-1000")),
    "object": (_ORDER, _point_at("priority")),
    "events": (f"{_ORDER}?tab=events", _until("AddressUnclear")),
    "relations": (f"{_ORDER}?tab=relations", _search_dependents),
    "edit": (f"{_ORDER}?tab=edit", _conflict),
    "compare": (_BACKUP, _round_trips),
    "compare-edit": (f"{_BACKUP}?edit=v1beta1", _preview),
    "schemas": (_SCHEMAS, _until("only in v1beta1")),
    "schemas-release": (f"{_SCHEMAS}?tab=new", _paste_release),
    "migrations": ("/console/migrations", _until("of 3 objects stored at v1")),
    "reports": ("/console/reports", _open_report),
    "server": ("/console/server", _watch_server),
}
"""By name: the path of a page, and the function that waits until it is complete."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="take only the page with this name")
    parser.add_argument("--into", type=Path, default=FOLDER, help="folder of the pictures")
    args = parser.parse_args()
    flag = f"--converter={backups.CONVERTER}"
    with tempfile.TemporaryDirectory() as folder, serving(Path(folder), flag) as server:
        demo.fill(server)
        backups.fill(demo.Api(server))
        _take(server, args.into, args.only)


def _take(server: ServerProcess, folder: Path, only: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable(), args=["--no-sandbox", "--hide-scrollbars"])
        for variant, scheme, size in (
            ("", "light", _DESKTOP),
            ("-dark", "dark", _DESKTOP),
            ("-phone", "light", _PHONE),
        ):
            context = browser.new_context(
                ignore_https_errors=True,
                viewport=size,
                color_scheme="dark" if scheme == "dark" else "light",
                reduced_motion="reduce",
            )
            page = context.new_page()
            page.goto(f"{server.url}/console/")
            page.get_by_label("Token", exact=True).wait_for()
            if only in ("", "sign-in"):
                page.screenshot(path=folder / f"console-sign-in{variant}.png")
            page.get_by_label("Token", exact=True).fill(server.token)
            page.get_by_role("button", name="Sign in", exact=True).click()
            page.get_by_role("navigation", name="Pages").wait_for()
            for name, (path, ready) in PAGES.items():
                if only in ("", name):
                    page.goto(server.url + path)
                    ready(page)
                    page.screenshot(path=folder / f"console-{name}{variant}.png")
            context.close()
        browser.close()


if __name__ == "__main__":
    main()
