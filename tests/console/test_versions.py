"""Pages about versions: objects at all versions, schemas, migrations, reports of the toolkit, and the server."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from playwright.sync_api import Locator, Page, expect

from tests.console import backups
from tests.console.conftest import PHONE, ConsolePage
from tests.console.demo import CRDS, Api
from tests.support.server import ServerProcess, serving

COMPARISON = f"/console/compare/{backups.GROUP}/backups/default/orders"
SCHEMAS = f"/console/schemas/{backups.GROUP}/backups"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """A server with a converter in its process, and backups at two versions."""
    with serving(tmp_path_factory.mktemp("server"), f"--converter={backups.CONVERTER}") as process:
        backups.fill(Api(process))
        yield process


@pytest.fixture
def api(server: ServerProcess) -> Api:
    return Api(server)


def visit(console: ConsolePage, path: str, heading: str) -> Page:
    console.open(path)
    expect(console.page.get_by_role("heading", level=1, name=heading)).to_be_visible()
    return console.page


def cell(page: Page, row: str, column: int) -> Locator:
    """Return the cell of a field at a version. Column 0 is the first version."""
    header = page.get_by_role("rowheader", name=row, exact=True)
    return page.get_by_role("row").filter(has=header).get_by_role("cell").nth(column)


def edit_line(page: Page, line: str, *, erase: int = 0, text: str) -> None:
    """Erase characters at the end of a line in the editor, and type a text there. Line breaks keep the indentation."""
    page.locator(".cm-line").filter(has_text=line).click()
    page.keyboard.press("End")
    for _ in range(erase):
        page.keyboard.press("Backspace")
    page.keyboard.type(text)


def test_an_object_at_all_versions(console: ConsolePage) -> None:
    page = visit(console, COMPARISON, "orders")
    expect(page.get_by_role("columnheader", name="v1beta1")).to_contain_text("Deprecated")
    expect(page.get_by_role("columnheader", name="v1 Storage")).to_be_visible()
    expect(cell(page, "timeZone", 0)).to_have_text("not in this version")
    expect(cell(page, "timeZone", 1)).to_have_text("Europe/Berlin")
    expect(cell(page, "cron", 0)).to_have_text("0 3 * * *from spec.schedule")
    expect(cell(page, "bucket", 0)).to_have_text("at spec.target")
    expect(cell(page, "count", 0)).to_have_text("at spec.keep")
    page.get_by_role("button", name="3 equal fields").click()
    expect(cell(page, "team", 0)).to_have_text("shop")
    page.get_by_role("button", name="Try round trips").click()
    old, new = (page.locator(".trips article").nth(index) for index in range(2))
    expect(old).to_contain_text("would change 1 field")
    expect(old.get_by_role("row", name="spec.timeZone")).to_contain_text("lost")
    expect(new).to_contain_text("can save the object without a loss")
    console.check_accessibility()
    page.set_viewport_size(PHONE)
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


def test_an_edit_is_shown_at_the_other_version_before_it_is_saved(console: ConsolePage, api: Api) -> None:
    path = f"{backups.COLLECTION}/edited"
    spec = {"schedule": "0 3 * * *", "bucket": "shop", "path": "edited", "retention": {"count": 7}, "timeZone": "UTC"}
    api.send("POST", backups.COLLECTION, backups.backup("edited", "v1", spec))
    page = visit(console, f"/console/compare/{backups.GROUP}/backups/default/edited", "edited")
    page.get_by_role("button", name="Edit at v1beta1").click()
    edit_line(page, "keep: 7", erase=1, text="3\nverbose: true")
    expect(page.get_by_role("cell", name="before: 7 after the edit: 3 from spec.keep")).to_be_visible()
    expect(page.get_by_text("1 field of the edit will not be there after saving.")).to_be_visible()
    expect(page.get_by_role("row", name="spec.verbose")).to_contain_text("lost")
    expect(page.get_by_text("Saving at v1beta1 changes 1 field of v1, whatever you edit.")).to_be_visible()
    expect(cell(page, "timeZone", 1)).to_have_text("before: UTCremoved by saving")
    assert api.send("GET", path)["spec"]["retention"] == {"count": 7}
    console.check_accessibility()
    page.get_by_role("button", name="Save at v1beta1").click()
    expect(page.get_by_text("Saved at v1beta1.")).to_be_visible()
    assert api.send("GET", path)["spec"]["retention"] == {"count": 3}
    expect(cell(page, "count", 1)).to_have_text("3")
    api.send("DELETE", path)


def test_an_edit_notices_errors_and_other_writers(console: ConsolePage, api: Api) -> None:
    console.expected.append("status of 422")
    page = visit(console, f"/console/compare/{backups.GROUP}/backups/default/mail", "mail")
    page.get_by_role("button", name="Edit at v1", exact=True).click()
    edit_line(page, "bucket: shop-backups", text=": [")
    expect(page.get_by_role("alert")).to_contain_text("at line")
    expect(page.locator(".cm-lint-marker-error")).to_be_visible()
    edit_line(page, "bucket: shop-backups", erase=3, text="!")
    expect(page.get_by_role("alert")).to_contain_text("spec.bucket")
    expect(page.get_by_role("button", name="Save at v1")).to_be_disabled()
    path = f"{backups.OLD_COLLECTION}/mail"
    api.send("PATCH", path, {"spec": {"target": "elsewhere/mail"}}, "application/merge-patch+json")
    expect(page.get_by_text("The object has changed since you began to edit it.")).to_be_visible()
    page.get_by_role("button", name="Discard the edit and load the new state").click()
    expect(page.get_by_role("textbox", name="YAML of mail")).to_contain_text("elsewhere")


def test_an_unsaved_edit_at_one_version_is_kept(console: ConsolePage, api: Api) -> None:
    api.send("POST", backups.COLLECTION, backups.backup("draft", "v1", {"schedule": "0 3 * * *", "bucket": "shop"}))
    comparison = f"/console/compare/{backups.GROUP}/backups/default/draft"
    page = visit(console, f"{comparison}?edit=v1", "draft")
    edit_line(page, "bucket: shop", text="-2")
    expect(page.get_by_role("button", name="Save at v1")).to_be_enabled()
    page = visit(console, comparison, "draft")
    expect(page.get_by_text("You have an unsaved edit at v1.")).to_be_visible()
    page.get_by_role("link", name="Continue").click()
    expect(page.get_by_role("textbox", name="YAML of draft")).to_contain_text("shop-2")
    expect(cell(page, "bucket", 1)).to_contain_text("shop-2")
    page.get_by_role("button", name="Discard it").click()
    expect(page.get_by_role("textbox", name="YAML of draft")).not_to_contain_text("shop-2")
    expect(page.get_by_text("This is your unsaved edit.")).to_have_count(0)
    api.send("DELETE", f"{backups.COLLECTION}/draft")


def test_a_version_that_cannot_be_converted(console: ConsolePage, api: Api) -> None:
    spec = {"schedule": "0 3 * * *", "bucket": "shop"}
    api.send("POST", backups.COLLECTION, backups.backup("unconvertible", "v1", spec))
    page = visit(console, f"/console/compare/{backups.GROUP}/backups/default/unconvertible", "unconvertible")
    expect(cell(page, "Error", 0)).to_contain_text("v1beta1 cannot express this backup")
    expect(cell(page, "bucket", 1)).to_have_text("shop")
    visit(console, "/console/server", "Server")
    failures = page.get_by_role("list", name="Failed conversions")
    expect(failures.get_by_role("listitem")).to_contain_text(backups.NAME)
    api.send("DELETE", f"{backups.COLLECTION}/unconvertible")


def test_schemas_of_two_versions(console: ConsolePage) -> None:
    page = visit(console, SCHEMAS, "Schemas")
    expect(page.get_by_role("heading", name="v1beta1 and v1")).to_be_visible()
    tree = page.get_by_role("list", name="Differences between v1beta1 and v1")
    expect(tree.get_by_text("only in v1beta1")).to_have_count(4)
    expect(tree.get_by_text("only in v1", exact=True)).to_have_count(5)
    page.get_by_label("To").select_option("v1beta1")
    expect(page.get_by_text("Choose two different versions.")).to_be_visible()
    console.check_accessibility()


def test_a_pasted_crd_that_breaks_stored_objects(console: ConsolePage, api: Api) -> None:
    page = visit(console, f"{SCHEMAS}?tab=new", "Schemas")
    page.get_by_label("Manifest of the new CRD").fill(yaml.safe_dump(backups.next_release()))
    page.get_by_role("button", name="Compare").click()
    expect(page.get_by_role("status").filter(has_text="This release breaks something")).to_be_visible()
    expect(page.get_by_text("of 3 stored objects lose a field")).to_be_visible()
    findings = page.get_by_role("region", name="Findings of the server")
    expect(findings.get_by_role("listitem").filter(has_text="field-removed")).to_contain_text(
        "spec.timeZone was removed"
    )
    tree = page.get_by_role("list", name="Changes of v1")
    for text in ("breaking: field removed", "breaking: limit tightened", "breaking: became required"):
        expect(tree.get_by_text(text)).to_be_visible()
    console.check_accessibility()
    assert "timeZone" in json.dumps(api.send("GET", f"{CRDS}/{backups.NAME}")), "nothing is changed"
    page.get_by_label("Manifest of the new CRD").fill("kind: Namespace")
    page.get_by_role("button", name="Compare").click()
    expect(page.get_by_role("alert")).to_have_text("The text contains no CustomResourceDefinition.")


def test_a_migration(console: ConsolePage, api: Api) -> None:
    page = visit(console, "/console/migrations", "Migrations")
    progress = page.get_by_role("progressbar", name="Backup stored at v1")
    expect(progress).to_have_attribute("aria-valuemax", "3")
    expect(page.get_by_text("Objects at old versions")).to_be_visible()
    console.check_accessibility()
    page.get_by_role("button", name="Migrate to v1 for Backup").click()
    expect(page.get_by_role("table").get_by_text("Succeeded")).to_be_visible()
    expect(progress).to_have_attribute("aria-valuenow", "3")
    expect(page.get_by_text("All at v1")).to_be_visible()
    assert api.send("GET", f"{CRDS}/{backups.NAME}")["status"]["storedVersions"] == ["v1"]


def test_opened_reports_stay_in_the_browser(console: ConsolePage, tmp_path: Path) -> None:
    manifest, report = tmp_path / "crd.yaml", tmp_path / "prove.json"
    manifest.write_text(yaml.safe_dump(backups.crd()))
    polykind = str(Path(sys.executable).with_name("polykind"))
    flags = [f"--crd={manifest}", f"--converter={backups.CONVERTER}", f"--save={tmp_path}", "--json"]
    proof = [polykind, "prove", *flags, "--examples=15", "--property=there-and-back"]
    report.write_bytes(subprocess.run(proof, stdout=subprocess.PIPE, check=False).stdout)
    page = visit(console, "/console/reports", "Reports")
    sent = len(console.requests)
    page.get_by_label("Open a report").and_(page.locator("input")).set_input_files(report)
    expect(page.get_by_role("heading", name=backups.NAME)).to_be_visible()
    expect(page.get_by_role("link", name="failed").first).to_be_visible()
    finding = page.locator("article").filter(has_text="there-and-back").filter(has_text="v1 → v1beta1")
    expect(finding.get_by_role("row", name="spec.timeZone")).to_contain_text("dropped")
    console.check_accessibility()
    rehearsal = {
        "ok": False,
        "steps": [
            {
                "release": "2.0.yaml",
                "direction": "forward",
                "versions": ["v1*"],
                "objects": 2,
                "phases": [{"name": "read", "text": "every object is read", "seconds": 0.5}],
                "findings": [{"phase": "read", "level": "error", "text": "orders lost spec.verbose"}],
            }
        ],
    }
    (tmp_path / "rehearse.json").write_text(json.dumps(rehearsal))
    page.locator("input[type=file]").set_input_files(tmp_path / "rehearse.json")
    expect(page.get_by_role("list", name="Steps").get_by_text("orders lost spec.verbose")).to_be_visible()
    manifest.write_text("kind: x")
    page.locator("input[type=file]").set_input_files(manifest)
    expect(page.get_by_role("alert")).to_contain_text("The file is not JSON")
    assert len(console.requests) == sent, "nothing is sent to the server"


def test_the_health_of_the_server(console: ConsolePage) -> None:
    page = visit(console, "/console/server", "Server")
    expect(page.get_by_role("status").filter(has_text="Ready")).to_be_visible()
    expect(page.get_by_role("list", name="Checks")).to_contain_text("store")
    plot = page.locator(".plot").filter(has=page.get_by_role("heading", name="Requests", exact=True))
    expect(plot.get_by_role("img", name="Requests: reads")).to_be_visible()
    plot.get_by_text("Values as a table").first.click()
    expect(plot.get_by_role("rowheader").first).to_be_visible()
    console.check_accessibility()


def test_a_user_with_few_rights(console_page: ConsolePage, api: Api) -> None:
    api.send("POST", "/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "reader"}})
    rules = [{"apiGroups": [backups.GROUP], "resources": ["backups"], "verbs": ["get", "list", "watch"]}]
    roles = "/apis/rbac.authorization.k8s.io/v1"
    api.send("POST", f"{roles}/clusterroles", {"metadata": {"name": "read-backups"}, "rules": rules})
    binding = {
        "metadata": {"name": "read-backups"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "read-backups"},
        "subjects": [{"kind": "ServiceAccount", "name": "reader", "namespace": "default"}],
    }
    api.send("POST", f"{roles}/clusterrolebindings", binding)
    token = api.send("POST", "/api/v1/namespaces/default/serviceaccounts/reader/token", {"spec": {}})
    console_page.sign_in(token["status"]["token"], COMPARISON)
    page = console_page.page
    expect(page.get_by_role("rowheader", name="timeZone", exact=True)).to_be_visible()
    page.get_by_role("button", name="Edit at v1", exact=True).click()
    expect(page.get_by_role("heading", name="You may not change this object")).to_be_visible()
    page.get_by_role("link", name="Migrations").click()
    expect(page.get_by_role("heading", name="You may not list migrations")).to_be_visible()
    page.get_by_role("link", name="Server").click()
    expect(page.get_by_role("heading", name="You may not read the metrics")).to_be_visible()
