"""Sign-in to the console with a token."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.console.conftest import ConsolePage
from tests.support.server import ServerProcess


def test_a_token_signs_in(console_page: ConsolePage, server: ServerProcess) -> None:
    console_page.sign_in(server.token)
    page = console_page.page
    expect(page.get_by_role("heading", name="Kinds", exact=True)).to_be_visible()
    expect(page.get_by_role("button", name="User admin")).to_be_visible()
    console_page.check_accessibility()
    console_page.check_requests()
    assert server.token not in page.url


def test_a_wrong_token_is_rejected(console_page: ConsolePage) -> None:
    console_page.expected += ["status of 401", "status of 403"]
    console_page.open("/console/kinds")
    page = console_page.page
    page.get_by_label("Token", exact=True).fill("wrong")
    page.get_by_role("button", name="Sign in", exact=True).click()
    expect(page.get_by_role("alert")).to_have_text("The server does not accept this token.")
    console_page.check_accessibility()


def test_signing_out_forgets_the_token(console: ConsolePage) -> None:
    page = console.page
    page.get_by_role("button", name="User admin").click()
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_label("Token", exact=True)).to_be_visible()
    page.reload()
    expect(page.get_by_label("Token", exact=True)).to_be_visible()
    assert page.evaluate("sessionStorage.length + localStorage.length") == 0
