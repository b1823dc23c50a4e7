"""Endpoints besides resources on a running server."""

from __future__ import annotations

import gzip
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import yaml

from polykind.http.messages import Request
from polykind.operations.responses import Response
from tests.support.live import Live, live
from tests.support.widgets import GROUP, definition

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Live]:
    async with live(tmp_path) as running:
        await running.define(definition())
        yield running


async def ask(running: Live, path: str, method: str = "GET", **headers: str) -> tuple[int, dict[bytes, bytes], bytes]:
    """Call the application directly. Header names have underscores instead of dashes."""
    location, _, query = path.partition("?")
    request_headers = {name.replace("_", "-").encode(): value.encode() for name, value in headers.items()}
    request_headers[b"authorization"] = f"Bearer {running.server.token}".encode()
    response = await running.server.http.app(Request(method, location, query, request_headers, b""))
    assert isinstance(response, Response)
    body = response.body if isinstance(response.body, bytes) else b"".join(response.body)
    return response.status, {b"Content-Type": response.content_type, **dict(response.headers)}, body


@pytest.mark.parametrize(
    "path",
    ["/apis", "/apis/", f"/apis/{GROUP}", f"/apis/{GROUP}/v1", "/api", "/api/v1", "/version", "/", "/index.html"],
)
async def test_endpoints_return_json(running: Live, path: str) -> None:
    status, _, body = await ask(running, path)
    assert status == 200
    assert json.loads(body)


@pytest.mark.parametrize(
    "path",
    [
        *("/apis/absent.example.com", f"/apis/{GROUP}/v9", "/nonsense", "/openapi/v4", "/%ff"),
        *("/healthz/", "/readyz/ping/", "/metrics/", "/openapi/v2/", "/apis//", "//"),
    ],
)
async def test_unknown_paths_return_a_plain_404(running: Live, path: str) -> None:
    status, headers, body = await ask(running, path)
    assert (status, body) == (404, b"404 page not found\n")
    assert headers[b"X-Content-Type-Options"] == b"nosniff"


async def test_path_below_version_returns_a_status_404(running: Live) -> None:
    status, _, body = await ask(running, "/version/more")
    assert (status, json.loads(body)["message"]) == (404, "the server could not find the requested resource")


@pytest.mark.parametrize("path", ["/openapi/v3/", f"/openapi/v3/apis/{GROUP}/v1/", f"/openapi/v3/apis/{GROUP}/v9"])
async def test_unknown_openapi_document_returns_404_for_every_media_type(running: Live, path: str) -> None:
    assert (await ask(running, path, accept="application/yaml"))[::2] == (404, b"")


@pytest.mark.parametrize(
    ("path", "accept", "media_types"),
    [
        ("/version", "application/yaml", "application/json"),
        ("/version/", "application/*", "application/json"),
        ("/api", "application/*", "application/json, application/yaml, application/vnd.kubernetes.protobuf"),
        (
            "/apis/apiextensions.k8s.io/v1",
            "application/*",
            "application/json, application/yaml, application/vnd.kubernetes.protobuf",
        ),
        ("/api/v1", "text/html", "application/json, application/yaml, application/vnd.kubernetes.protobuf"),
    ],
)
async def test_builtin_endpoints_reject_wildcard_accept_headers(
    running: Live, path: str, accept: str, media_types: str
) -> None:
    status, _, body = await ask(running, path, accept=accept)
    message = f"406: Not Acceptable\n\nAvailable representations: {media_types}"
    assert (status, yaml.safe_load(body)["message"]) == (406, message)


async def test_apis_with_trailing_slash_is_never_aggregated(running: Live) -> None:
    status, _, body = await ask(running, "/apis/", accept=f"{AGGREGATED},application/json")
    assert (status, json.loads(body)["kind"]) == (200, "APIGroupList")
    assert (await ask(running, "/apis/", accept=AGGREGATED))[0] == 406


@pytest.mark.parametrize("if_none_match_value", ["W/{}", '"other", {}', "*"])
async def test_openapi_matches_any_etag_of_if_none_match(running: Live, if_none_match_value: str) -> None:
    path = f"/openapi/v3/apis/{GROUP}/v1"
    tag = (await ask(running, path))[1][b"Etag"].decode()
    assert (await ask(running, path, if_none_match=if_none_match_value.format(tag)))[0] == 304
    assert (await ask(running, path, if_none_match='"other"'))[0] == 200


async def test_discovery_is_available_in_yaml(running: Live) -> None:
    _, headers, body = await ask(running, f"/apis/{GROUP}/v1", accept="application/yaml")
    assert headers[b"Content-Type"] == b"application/yaml"
    assert {r["name"] for r in yaml.safe_load(body)["resources"]} == {"widgets", "widgets/status"}


