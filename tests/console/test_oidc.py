"""Sign-in at an OpenID Connect issuer: authorization code with PKCE, and refresh tokens."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, expect

from polykind.contract import JsonObject
from tests.console.conftest import ROOT, ConsolePage
from tests.console.demo import Api
from tests.support.server import serving


@pytest.fixture
def authenticator() -> Iterator[JsonObject]:
    """A running issuer, as an AuthenticationConfiguration declares it."""
    command = [sys.executable, "-m", "tests.console.login_issuer"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT) as process:
        assert process.stdout is not None
        yield json.loads(process.stdout.readline())
        process.kill()


@pytest.fixture
def jane(context: BrowserContext, tmp_path: Path, authenticator: JsonObject) -> Iterator[ConsolePage]:
    """A tab of a user that the issuer has signed in, and who may do everything."""
    config = tmp_path / "authentication.json"
    configuration = {"apiVersion": "apiserver.config.k8s.io/v1", "kind": "AuthenticationConfiguration"}
    config.write_text(json.dumps({**configuration, "jwt": [authenticator]}))
    with serving(tmp_path, f"--authentication-config={config}") as server:
        api = Api(server)
        binding = {
            "metadata": {"name": "jane"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "jane"}],
        }
        api.send("POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", binding)
        colours = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "colours"}, "data": {"sky": "blue"}}
        api.apply("/api/v1/namespaces/default/configmaps/colours", colours, "polykind-console")
        console = ConsolePage(context.new_page(), server.url)
        console.expected.append("status of 40")
        console.page.clock.install()
        console.open("/console/objects/core/v1/configmaps/default/colours?tab=edit")
        console.page.get_by_role("button", name="Sign in at 127.0.0.1").click()
        expect(console.page.get_by_role("button", name="User jane")).to_be_visible()
        yield console
        assert console.errors == []


def edit(console: ConsolePage) -> None:
    """Change a value in the editor."""
    editor = console.page.get_by_role("textbox", name="Edit colours as YAML")
    editor.get_by_text("blue").dblclick()
    console.page.keyboard.type("grey")
    expect(editor).to_contain_text("grey")


def apply_edit(console: ConsolePage) -> None:
    console.page.get_by_role("button", name="Apply", exact=True).click()


def session_token(console: ConsolePage) -> str:
    return str(console.page.evaluate("sessionStorage.getItem('polykind.token')"))


def end_session(console: ConsolePage, authenticator: JsonObject) -> None:
    """Let the server reject the token, and the issuer the refresh token."""
    console.page.evaluate("sessionStorage.setItem('polykind.token', 'expired')")
    console.page.request.post(f"{authenticator['issuer']['url']}/revoke")


def test_an_issuer_signs_in_and_the_user_returns_to_the_page(jane: ConsolePage) -> None:
    page = jane.page
    assert page.url == f"{jane.url}/console/objects/core/v1/configmaps/default/colours?tab=edit"
    assert "refresh" not in page.evaluate("JSON.stringify([sessionStorage, localStorage])")
    # A code that the console has not asked for is ignored.
    jane.open("/console/?code=forged&state=forged")
    expect(page.get_by_role("button", name="User jane")).to_be_visible()


def test_a_token_is_renewed_before_it_expires(jane: ConsolePage) -> None:
    before = session_token(jane)
    edit(jane)
    jane.page.clock.fast_forward("59:50")
    apply_edit(jane)
    expect(jane.page.get_by_role("option").filter(has_text="sky: grey")).to_be_visible()
    second = session_token(jane)
    assert second != before
    # A renewed token is used until it expires, whatever the browser's clock says.
    jane.page.get_by_role("link", name="Server", exact=True).click()
    expect(jane.page.get_by_text("Ready", exact=True)).to_be_visible()
    assert session_token(jane) == second
    # The first refresh token is used up: the issuer has sent a second one.
    jane.page.clock.fast_forward("59:50")
    jane.page.get_by_role("link", name="Kinds", exact=True).click()
    expect(jane.page.get_by_role("heading", name="Built-in kinds")).to_be_visible()
    assert session_token(jane) != second


def test_a_rejected_token_is_renewed(jane: ConsolePage) -> None:
    edit(jane)
    jane.page.evaluate("sessionStorage.setItem('polykind.token', 'expired')")
    apply_edit(jane)
    expect(jane.page.get_by_role("option").filter(has_text="sky: grey")).to_be_visible()
    expect(jane.page.get_by_role("dialog")).to_have_count(0)


def test_requests_wait_for_a_new_sign_in(jane: ConsolePage, authenticator: JsonObject) -> None:
    valid = session_token(jane)
    edit(jane)
    end_session(jane, authenticator)
    apply_edit(jane)
    jane.page.get_by_role("dialog").get_by_label("Token", exact=True).fill(valid)
    jane.page.keyboard.press("Enter")
    expect(jane.page.get_by_role("option").filter(has_text="sky: grey")).to_be_visible()
    expect(jane.page.get_by_role("dialog")).to_have_count(0)


def test_an_edit_survives_a_new_sign_in_at_the_issuer(jane: ConsolePage, authenticator: JsonObject) -> None:
    page = jane.page
    edit(jane)
    end_session(jane, authenticator)
    apply_edit(jane)
    dialog = page.get_by_role("dialog", name="Sign in again")
    expect(dialog.get_by_text("The session has ended.")).to_be_visible()
    page.keyboard.press("Escape")
    expect(dialog).to_be_visible()
    jane.check_accessibility()
    dialog.get_by_role("button", name="Sign in at 127.0.0.1").click()
    expect(page.get_by_text("This is your unsaved edit.")).to_be_visible()
    apply_edit(jane)
    expect(page.get_by_role("option").filter(has_text="sky: grey")).to_be_visible()
