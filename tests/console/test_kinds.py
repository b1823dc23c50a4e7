"""The pages of kinds: versions, stored objects, clients, and what stands in the way of removing a version."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.console.conftest import PHONE, ConsolePage
from tests.console.demo import Api, order, order_crd


def test_kinds_show_their_versions(console: ConsolePage, api: Api, orders: str) -> None:
    for number in range(3):
        api.send("POST", f"/apis/{orders}/v1/namespaces/shop/orders", order(f"o-{number}", "shop", number, orders))
    Api(api.server, "old-tool/1.0").send("GET", f"/apis/{orders}/v1beta1/namespaces/shop/orders")
    page = console.page
    console.open("/console/kinds")
    table = page.get_by_role("region", name=orders).get_by_role("region", name="Versions of Order")
    # A card is filled when it comes into view. The kinds of earlier tests may be above it.
    table.scroll_into_view_if_needed()
    stored = table.get_by_role("row").filter(has=page.get_by_role("rowheader", name="v1", exact=True))
    expect(stored.get_by_role("cell")).to_have_text(["StorageServed", "3", "1", re.compile("obstacles")])
    old = table.get_by_role("row").filter(has=page.get_by_role("rowheader", name="v1beta1"))
    expect(old.get_by_role("cell")).to_have_text(["ServedDeprecated", "0", "1", "1 obstacle"])
    removable = table.get_by_role("row").filter(has=page.get_by_role("rowheader", name="v1alpha1"))
    expect(removable.get_by_role("cell")).to_have_text(["Not served", "0", "0", "Can be removed"])
    console.check_accessibility()

    page.get_by_role("region", name=orders).get_by_role("link", name="Order", exact=True).click()
    expect(page.get_by_role("heading", name="Order", exact=True)).to_be_visible()
    expect(page.get_by_text("It is the storage version")).to_be_visible()
    expect(page.get_by_text("1 client has requested it").first).to_be_visible()
    clients = page.get_by_role("region", name="Clients")
    expect(clients.get_by_role("row").filter(has_text="old-tool/1.0")).to_contain_text("v1beta1")
    console.check_accessibility()


def test_a_new_kind_appears_by_itself(console: ConsolePage, api: Api, group: str) -> None:
    console.open("/console/kinds")
    page = console.page
    expect(page.get_by_role("heading", name="Built-in kinds")).to_be_visible()
    api.define(order_crd(group))
    expect(page.get_by_role("heading", name=group)).to_be_visible()
    page.get_by_label("Filter kinds").fill("no such kind")
    expect(page.get_by_text("No kind matches")).to_be_visible()


def test_kinds_that_cannot_be_loaded_are_tried_again(console: ConsolePage) -> None:
    console.expected.append("net::ERR_")
    page = console.page
    page.route("**/apis", lambda route: route.abort())
    console.open("/console/objects")
    expect(page.get_by_role("heading", level=1, name="Cannot load the kinds")).to_be_visible()
    page.unroute("**/apis")
    page.get_by_role("button", name="Try again").click()
    expect(page.get_by_text("Choose a kind")).to_be_visible()


def test_a_failing_converter_is_shown(console: ConsolePage, api: Api, group: str) -> None:
    crd = order_crd(group)
    client = {"url": "https://127.0.0.1:1/convert"}
    crd["spec"]["conversion"] = {
        "strategy": "Webhook",
        "webhook": {"conversionReviewVersions": ["v1"], "clientConfig": client},
    }
    api.define(crd)
    api.send("POST", f"/apis/{group}/v1/namespaces/default/orders", order("a", "default", 0, group))
    for _ in range(3):
        with pytest.raises(OSError, match="500"):
            api.send("GET", f"/apis/{group}/v1beta1/namespaces/default/orders/a")
    console.open(f"/console/kinds/{group}/orders")
    expect(console.page.get_by_text("Failing")).to_be_visible()
    expect(console.page.get_by_text("conversions failed")).to_be_visible()
    # A list that fails says why, and is tried again.
    console.expected.append("status of 500")
    console.open(f"/console/objects/{group}/v1beta1/orders")
    expect(console.page.get_by_role("heading", name="Cannot list orders")).to_be_visible()
    expect(console.page.get_by_text("Live", exact=True)).to_be_visible()
    api.send("DELETE", f"/apis/{group}/v1/namespaces/default/orders/a")
    expect(console.page.get_by_text("There are no orders")).to_be_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_are_accessible_on_a_phone(console: ConsolePage, orders: str, scheme: str) -> None:
    page = console.page
    page.set_viewport_size(PHONE)
    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    for path in ("/console/kinds", f"/console/kinds/{orders}/orders", f"/console/objects/{orders}/v1/orders"):
        console.open(path)
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        expect(page.get_by_text("Loading")).to_have_count(0)
        console.check_accessibility()
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
        right = page.get_by_role("link", name="Server", exact=True).bounding_box()
        assert right is not None
        assert right["x"] + right["width"] <= PHONE["width"], "the navigation does not scroll sideways"
