"""Tables of objects: columns, live changes, selectors, and long lists."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, expect

from tests.console.bulk_objects import bulk_server
from tests.console.conftest import ConsolePage
from tests.console.demo import GROUP, Api, order
from tests.support.kubectl import Kubectl
from tests.support.server import ServerProcess

MANY = int(os.environ.get("POLYKIND_CONSOLE_OBJECTS", "5000"))
"""The length of the long list. `make console-scrolling` sets 100,000."""


def _create(api: Api, group: str, *names: str) -> None:
    for number, name in enumerate(names):
        api.send("POST", f"/apis/{group}/v1/namespaces/shop/orders", order(name, "shop", number, group))


def test_a_table_has_the_columns_of_the_crd(console: ConsolePage, api: Api, orders: str) -> None:
    _create(api, orders, "a", "b")
    console.open(f"/console/objects/{orders}/v1/orders")
    page = console.page
    columns = page.get_by_role("columnheader")
    expect(columns).to_have_text(["Name", "Namespace", "Customer", "Phase", "Parcels", "City", "Age"])
    expect(page.get_by_role("rowheader")).to_have_text(["a", "b"])
    page.get_by_label("All columns").check()
    expect(columns).to_contain_text(["Express"])
    page.get_by_role("button", name="Customer").click()
    page.get_by_role("button", name="Customer").click()
    expect(page.get_by_role("rowheader")).to_have_text(["b", "a"])
    expect(page.get_by_role("columnheader", name="Customer")).to_have_attribute("aria-sort", "descending")
    console.check_accessibility()


def test_changes_by_kubectl_appear_by_themselves(console: ConsolePage, api: Api, orders: str, kubectl: Kubectl) -> None:
    _create(api, orders, "first")
    console.open(f"/console/objects/{orders}/v1/orders?namespace=shop")
    page = console.page
    expect(page.get_by_text("1 object", exact=True)).to_be_visible()
    kubectl("create", "-f", "-", stdin=_manifest(orders, "by-kubectl"))
    row = page.get_by_role("row").filter(has_text="by-kubectl")
    expect(row).to_contain_text("Ada Lovelace")
    patch = '{"spec":{"customer":"Emmy Noether"}}'
    kubectl("patch", f"orders.{orders}", "by-kubectl", "-n", "shop", "--type=merge", "-p", patch)
    expect(row).to_contain_text("Emmy Noether")
    kubectl("delete", f"orders.{orders}", "by-kubectl", "-n", "shop", "--wait=false")
    expect(row).to_have_count(0)
    expect(page.get_by_text("1 object", exact=True)).to_be_visible()


def _manifest(group: str, name: str) -> str:
    import yaml

    return str(yaml.safe_dump(order(name, "shop", 0, group)))


def test_selectors_select(console: ConsolePage, api: Api, orders: str) -> None:
    _create(api, orders, "a", "b", "c", "d")
    console.open(f"/console/objects/{orders}/v1/orders")
    page = console.page
    names = page.get_by_role("rowheader")
    page.get_by_label("Label selector").fill("tier=web")
    page.get_by_role("button", name="Select", exact=True).click()
    expect(names).to_have_text(["a", "d"])
    page.get_by_label("Field selector").fill("metadata.name=d")
    page.get_by_label("Field selector").press("Enter")
    expect(names).to_have_text(["d"])
    assert "labels=tier%3Dweb" in page.url
    page.reload()
    expect(names).to_have_text(["d"])
    page.get_by_label("Label selector").fill("no selector!")
    page.get_by_label("Label selector").press("Enter")
    console.expected.append("status of 400")
    expect(page.get_by_role("alert")).to_contain_text("unable to parse")
    console.open(f"/console/objects/{orders}/v1/orders")
    page.get_by_label("Name contains").fill("c")
    expect(names).to_have_text(["c"])
    page.get_by_label("Name contains").fill("")
    page.get_by_label("Namespace").select_option("default")
    expect(page.get_by_text("There are no orders in default")).to_be_visible()


def test_arrow_keys_move_through_the_rows(console: ConsolePage, api: Api, orders: str) -> None:
    _create(api, orders, "a", "b", "c")
    console.open(f"/console/objects/{orders}/v1/orders?namespace=shop")
    page = console.page
    expect(page.get_by_text("3 objects", exact=True)).to_be_visible()
    page.get_by_role("link", name="a", exact=True).press("ArrowDown")
    expect(page.get_by_role("link", name="b", exact=True)).to_be_focused()
    page.keyboard.press("End")
    expect(page.get_by_role("link", name="c", exact=True)).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="c", exact=True)).to_be_visible()


@pytest.fixture(scope="module")
def bulk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """A server with very many orders."""
    folder: Path = tmp_path_factory.mktemp("bulk")
    with bulk_server(folder, MANY) as server:
        yield server


def test_a_long_list_is_scrolled(context: BrowserContext, bulk: ServerProcess) -> None:
    console = ConsolePage(context.new_page(), bulk.url)
    console.sign_in(bulk.token, f"/console/objects/{GROUP}/v1/orders?namespace=bulk")
    page = console.page
    total = f"{MANY:,} objects"
    expect(page.get_by_text(total).first).to_be_visible()
    started = time.monotonic()
    expect(page.get_by_text(total, exact=True)).to_be_visible(timeout=90_000)
    loaded = time.monotonic() - started
    scroller = page.get_by_role("region", name="Order objects")
    for share in (0.5, 0.25, 1.0):
        scroller.evaluate("(element, share) => element.scrollTo(0, element.scrollHeight * share)", share)
        index = int(MANY * share) - (5 if share == 1.0 else 0)
        expect(page.get_by_role("link", name=f"bulk-{index:06}", exact=True)).to_be_visible()
    assert page.get_by_role("row").count() < 100
    # A frame of a scroll must be cheap: 60 frames, each moving the list by some rows.
    frames = scroller.evaluate(
        """async element => {
            const times = [];
            for (let frame = 0; frame < 60; frame += 1) {
                const started = performance.now();
                element.scrollTop = frame * 400;
                element.dispatchEvent(new Event("scroll"));
                await new Promise(resolve => setTimeout(resolve));
                times.push(performance.now() - started);
            }
            return times.sort((a, b) => a - b)[30];
        }"""
    )
    heap = page.evaluate("performance.memory.usedJSHeapSize") / 1e6
    print(f"{MANY} objects: loaded in {loaded:.1f} s, median frame {frames:.1f} ms, heap {heap:.0f} MB")
    assert heap < 60 + MANY / 1000
    Api(bulk).send("DELETE", f"/apis/{GROUP}/v1/namespaces/bulk/orders/bulk-000000")
    expect(page.get_by_text(f"{MANY - 1:,} objects", exact=True)).to_be_visible()
    assert console.errors == []
