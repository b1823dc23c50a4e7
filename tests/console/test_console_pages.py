"""The server's side of the console: files, caching, headers, the redirect of browsers, and its flag."""

from __future__ import annotations

import asyncio
import gzip
import json
import ssl
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import aiohttp
import pytest

from polykind.console.console_files import load_files
from polykind.console.console_pages import ConsolePages
from polykind.http.messages import Request
from polykind.operations.responses import Response
from tests.console.conftest import ROOT
from tests.support.live import Live, live

BROWSER = "text/html,application/xhtml+xml,*/*;q=0.8"


@pytest.fixture
def built(tmp_path: Path) -> Path:
    """A folder of built files."""
    folder = tmp_path / "built"
    (folder / "assets").mkdir(parents=True)
    (folder / "index.html.gz").write_bytes(gzip.compress(b"<html>console</html>"))
    (folder / "assets" / "index-a1b2.js.gz").write_bytes(gzip.compress(b"start()"))
    (folder / ".complete").write_text("")
    (tmp_path / "secret.html.gz").write_bytes(gzip.compress(b"secret"))
    return folder


@dataclass
class Site:
    """The pages of a console with given files and issuers."""

    folder: Path
    issuers: tuple[str, ...] = ()

    def get(self, path: str, method: str = "GET", **headers: str) -> Response:
        pages = ConsolePages(lambda: [{"issuer": url, "clientID": "console"} for url in self.issuers])
        pages._files = load_files(self.folder)
        sent = {name.replace("_", "-").encode(): value.encode() for name, value in headers.items()}
        return pages.respond(Request(method, path, "", sent, b""))


def header(response: Response, name: str) -> str:
    return dict(response.headers).get(name.encode(), b"").decode()


def test_pages_of_the_application_are_its_index(built: Path) -> None:
    for path in ("/console/", "/console/kinds", "/console/objects/core/v1/pods/default/a.html"):
        response = Site(built).get(path, accept_encoding="gzip")
        assert response.status == 200
        assert response.content_type == b"text/html; charset=utf-8"
        assert gzip.decompress(bytes(response.body)) == b"<html>console</html>"  # type: ignore[arg-type]
        assert header(response, "Content-Encoding") == "gzip"
        assert header(response, "Cache-Control") == "no-cache"


def test_clients_without_gzip_get_the_content_decompressed(built: Path) -> None:
    response = Site(built).get("/console/assets/index-a1b2.js")
    assert (response.status, response.body) == (200, b"start()")
    assert header(response, "Content-Encoding") == ""


def test_files_with_a_hash_are_kept_forever(built: Path) -> None:
    response = Site(built).get("/console/assets/index-a1b2.js", accept_encoding="gzip")
    assert header(response, "Cache-Control") == "public, max-age=31536000, immutable"
    assert response.content_type == b"text/javascript; charset=utf-8"


def test_an_unchanged_file_is_not_sent_again(built: Path) -> None:
    etag = header(Site(built).get("/console/"), "Etag")
    again = Site(built).get("/console/", if_none_match=etag)
    assert (again.status, again.body) == (304, b"")


@pytest.mark.parametrize(
    "path",
    ["/console/assets/../../secret.html", "/console/assets/%2e%2e/secret.html", "/console/assets/unknown.js"],
)
def test_only_built_files_are_served(built: Path, path: str) -> None:
    assert Site(built).get(path).status == 404


def test_paths_do_not_reach_the_file_system(built: Path) -> None:
    for path in (
        "/console/../secret.html",
        "/console/%2e%2e/secret.html",
        "/console//etc/passwd",
        "/console/.complete",
    ):
        assert Site(built).get(path).body == b"<html>console</html>"


