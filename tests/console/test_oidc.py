"""Sign-in at an OpenID Connect issuer: authorization code with PKCE."""

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
from tests.support.server import serving


@pytest.fixture
def authenticator() -> Iterator[JsonObject]:
    """A running issuer, as an AuthenticationConfiguration declares it."""
    command = [sys.executable, "-m", "tests.console.login_issuer"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT) as process:
        assert process.stdout is not None
        yield json.loads(process.stdout.readline())
        process.kill()


def test_an_issuer_signs_in_and_the_user_returns_to_the_page(
    context: BrowserContext, tmp_path: Path, authenticator: JsonObject
) -> None:
    config = tmp_path / "authentication.json"
    configuration = {"apiVersion": "apiserver.config.k8s.io/v1", "kind": "AuthenticationConfiguration"}
    config.write_text(json.dumps({**configuration, "jwt": [authenticator]}))
    with serving(tmp_path, f"--authentication-config={config}") as server:
        console = ConsolePage(context.new_page(), server.url)
        console.expected.append("status of 40")
        console.open("/console/objects/core/v1/namespaces")
        page = console.page
        page.get_by_role("button", name="Sign in at 127.0.0.1").click()
        expect(page.get_by_role("button", name="User jane")).to_be_visible()
        expect(page.get_by_text("You may not list namespaces").first).to_be_visible()
        assert page.url == f"{server.url}/console/objects/core/v1/namespaces"
        # A code that the console has not asked for is ignored.
        console.open("/console/?code=forged&state=forged")
        expect(page.get_by_role("button", name="User jane")).to_be_visible()
        assert console.errors == []
