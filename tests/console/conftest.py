"""A real Chromium that uses the console of a real server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, ViewportSize, expect, sync_playwright

from polykind.contract import JsonObject
from tests.console.demo import Api, order_crd
from tests.support.browser import executable
from tests.support.kubectl import Kubectl
from tests.support.server import ServerProcess

ROOT = Path(__file__).parents[2]
AXE = ROOT / "console" / "node_modules" / "axe-core" / "axe.min.js"
BUILT = ROOT / "src" / "polykind" / "console" / "built" / "index.html.gz"
DEADLINE = 30_000
PHONE: ViewportSize = {"width": 390, "height": 844}
DESKTOP: ViewportSize = {"width": 1280, "height": 860}

expect.set_options(timeout=DEADLINE)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip all tests that open the console if it is not built."""
    if BUILT.exists():
        return
    for item in items:
        if "console_page" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.skip(reason="the console is not built: run make console"))


class ConsolePage:
    """A tab with the console. It collects errors of the page and the requests that it sends."""

    def __init__(self, page: Page, url: str) -> None:
        self.page = page
        self.url = url
        self.errors: list[str] = []
        self.requests: list[str] = []
        self.expected: list[str] = []
        """Parts of the messages that the test provokes, such as 401 for a wrong token."""
        page.set_default_timeout(DEADLINE)
        page.on("console", lambda message: self._log(message.type, message.text))
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("request", lambda request: self.requests.append(request.url))

    def _log(self, kind: str, text: str) -> None:
        if kind in ("error", "warning") and not any(part in text for part in self.expected):
            self.errors.append(text)

    def open(self, path: str = "/console/") -> None:
        self.page.goto(self.url + path)

    def sign_in(self, token: str, path: str = "/console/") -> None:
        """Open a page as the user of a token."""
        # The browser logs the failed attempt without credentials.
        self.expected.append("status of 40")
        self.open(path)
        self.page.get_by_label("Token", exact=True).fill(token)
        self.page.get_by_role("button", name="Sign in", exact=True).click()
        expect(self.page.get_by_role("navigation", name="Pages")).to_be_visible()

    def check_accessibility(self) -> None:
        """Fail if axe-core finds a serious or critical problem."""
        # The Content-Security-Policy forbids scripts of other origins, so the script is evaluated by the debugger.
        self.page.evaluate(AXE.read_text())
        found: list[dict[str, Any]] = self.page.evaluate("axe.run(document).then(result => result.violations)")
        serious = [
            f"{violation['id']}: {violation['help']}: {node['html'][:300]} {node['failureSummary']}"
            for violation in found
            if violation["impact"] in ("serious", "critical")
            for node in violation["nodes"]
        ]
        assert not serious, "\n".join(serious)

    def check_requests(self) -> None:
        """Fail if the page has sent a request to another server."""
        assert [url for url in self.requests if not url.startswith(self.url)] == []


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """One browser for the tests of a module. Each test has its own context, without cookies and storage of others."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=executable(),
            args=["--no-sandbox", "--disable-dev-shm-usage", "--hide-scrollbars", "--enable-precise-memory-info"],
        )
        yield browser
        browser.close()


@pytest.fixture
def context(chromium: Browser) -> Iterator[BrowserContext]:
    context = chromium.new_context(ignore_https_errors=True, viewport=DESKTOP, reduced_motion="reduce")
    yield context
    context.close()


@pytest.fixture
def console_page(context: BrowserContext, server: ServerProcess) -> Iterator[ConsolePage]:
    """A tab that shows nothing yet. The test fails if the page logs an error that it does not expect."""
    found = ConsolePage(context.new_page(), server.url)
    yield found
    assert found.errors == []


@pytest.fixture
def console(console_page: ConsolePage, server: ServerProcess) -> ConsolePage:
    """A tab whose user is the administrator."""
    console_page.sign_in(server.token)
    return console_page


@pytest.fixture
def kubectl(server: ServerProcess, tmp_path: Path) -> Kubectl:
    return Kubectl(server.kubeconfig, tmp_path)


@pytest.fixture
def api(server: ServerProcess) -> Api:
    return Api(server)


@pytest.fixture
def orders(api: Api, group: str) -> str:
    """A kind of this test's own, with the namespace `shop`. Return its group."""
    api.define(order_crd(group))
    if "shop" not in [item["metadata"]["name"] for item in api.send("GET", "/api/v1/namespaces")["items"]]:
        api.send("POST", "/api/v1/namespaces", {"metadata": {"name": "shop"}})
    return group


def create_user(api: Api, name: str, rules: list[JsonObject]) -> str:
    """Create a service account in the namespace `shop` with these rules in it. Return a token."""
    accounts = "/api/v1/namespaces/shop/serviceaccounts"
    api.send("POST", accounts, {"metadata": {"name": name}})
    rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/shop"
    api.send("POST", f"{rbac}/roles", {"metadata": {"name": name}, "rules": rules})
    binding = {
        "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name},
        "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": "shop"}],
    }
    api.send("POST", f"{rbac}/rolebindings", binding)
    review = api.send("POST", f"{accounts}/{name}/token", {"spec": {"expirationSeconds": 3600}})
    return str(review["status"]["token"])