def test_every_response_has_strict_headers(built: Path) -> None:
    site = Site(built, ("https://issuer.example.com/realms/a",))
    policy = header(site.get("/console/"), "Content-Security-Policy")
    assert policy == (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; "
        "connect-src 'self' https://issuer.example.com; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    for path in (
        "/console/",
        "/console/assets/index-a1b2.js",
        "/console/config.json",
        "/console/assets/none",
        "/console",
    ):
        response = site.get(path)
        assert header(response, "X-Content-Type-Options") == "nosniff"
        assert header(response, "Referrer-Policy") == "no-referrer"


def test_other_methods_are_not_allowed(built: Path) -> None:
    response = Site(built).get("/console/", method="POST")
    assert (response.status, header(response, "Allow")) == (405, "GET, HEAD")


def test_a_console_that_is_not_built_says_how_to_build_it(tmp_path: Path) -> None:
    response = Site(tmp_path / "missing").get("/console/")
    assert response.status == 503
    assert b"make console" in bytes(response.body)  # type: ignore[arg-type]


def test_issuers_are_in_the_configuration(built: Path) -> None:
    response = Site(built, ("https://issuer.example.com",)).get("/console/config.json")
    assert json.loads(bytes(response.body)) == {  # type: ignore[arg-type]
        "issuers": [{"issuer": "https://issuer.example.com", "clientID": "console"}]
    }


def test_the_lockfile_names_no_registry() -> None:
    lock = json.loads((ROOT / "console" / "package-lock.json").read_text())
    assert [name for name, package in lock["packages"].items() if "resolved" in package] == []


# ---------------------------------------------------------------------- in a server


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Live]:
    async with live(tmp_path) as running:
        yield running


async def fetch(server: Live, path: str, **headers: str) -> tuple[int, str, str]:
    """Return the status, the type and the location of a response."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    async with (
        aiohttp.ClientSession(skip_auto_headers=["Accept"]) as client,
        client.get(server.server.url + path, headers=headers, ssl=context, allow_redirects=False) as response,
    ):
        return response.status, response.content_type, response.headers.get("Location", "")


async def test_a_browser_at_the_root_is_sent_to_the_console(server: Live) -> None:
    assert (await fetch(server, "/", Accept=BROWSER))[::2] == (302, "/console/")
    assert (await fetch(server, "/console", Accept=BROWSER))[::2] == (302, "/console/")


async def test_api_clients_at_the_root_are_not_affected(server: Live) -> None:
    token = {"Authorization": f"Bearer {server.server.token}"}
    assert (await fetch(server, "/", Accept="*/*"))[0] == 403
    assert (await fetch(server, "/", **token))[:2] == (200, "application/json")
    assert (await fetch(server, "/", Accept=BROWSER, **token))[:2] == (200, "application/json")
    assert (await fetch(server, "/console-of-mine", Accept=BROWSER, **token))[0] == 404


async def test_the_console_needs_no_credentials_and_ignores_wrong_ones(server: Live) -> None:
    assert (await fetch(server, "/console/config.json"))[:2] == (200, "application/json")
    assert (await fetch(server, "/console/config.json", Authorization="Bearer wrong"))[0] == 200


async def test_the_flag_turns_the_console_off(tmp_path: Path) -> None:
    async with live(tmp_path, console=False) as server:
        token = {"Authorization": f"Bearer {server.server.token}"}
        assert (await fetch(server, "/", Accept=BROWSER))[0] == 403
        assert (await fetch(server, "/console/", **token))[0] == 404


async def test_the_console_is_not_imported_before_its_first_request(tmp_path: Path) -> None:
    code = (
        "import asyncio, sys, pathlib\n"
        "from polykind.server.server import Server\n"
        "from polykind.server.settings import Settings\n"
        "async def main():\n"
        f"    async with Server(Settings(data_dir=pathlib.Path({str(tmp_path)!r}), secure_port=0)):\n"
        "        print([name for name in sys.modules if name.startswith('polykind.console')])\n"
        "asyncio.run(main())\n"
    )
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", code, stdout=asyncio.subprocess.PIPE)
    out, _ = await process.communicate()
    assert out == b"[]\n"
