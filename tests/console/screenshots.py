"""`make screenshots`: pictures of the console's pages for the docs.

Each page is taken in light colours, in dark colours, and on a phone. `--only NAME` takes one page, `--into FOLDER`
writes elsewhere.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Page, ViewportSize, sync_playwright

from tests.console import demo
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


_ORDER = f"/console/objects/{demo.GROUP}/v1/orders/berlin/order-1000"

PAGES: dict[str, tuple[str, Action]] = {
    "kinds": ("/console/kinds", _until("Can be removed")),
    "kind": (f"/console/kinds/{demo.GROUP}/orders", _until("legacy-importer")),
    "objects": (f"/console/objects/{demo.GROUP}/v1/orders", _until("order-1000")),
    "object": (_ORDER, _point_at("priority")),
    "edit": (f"{_ORDER}?tab=edit", _conflict),
    "events": (f"{_ORDER}?tab=events", _until("AddressUnclear")),
    "relations": (f"{_ORDER}?tab=relations", _search_dependents),
}
"""By name: the path of a page, and the function that waits until it is complete."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="take only the page with this name")
    parser.add_argument("--into", type=Path, default=FOLDER, help="folder of the pictures")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, serving(Path(folder)) as server:
        demo.fill(server)
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
