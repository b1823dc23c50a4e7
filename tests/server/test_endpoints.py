"""What is served besides resources, as a client meets it."""

from __future__ import annotations

import gzip
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import yaml

from polykind.http.messages import Request, Response
from tests.support.live import Live, live
from tests.support.widgets import GROUP, definition

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Live]:
    async with live(tmp_path) as running:
        await running.define(definition())
        yield running


async def ask(running: Live, path: str, method: str = "GET", **headers: str) -> tuple[int, dict[bytes, bytes], bytes]:
    """Straight to the application; names of headers with underscores for dashes."""
    where, _, query = path.partition("?")
    sent = {name.replace("_", "-").encode(): value.encode() for name, value in headers.items()}
    sent[b"authorization"] = f"Bearer {running.server.token}".encode()
    answer = await running.server.http.app(Request(method, where, query, sent, b""))
    assert isinstance(answer, Response)
    body = answer.body if isinstance(answer.body, bytes) else b"".join(answer.body)
    return answer.status, {b"Content-Type": answer.content_type, **dict(answer.headers)}, body


@pytest.mark.parametrize(
    "path",
    ["/apis", "/apis/", f"/apis/{GROUP}", f"/apis/{GROUP}/v1", "/api", "/api/v1", "/version", "/", "/index.html"],
)
async def test_documents_are_json(running: Live, path: str) -> None:
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
async def test_what_is_not_there(running: Live, path: str) -> None:
    status, headers, body = await ask(running, path)
    assert (status, body) == (404, b"404 page not found\n")
    assert headers[b"X-Content-Type-Options"] == b"nosniff"


async def test_what_is_below_the_version_is_missing_with_a_status(running: Live) -> None:
    status, _, body = await ask(running, "/version/more")
    assert (status, json.loads(body)["message"]) == (404, "the server could not find the requested resource")


@pytest.mark.parametrize("path", ["/openapi/v3/", f"/openapi/v3/apis/{GROUP}/v1/", f"/openapi/v3/apis/{GROUP}/v9"])
async def test_openapi_that_is_not_there_is_missing_in_every_form(running: Live, path: str) -> None:
    assert (await ask(running, path, accept="application/yaml"))[::2] == (404, b"")


