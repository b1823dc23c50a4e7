"""Restarts of the server, ended sessions, users with few rights, client certificates, and the first load."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, expect

from tests.console.conftest import BUILT, ConsolePage, create_user
from tests.console.demo import Api, order
from tests.support.kubectl import Kubectl
from tests.support.server import ServerProcess, serving


def test_watches_continue_after_a_restart_of_the_server(context: BrowserContext, tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        api = Api(server)
        configmaps = "/api/v1/namespaces/default/configmaps"
        api.send("POST", configmaps, {"metadata": {"name": "before"}})
        console = ConsolePage(context.new_page(), server.url)
        console.expected.append("net::ERR_")
        console.sign_in(server.token, "/console/objects/core/v1/configmaps?namespace=default")
        page = console.page
        expect(page.get_by_role("rowheader", name="before")).to_be_visible()
        server.kill()
        expect(page.get_by_text("Reconnecting…")).to_be_visible()
        expect(page.get_by_role("rowheader", name="before")).to_be_visible()
        server.start()
        api.send("POST", configmaps, {"metadata": {"name": "after"}})
        api.send("DELETE", f"{configmaps}/before")
        expect(page.get_by_role("rowheader", name="after")).to_be_visible()
        expect(page.get_by_role("rowheader", name="before")).to_have_count(0)
        expect(page.get_by_text("Live", exact=True)).to_be_visible()
        assert console.errors == []


def test_a_page_that_cannot_be_loaded_can_be_loaded_again(context: BrowserContext, tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        console = ConsolePage(context.new_page(), server.url)
        console.expected.append("net::ERR_")
        console.sign_in(server.token)
        server.kill()
        console.page.get_by_role("link", name="Reports", exact=True).click()
        expect(console.page.get_by_role("heading", level=1, name="The page cannot be loaded")).to_be_visible()
        server.start()
        console.page.get_by_role("button", name="Load again").click()
        expect(console.page.get_by_role("heading", level=1, name="Reports")).to_be_visible()


def test_an_ended_session_returns_to_the_page_after_sign_in(
    console_page: ConsolePage, api: Api, orders: str, server: ServerProcess
) -> None:
    everything = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}
    token = create_user(api, f"short-{orders.partition('.')[0]}", [everything])
    api.send("POST", f"/apis/{orders}/v1/namespaces/shop/orders", order("kept", "shop", 0, orders))
    path = f"/console/objects/{orders}/v1/orders?namespace=shop"
    console_page.sign_in(token, path)
    page = console_page.page
    expect(page.get_by_role("rowheader", name="kept")).to_be_visible()
    api.send("DELETE", f"/api/v1/namespaces/shop/serviceaccounts/short-{orders.partition('.')[0]}")
    page.get_by_role("link", name="kept").click()
    expect(page.get_by_text("The session has ended.")).to_be_visible()
    page.reload()
    expect(page.get_by_text("The session has ended.")).to_be_visible()
    console_page.check_accessibility()
    page.get_by_label("Token", exact=True).fill(server.token)
    page.get_by_role("button", name="Sign in", exact=True).click()
    expect(page.get_by_role("heading", name="kept")).to_be_visible()


def test_another_user_starts_with_a_fresh_page(
    console_page: ConsolePage, api: Api, orders: str, server: ServerProcess
) -> None:
    name = f"former-{orders.partition('.')[0]}"
    token = create_user(api, name, [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}])
    path = f"/apis/{orders}/v1/namespaces/shop/orders"
    api.send("POST", path, order("shared", "shop", 0, orders))
    console_page.sign_in(token, f"/console/objects/{orders}/v1/orders/shop/shared?tab=edit")
    page = console_page.page
    editor = page.get_by_role("textbox", name="Edit shared as YAML")
    editor.get_by_text("Lovelace").dblclick()
    page.keyboard.type("Byron")
    api.send("DELETE", f"/api/v1/namespaces/shop/serviceaccounts/{name}")
    page.get_by_role("button", name="Apply", exact=True).click()
    page.get_by_role("dialog", name="Sign in again").get_by_label("Token", exact=True).fill(server.token)
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="User admin")).to_be_visible()
    expect(editor).to_contain_text("Ada Lovelace")
    assert api.send("GET", f"{path}/shared")["spec"]["customer"] == "Ada Lovelace", "the request is not repeated"


def test_a_user_with_few_rights_sees_what_is_not_allowed(console_page: ConsolePage, api: Api, orders: str) -> None:
    rule = {"apiGroups": [orders], "resources": ["orders"], "verbs": ["get", "list", "watch"]}
    name = f"reader-{orders.partition('.')[0]}"
    token = create_user(api, name, [rule])
    api.send("POST", f"/apis/{orders}/v1/namespaces/shop/orders", order("mine", "shop", 0, orders))
    console_page.sign_in(token)
    page = console_page.page
    expect(page.get_by_text("You may not list CustomResourceDefinitions")).to_be_visible()
    expect(page.get_by_role("heading", name=orders)).to_be_visible()
    console_page.check_accessibility()
    console_page.open(f"/console/objects/{orders}/v1/orders")
    expect(page.get_by_text("You may not list orders")).to_be_visible()
    page.get_by_label("Namespace").fill("shop")
    page.get_by_label("Namespace").press("Enter")
    page.get_by_role("link", name="mine").click()
    page.get_by_role("link", name="Events").click()
    expect(page.get_by_text("You may not list events in shop")).to_be_visible()
    page.get_by_role("link", name="Edit").click()
    editor = page.get_by_role("textbox", name="Edit mine as YAML")
    editor.get_by_text("Lovelace").dblclick()
    page.keyboard.type("Byron")
    page.get_by_role("button", name="Apply", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("You may not change this object")
    console_page.check_accessibility()


def test_a_client_certificate_needs_no_token(chromium: Browser, tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        program = str(Path(sys.executable).with_name("polykind"))
        kubeconfig = tmp_path / "jane.kubeconfig"
        command = [program, "user", "add", "jane", "--group=system:masters", "--allow-system-identity"]
        command += [f"--data-dir={server.data_dir}"]
        with kubeconfig.open("wb") as file:
            subprocess.run(command, stdout=file, check=True)
        # The server notices a new user within seconds, and at its start at once.
        server.stop()
        server.start()
        certificate, key = _credentials(kubeconfig)
        context = chromium.new_context(
            ignore_https_errors=True, client_certificates=[{"origin": server.url, "cert": certificate, "key": key}]
        )
        console = ConsolePage(context.new_page(), server.url)
        console.open()
        expect(console.page.get_by_role("button", name="User jane")).to_be_visible()
        expect(console.page.get_by_role("heading", name="Kinds", exact=True)).to_be_visible()
        assert console.errors == []
        context.close()


def test_kubectl_proxy_adds_the_credentials(context: BrowserContext, kubectl: Kubectl, tmp_path: Path) -> None:
    with kubectl.follow("proxy", "--port=0", log=tmp_path / "proxy.log") as proxy:
        address = proxy.until("\n").rpartition(" ")[2].strip()
        console = ConsolePage(context.new_page(), f"http://{address}")
        console.open("/console/objects/core/v1/namespaces")
        expect(console.page.get_by_role("button", name="User admin")).to_be_visible()
        expect(console.page.get_by_role("rowheader", name="kube-system")).to_be_visible()
        assert console.errors == []


def _credentials(kubeconfig: Path) -> tuple[bytes, bytes]:
    import base64

    import yaml

    user = yaml.safe_load(kubeconfig.read_text())["users"][0]["user"]
    return base64.b64decode(user["client-certificate-data"]), base64.b64decode(user["client-key-data"])


@pytest.mark.skipif(not BUILT.exists(), reason="the console is not built: run make console")
def test_the_first_load_is_small(console: ConsolePage) -> None:
    page = console.page
    page.goto(f"{console.url}/console/kinds")
    expect(page.get_by_role("heading", name="Built-in kinds")).to_be_visible()
    sizes = page.evaluate(
        """performance.getEntriesByType("resource").concat(performance.getEntriesByType("navigation"))
            .filter(entry => entry.name.includes("/console/")).map(entry => entry.encodedBodySize)"""
    )
    assert 10_000 < sum(sizes) < 100_000
    whole = sum(file.stat().st_size for file in BUILT.parent.rglob("*.gz"))
    assert whole < 1_000_000
