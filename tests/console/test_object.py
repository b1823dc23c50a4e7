"""One object: YAML with help, edits with conflicts, events, relations, history, deletion, creation."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, expect

from tests.console.conftest import ConsolePage
from tests.console.demo import Api, order
from tests.support.kubectl import Kubectl

NAME = "my-order"


class OrderPage:
    """The page of one order, whose fields the manager `shop-frontend` has applied."""

    def __init__(self, console: ConsolePage, api: Api, group: str) -> None:
        self.console, self.page, self.api = console, console.page, api
        self.group = group
        self.path = f"/apis/{group}/v1/namespaces/shop/orders/{NAME}"
        self.url = f"/console/objects/{group}/v1/orders/shop/{NAME}"
        self.api.apply(self.path, order(NAME, "shop", 0, group), "shop-frontend")

    def open(self, tab: str = "") -> None:
        self.console.open(self.url + (f"?tab={tab}" if tab else ""))

    def line(self, text: str) -> Locator:
        return self.page.get_by_role("option").filter(has_text=text)

    @property
    def editor(self) -> Locator:
        return self.page.get_by_role("textbox", name=f"Edit {NAME} as YAML")

    def edit(self, before: str, after: str) -> None:
        """Replace a word in the editor."""
        self.editor.get_by_text(before).first.dblclick()
        self.page.keyboard.type(after)
        expect(self.editor).to_contain_text(after)

    def add_line(self, after: str, text: str) -> None:
        """Add a line after the line that contains a word, with the same indentation."""
        self.editor.get_by_text(after).first.click()
        self.page.keyboard.press("End")
        self.page.keyboard.type(f"\n{text}")
        expect(self.editor).to_contain_text(text)

    def press(self, button: str) -> None:
        self.page.get_by_role("button", name=button, exact=True).click()

    @property
    def stored(self) -> dict[str, dict[str, object]]:
        found: dict[str, dict[str, object]] = self.api.send("GET", self.path)
        return found


@pytest.fixture
def opened(console: ConsolePage, api: Api, orders: str) -> OrderPage:
    return OrderPage(console, api, orders)


def test_lines_explain_their_fields_and_name_their_managers(opened: OrderPage) -> None:
    opened.open()
    page = opened.page
    opened.line("priority: normal").hover()
    help_text = page.get_by_role("complementary", name="Field")
    expect(help_text).to_contain_text("Urgent orders are packed before all others.")
    expect(help_text).to_contain_text('One of: "low", "normal", "urgent"')
    expect(help_text).to_contain_text("shop-frontend Apply")
    page.get_by_role("listbox").focus()
    page.keyboard.press("ArrowDown")
    expect(help_text).to_contain_text(".spec.shipping")
    page.get_by_role("button", name="shop-frontend").click()
    expect(page.get_by_role("button", name="shop-frontend")).to_have_attribute("aria-pressed", "true")
    expect(opened.line("managedFields")).to_have_count(0)
    page.get_by_label("Show managedFields").check()
    expect(opened.line("managedFields")).to_have_count(1)
    opened.console.check_accessibility()


def test_an_edit_applies_only_the_changed_fields(opened: OrderPage) -> None:
    opened.open("edit")
    opened.add_line("tier", "color: red")
    opened.press("Preview")
    expect(opened.page.get_by_role("region", name="Preview")).to_contain_text("color: red")
    opened.console.check_accessibility()
    assert opened.stored["metadata"]["labels"] == {"tier": "web"}
    opened.press("Apply")
    expect(opened.line("color: red")).to_be_visible()
    assert opened.stored["metadata"]["labels"] == {"tier": "web", "color": "red"}
    managers = opened.api.send("GET", opened.path)["metadata"]["managedFields"]
    mine = next(entry for entry in managers if entry["manager"] == "polykind-console")
    assert (mine["operation"], mine["fieldsV1"]) == ("Apply", {"f:metadata": {"f:labels": {"f:color": {}}}})


def test_values_of_a_secret_are_hidden(console: ConsolePage, api: Api) -> None:
    secrets = "/api/v1/namespaces/default/secrets"
    api.send("POST", secrets, {"metadata": {"name": "database"}, "stringData": {"password": "hunter2"}})
    console.open("/console/objects/core/v1/secrets/default/database")
    page = console.page
    line = page.get_by_role("option").filter(has_text="password: ")
    expect(line).to_contain_text("(hidden, 7 bytes)")
    change = {"stringData": {"password": "hunter3"}}
    api.send("PATCH", f"{secrets}/database", change, "application/merge-patch+json")
    page.get_by_role("link", name="History (1)").click()
    expect(page.get_by_role("region", name="Change")).to_contain_text("(hidden, 7 bytes, changed)")
    page.get_by_role("link", name="YAML").click()
    page.get_by_label("Show values").check()
    expect(line).to_contain_text("aHVudGVyMw==")
    api.send("DELETE", f"{secrets}/database")


def test_an_unsaved_edit_is_kept(opened: OrderPage) -> None:
    opened.open("edit")
    opened.add_line("tier", "color: red")
    opened.page.reload()
    expect(opened.page.get_by_text("This is your unsaved edit.")).to_be_visible()
    expect(opened.editor).to_contain_text("color: red")
    # Another client changes a field that the edit does not touch.
    opened.api.apply(opened.path, order(NAME, "shop", 1, opened.group), "shop-frontend")
    opened.page.get_by_role("link", name="Kinds", exact=True).click()
    opened.page.go_back()
    opened.press("Apply")
    expect(opened.line("color: red")).to_be_visible()
    expect(opened.page.get_by_text("unsaved edit")).to_have_count(0)
    assert opened.stored["spec"]["priority"] == "low", "the change of the other client stays"


def test_an_unsaved_edit_can_be_discarded(opened: OrderPage) -> None:
    opened.open("edit")
    opened.add_line("tier", "color: red")
    opened.open()
    expect(opened.page.get_by_text("You have an unsaved edit.")).to_be_visible()
    opened.console.check_accessibility()
    opened.page.get_by_role("link", name="Continue").click()
    opened.press("Discard it")
    expect(opened.editor).to_contain_text("tier: web")
    expect(opened.editor).not_to_contain_text("color: red")
    opened.open()
    expect(opened.line("tier: web")).to_be_visible()
    expect(opened.page.get_by_text("You have an unsaved edit.")).to_have_count(0)


def test_errors_name_the_fields(opened: OrderPage) -> None:
    # kube-apiserver, too, responds to unknown fields in an apply with 500.
    opened.console.expected.append("status of 500")
    opened.open("edit")
    opened.press("Apply")
    expect(opened.page.get_by_text("You have changed nothing.")).to_be_visible()
    opened.add_line("express", "unknown: x")
    opened.press("Apply")
    expect(opened.page.get_by_role("alert")).to_contain_text(".spec.shipping.unknown")


def test_a_conflict_is_shown_and_can_be_overruled(opened: OrderPage) -> None:
    opened.console.expected.append("status of 409")
    opened.open("edit")
    opened.edit("normal", "urgent")
    opened.press("Apply")
    conflict = opened.page.get_by_role("region", name="Conflicts")
    expect(conflict.get_by_role("row").nth(1)).to_have_text('.spec.priorityshop-frontend"normal""urgent"')
    opened.console.check_accessibility()
    assert opened.stored["spec"]["priority"] == "normal"
    opened.press("Take over and apply")
    expect(opened.line("priority: urgent")).to_be_visible()
    expect(opened.page.get_by_role("button", name="polykind-console")).to_be_visible()
    # The console keeps the field when it changes another one, and no longer conflicts with itself.
    opened.open("edit")
    opened.edit("urgent", "low")
    opened.press("Apply")
    expect(opened.line("priority: low")).to_be_visible()


def test_removed_fields_of_other_managers_are_named(opened: OrderPage) -> None:
    opened.open("edit")
    opened.editor.get_by_text("express").click()
    opened.page.keyboard.press("Control+Shift+k")
    opened.press("Apply")
    alert = opened.page.get_by_role("alert")
    expect(alert).to_contain_text(".spec.shipping.express owned by shop-frontend")
    opened.press("Replace the object")
    expect(opened.line("city: Shop")).to_be_visible()
    # The schema's default replaces the removed value.
    assert opened.stored["spec"]["shipping"] == {"city": "Shop", "express": False}


def test_history_shows_changes_by_kubectl_as_diffs(opened: OrderPage, kubectl: Kubectl) -> None:
    opened.open("history")
    expect(opened.page.get_by_text("Nothing has changed since you opened this page")).to_be_visible()
    patch = '{"spec":{"customer":"Emmy Noether"}}'
    kubectl("patch", f"orders.{opened.group}", NAME, "-n", "shop", "--type=merge", "-p", patch)
    change = opened.page.get_by_role("list", name="Changes").get_by_role("listitem")
    expect(change).to_contain_text("added:   customer: Emmy Noether")
    expect(change).to_contain_text("removed:   customer: Ada Lovelace")
    expect(change).to_contain_text(re.compile(r"written by kubectl-patch\s*resourceVersion"))
    expect(opened.page.get_by_role("link", name="History (1)")).to_be_visible()
    opened.console.check_accessibility()


def test_events_owners_and_dependents(opened: OrderPage) -> None:
    owner = opened.stored["metadata"]
    reference = {"apiVersion": f"{opened.group}/v1", "kind": "Order", "name": NAME, "uid": owner["uid"]}
    child = {"metadata": {"name": f"{opened.group}-label", "ownerReferences": [reference]}}
    opened.api.send("POST", "/api/v1/namespaces/shop/configmaps", child)
    opened.open("relations")
    page = opened.page
    expect(page.get_by_text("No object owns this one.")).to_be_visible()
    opened.press("Search dependents")
    dependent = page.get_by_role("link", name=f"ConfigMap {opened.group}-label")
    expect(dependent).to_be_visible()
    opened.console.check_accessibility()

    page.get_by_role("link", name="Events").click()
    expect(page.get_by_text("There are no events about this object")).to_be_visible()
    event = {"metadata": {"name": f"{opened.group}.1"}, "involvedObject": {**reference, "namespace": "shop"}}
    opened.api.send(
        "POST",
        "/api/v1/namespaces/shop/events",
        {**event, "type": "Warning", "reason": "Lost", "message": "No parcel."},
    )
    expect(page.get_by_role("row").filter(has_text="Lost")).to_contain_text("No parcel.")
    opened.console.check_accessibility()

    opened.console.open(f"/console/objects/core/v1/configmaps/shop/{opened.group}-label?tab=relations")
    page.get_by_role("link", name=f"Order {NAME}").click()
    expect(page.get_by_role("heading", name=NAME, exact=True)).to_be_visible()


def test_deleting_needs_a_confirmation(opened: OrderPage) -> None:
    opened.open()
    opened.press("Delete")
    dialog = opened.page.get_by_role("dialog", name=f"Delete Order {NAME}?")
    expect(dialog).to_be_visible()
    opened.console.check_accessibility()
    opened.page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    opened.press("Delete")
    dialog.get_by_role("button", name="Delete").click()
    expect(opened.page.get_by_text("The object has been deleted.")).to_be_visible()
    expect(opened.line("customer: Ada Lovelace")).to_be_visible()


def test_an_object_is_created_from_yaml(opened: OrderPage) -> None:
    opened.console.expected.append("status of 422")
    page = opened.page
    opened.console.open(f"/console/objects/{opened.group}/v1/orders?namespace=shop")
    page.get_by_role("link", name="Create").click()
    editor = page.get_by_role("textbox", name="New object as YAML")
    expect(editor).to_contain_text("namespace: shop")
    editor.press("Control+End")
    page.keyboard.type("spec:\n  customer: ''\n")
    opened.press("Validate")
    expect(page.get_by_role("alert")).to_contain_text("spec.customer")
    opened.console.check_accessibility()
    editor.get_by_text("customer").click()
    page.keyboard.press("End")
    page.keyboard.press("ArrowLeft")
    page.keyboard.type("Rosalind Franklin")
    opened.press("Create")
    expect(page.get_by_role("heading", name="example")).to_be_visible()
    expect(opened.line("customer: Rosalind Franklin")).to_be_visible()