@pytest.mark.parametrize(
    ("path", "accept", "forms"),
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
async def test_documents_of_built_in_kinds_must_be_asked_for_by_a_name(
    running: Live, path: str, accept: str, forms: str
) -> None:
    status, _, body = await ask(running, path, accept=accept)
    says = f"406: Not Acceptable\n\nAvailable representations: {forms}"
    assert (status, yaml.safe_load(body)["message"]) == (406, says)


async def test_groups_below_a_slash_are_never_aggregated(running: Live) -> None:
    status, _, body = await ask(running, "/apis/", accept=f"{AGGREGATED},application/json")
    assert (status, json.loads(body)["kind"]) == (200, "APIGroupList")
    assert (await ask(running, "/apis/", accept=AGGREGATED))[0] == 406


@pytest.mark.parametrize("form", ["W/{}", '"other", {}', "*"])
async def test_openapi_is_known_by_any_of_the_tags_that_a_client_names(running: Live, form: str) -> None:
    path = f"/openapi/v3/apis/{GROUP}/v1"
    tag = (await ask(running, path))[1][b"Etag"].decode()
    assert (await ask(running, path, if_none_match=form.format(tag)))[0] == 304
    assert (await ask(running, path, if_none_match='"other"'))[0] == 200


async def test_discovery_in_yaml(running: Live) -> None:
    _, headers, body = await ask(running, f"/apis/{GROUP}/v1", accept="application/yaml")
    assert headers[b"Content-Type"] == b"application/yaml"
    assert {r["name"] for r in yaml.safe_load(body)["resources"]} == {"widgets", "widgets/status"}


@pytest.mark.parametrize(
    ("path", "accept"),
    [("/apis", AGGREGATED), ("/api", AGGREGATED), ("/openapi/v2", ""), (f"/openapi/v3/apis/{GROUP}/v1", "")],
)
async def test_documents_with_a_tag_are_not_sent_twice(running: Live, path: str, accept: str) -> None:
    _, headers, body = await ask(running, path, accept=accept)
    tag = headers[b"Etag"].decode()
    status, headers, again = await ask(running, path, accept=accept, if_none_match=tag)
    assert (status, again) == (304, b"")
    await running.define(definition("gadgets", "Gadget"))
    status, headers, changed = await ask(running, path, accept=accept, if_none_match=tag)
    assert (status, changed == body) == ((304, False) if path == "/api" else (200, False))


async def test_openapi_v3_is_found_by_its_hash(running: Live) -> None:
    _, _, index = await ask(running, "/openapi/v3")
    where = json.loads(index)["paths"][f"apis/{GROUP}/v1"]["serverRelativeURL"]
    status, _, body = await ask(running, where)
    assert status == 200
    assert f"/apis/{GROUP}/v1/widgets" in json.loads(body)["paths"]
    path = where.partition("?")[0]
    status, headers, _ = await ask(running, f"{path}?hash=OLD")
    assert (status, headers[b"Location"].decode()) == (301, where)


async def test_head_is_answered_where_the_reference_answers_it(running: Live) -> None:
    for path, expected in (("/apis", 200), ("/openapi/v3", 200), ("/readyz", 200), ("/version", 405), ("/api/v1", 405)):
        status, _ = await running.client.send("HEAD", path)
        assert status == expected
    assert (await running.client.call("GET", "/readyz")).body == b"ok"


async def test_aggregated_discovery_may_be_kept(running: Live) -> None:
    _, headers, _ = await ask(running, "/apis", accept=AGGREGATED)
    assert (headers[b"Cache-Control"], headers[b"Vary"]) == (b"public", b"Accept")


async def test_a_document_at_its_own_address_never_changes(running: Live) -> None:
    path = f"/openapi/v3/apis/{GROUP}/v1"
    status, moved, _ = await ask(running, f"{path}?hash=old")
    assert (status, moved[b"Vary"]) == (301, b"Accept")
    _, headers, _ = await ask(running, moved[b"Location"].decode())
    assert headers[b"Cache-Control"] == b"public, immutable"
    assert headers[b"Expires"].endswith(b" UTC")
    assert headers[b"Etag"] == moved[b"Etag"]


async def test_the_whole_of_openapi_is_compressed_for_who_takes_it(running: Live) -> None:
    _, headers, body = await ask(running, "/openapi/v2", accept_encoding="gzip")
    assert headers[b"Content-Encoding"] == b"gzip"
    _, _, plain = await ask(running, "/openapi/v2")
    assert gzip.decompress(body) == plain


async def test_checks_that_are_not_there_cannot_be_excluded(running: Live) -> None:
    _, headers, body = await ask(running, "/readyz?verbose&exclude=b&exclude=a&exclude=ping")
    warning = b'warn: some health checks cannot be excluded: no matches for "a","b"'
    lines = body.splitlines()
    assert (lines[0], lines[-2:]) == (b"[+]ping excluded: ok", [warning, b"readyz check passed"])
    assert headers[b"X-Content-Type-Options"] == b"nosniff"


@pytest.mark.parametrize("path", ["/apis", "/api/v1", f"/apis/{GROUP}", "/api/v1/namespaces/nope"])
async def test_a_layout_for_people_may_be_part_of_what_is_accepted(running: Live, path: str) -> None:
    _, _, body = await ask(running, path, accept="application/json;pretty=1")
    assert body.startswith(b"{\n  ")


async def test_the_version_begins_with_its_numbers(running: Live) -> None:
    _, _, body = await ask(running, "/version")
    numbers = ["major", "minor", "emulationMajor", "emulationMinor", "minCompatibilityMajor", "minCompatibilityMinor"]
    assert list(json.loads(body))[:6] == numbers
