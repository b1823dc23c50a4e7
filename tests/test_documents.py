"""What is served besides resources, as a client meets it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import yaml

from polykind.wire.request import Request
from polykind.wire.response import Response
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
    "path", ["/apis", "/apis/", f"/apis/{GROUP}", f"/apis/{GROUP}/v1", "/api", "/api/v1", "/version", "/"]
)
async def test_documents_are_json(running: Live, path: str) -> None:
    status, _, body = await ask(running, path)
    assert status == 200
    assert json.loads(body)


@pytest.mark.parametrize("path", ["/apis/absent.example.com", f"/apis/{GROUP}/v9", "/nonsense", "/openapi/v4", "/%ff"])
async def test_what_is_not_there(running: Live, path: str) -> None:
    status, headers, body = await ask(running, path)
    assert (status, body) == (404, b"404 page not found\n")
    assert headers[b"X-Content-Type-Options"] == b"nosniff"


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
    tag = headers[b"ETag"].decode()
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