@pytest.mark.parametrize(
    ("path", "accept"),
    [("/apis", AGGREGATED), ("/api", AGGREGATED), ("/openapi/v2", ""), (f"/openapi/v3/apis/{GROUP}/v1", "")],
)
async def test_documents_with_an_etag_return_304_until_they_change(running: Live, path: str, accept: str) -> None:
    _, headers, body = await ask(running, path, accept=accept)
    tag = headers[b"Etag"].decode()
    status, headers, second_body = await ask(running, path, accept=accept, if_none_match=tag)
    assert (status, second_body) == (304, b"")
    await running.define(definition("gadgets", "Gadget"))
    status, headers, changed = await ask(running, path, accept=accept, if_none_match=tag)
    assert (status, changed == body) == ((304, False) if path == "/api" else (200, False))


async def test_openapi_v3_redirects_an_outdated_hash(running: Live) -> None:
    _, _, index = await ask(running, "/openapi/v3")
    location = json.loads(index)["paths"][f"apis/{GROUP}/v1"]["serverRelativeURL"]
    status, _, body = await ask(running, location)
    assert status == 200
    assert f"/apis/{GROUP}/v1/widgets" in json.loads(body)["paths"]
    path = location.partition("?")[0]
    status, headers, _ = await ask(running, f"{path}?hash=OLD")
    assert (status, headers[b"Location"].decode()) == (301, location)


async def test_head_requests_get_the_same_status_as_from_kube_apiserver(running: Live) -> None:
    for path, expected in (("/apis", 200), ("/openapi/v3", 200), ("/readyz", 200), ("/version", 405), ("/api/v1", 405)):
        status, _ = await running.client.send("HEAD", path)
        assert status == expected
    assert (await running.client.call("GET", "/readyz")).body == b"ok"


async def test_aggregated_discovery_may_be_cached(running: Live) -> None:
    _, headers, _ = await ask(running, "/apis", accept=AGGREGATED)
    assert (headers[b"Cache-Control"], headers[b"Vary"]) == (b"public", b"Accept")


async def test_openapi_document_with_its_hash_is_immutable(running: Live) -> None:
    path = f"/openapi/v3/apis/{GROUP}/v1"
    status, redirect, _ = await ask(running, f"{path}?hash=old")
    assert (status, redirect[b"Vary"]) == (301, b"Accept")
    _, headers, _ = await ask(running, redirect[b"Location"].decode())
    assert headers[b"Cache-Control"] == b"public, immutable"
    assert headers[b"Expires"].endswith(b" UTC")
    assert headers[b"Etag"] == redirect[b"Etag"]


async def test_openapi_v2_is_compressed_if_the_client_accepts_gzip(running: Live) -> None:
    _, headers, body = await ask(running, "/openapi/v2", accept_encoding="gzip")
    assert headers[b"Content-Encoding"] == b"gzip"
    _, _, uncompressed = await ask(running, "/openapi/v2")
    assert gzip.decompress(body) == uncompressed


async def test_excluding_unknown_health_checks_gives_a_warning(running: Live) -> None:
    _, headers, body = await ask(running, "/readyz?verbose&exclude=b&exclude=a&exclude=ping")
    warning = b'warn: some health checks cannot be excluded: no matches for "a","b"'
    lines = body.splitlines()
    assert (lines[0], lines[-2:]) == (b"[+]ping excluded: ok", [warning, b"readyz check passed"])
    assert headers[b"X-Content-Type-Options"] == b"nosniff"


@pytest.mark.parametrize("path", ["/apis", "/api/v1", f"/apis/{GROUP}", "/api/v1/namespaces/nope"])
async def test_accept_header_can_request_pretty_json(running: Live, path: str) -> None:
    _, _, body = await ask(running, path, accept="application/json;pretty=1")
    assert body.startswith(b"{\n  ")


async def test_version_starts_with_its_numbers(running: Live) -> None:
    _, _, body = await ask(running, "/version")
    numbers = ["major", "minor", "emulationMajor", "emulationMinor", "minCompatibilityMajor", "minCompatibilityMinor"]
    assert list(json.loads(body))[:6] == numbers


@pytest.mark.parametrize("path", ["/statusz", "/flagz"])
async def test_debugging_pages_are_served_for_every_method(running: Live, path: str) -> None:
    for method in ("GET", "POST"):
        status, headers, body = await ask(running, path, method)
        assert (status, headers[b"Content-Type"]) == (200, b"text/plain; charset=utf-8")
        assert body.startswith(f"\napiserver {path[1:]}\n".encode())
    assert (await ask(running, f"{path}/"))[0] == 404
    assert path in json.loads((await ask(running, "/"))[2])["paths"]


@pytest.mark.parametrize(
    ("accept", "start"),
    [
        ("application/json", b'{"kind":"Status"'),
        ("application/yaml", b"apiVersion: v1\n"),
        ("application/vnd.kubernetes.protobuf", b'{\n  "kind": "Status"'),
    ],
)
async def test_unacceptable_debugging_page_is_a_status_without_protobuf(
    running: Live, accept: str, start: bytes
) -> None:
    status, _, body = await ask(running, "/statusz", accept=accept)
    assert status == 406
    assert body.startswith(start)
