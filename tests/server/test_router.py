"""The router: paths and methods to verbs, errors, and requests without credentials."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from polykind.contract import UnknownOutcomeError
from polykind.http.messages import Request
from tests.support.live import Live, live
from tests.support.widgets import ALL, GROUP, WIDGETS, definition, widget

NOT_FOUND = b"404 page not found\n"


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Live]:
    async with live(tmp_path) as running:
        await running.define(definition())
        await running.define(definition("racks", "Rack", scope="Cluster"))
        await running.ask("POST", WIDGETS, widget("w"))
        await running.ask("POST", f"/apis/{GROUP}/v1/racks", widget("r", kind="Rack"))
        yield running


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", WIDGETS, 200),
        ("GET", f"{WIDGETS}/", 200),
        ("GET", f"{WIDGETS}/w", 200),
        ("GET", f"{WIDGETS}/w/", 200),
        ("GET", f"{WIDGETS}/%77", 200),
        ("GET", ALL, 200),
        ("GET", f"/apis/{GROUP}/v2/widgets", 200),
        ("GET", f"/apis/{GROUP}/v1/racks/r", 200),
        ("GET", f"{WIDGETS}/w/status", 200),
        ("GET", f"{WIDGETS}/a%2Fb", 404),
        ("GET", f"{WIDGETS}/%ff%fe", 404),
        ("GET", f"{WIDGETS}/absent", 404),
        ("GET", f"{WIDGETS}/w/scale", 404),
        ("GET", f"{WIDGETS}/w/nonsense", 404),
        ("GET", f"{ALL}/w", 404),
        ("GET", f"/apis/{GROUP}/v1/namespaces/default/racks", 404),
        ("GET", f"/apis/{GROUP}/v1/namespaces/default/racks/r", 404),
        ("GET", f"/apis/{GROUP}/v3/widgets", 404),
        ("GET", f"/apis/{GROUP}/v1/gadgets", 404),
        ("GET", "/apis/other.example.com/v1/widgets", 404),
        ("GET", "/api/v1/saucers", 404),
        ("GET", "/api/v2/namespaces", 404),
        ("GET", "//", 404),
        ("GET", "///", 404),
        ("GET", f"/{WIDGETS}", 404),
        ("DELETE", f"/{WIDGETS}/w", 404),
        ("GET", "//api/v1/namespaces", 404),
        ("POST", ALL, 404),
        ("DELETE", ALL, 404),
        ("PUT", WIDGETS, 400),
        ("PATCH", WIDGETS, 415),
        ("DELETE", f"{WIDGETS}/w/status", 405),
        ("POST", f"{WIDGETS}/w/status", 405),
    ],
)
async def test_status_of_paths_and_methods(running: Live, method: str, path: str, status: int) -> None:
    reply = await running.client.call(method, path)
    assert reply.status == status, reply.body
    if status >= 400 and reply.body != NOT_FOUND:
        status_object = json.loads(reply.body)
        assert (status_object["kind"], status_object["code"]) == ("Status", status)


async def test_head_returns_the_headers_of_get(running: Live) -> None:
    response = await running.client.call("GET", f"{WIDGETS}/w")
    status, headers = await running.client.send("HEAD", f"{WIDGETS}/w")
    assert (status, headers[b"content-length"]) == (200, str(len(response.body)).encode())
    assert (await running.client.call("GET", "/readyz")).status == 200


@pytest.mark.parametrize("value", ["true", ""])
async def test_watch_parameter_starts_a_watch(running: Live, value: str) -> None:
    path = f"{WIDGETS}?watch={value}&timeoutSeconds=1"
    assert [e["type"] async for e in running.watch(path)] == ["ADDED"]


@pytest.mark.parametrize("query", ["watch=0", "watch=false", "watch=False"])
async def test_false_watch_parameter_returns_a_list(running: Live, query: str) -> None:
    assert (await running.ask("GET", f"{WIDGETS}?{query}"))["kind"] == "WidgetList"


async def test_legacy_watch_path_starts_a_watch(running: Live) -> None:
    path = f"/apis/{GROUP}/v1/watch/namespaces/default/widgets?timeoutSeconds=1"
    assert [e["object"]["metadata"]["name"] async for e in running.watch(path)] == ["w"]


async def test_timeout_parameter_limits_the_request(running: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    error = await running.ask("GET", f"{WIDGETS}?timeout=soon", expect=400)
    assert error["message"].startswith("invalid timeout specified in the request URL")
    stuck: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    async def never(*_: object) -> int:
        return await stuck

    monkeypatch.setattr(running.server.store, "revision", never)
    timeout = await running.ask("GET", f"{WIDGETS}?timeout=10ms", expect=504)
    assert timeout["reason"] == "Timeout"


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", f"{WIDGETS}/w?watch=1&timeout=soon", 400),
        ("DELETE", f"{WIDGETS}?watch=1&timeout=soon", 400),
        ("PUT", f"{WIDGETS}/w?watch=1&timeout=soon", 400),
        ("GET", "/version?watch=1&timeout=soon", 400),
        ("GET", f"{WIDGETS}?watch=0&timeout=soon", 400),
        ("GET", "/api/v1/namespaces/default/pods/p/log?timeout=soon", 404),
        ("GET", "/api/v1/namespaces/default/pods/p/proxy?timeout=soon", 404),
        ("POST", "/api/v1/namespaces/default/pods/p/exec?command=ls&timeout=soon", 404),
        ("GET", "/api/v1/namespaces/default/pods/p/status?timeout=soon", 400),
    ],
)
async def test_only_watches_and_streams_ignore_the_timeout(running: Live, method: str, path: str, status: int) -> None:
    await running.ask(method, path, {} if method == "PUT" else None, expect=status)


async def test_store_error_is_returned_as_a_status(running: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(*_: object, **__: object) -> int:
        raise UnknownOutcomeError("no answer came")

    with monkeypatch.context() as failing:
        failing.setattr(running.server.store, "put", broken)
        reply = await running.client.call("POST", WIDGETS, widget("x"))
    assert 500 <= reply.status < 600
    assert reply.json()["kind"] == "Status"
    await running.ask("POST", WIDGETS, widget("x"))


@pytest.mark.parametrize("path", ["/api/v1/watch", f"/apis/{GROUP}/v1/watch", f"/apis/{GROUP}/v1/proxy/"])
async def test_legacy_path_without_a_resource_returns_500(running: Live, path: str) -> None:
    reply = await running.client.call("GET", f"{path}?a&b")
    message = f"failed to create RequestInfo: unable to determine kind and namespace from url, {path}?a&amp;b"
    assert (reply.status, reply.headers[b"x-content-type-options"]) == (500, b"nosniff")
    assert reply.body.decode() == f'Internal Server Error: "{path}?a&amp;b": {message}\n'


@pytest.mark.parametrize("path", ["/api/v1/watch", f"/apis/{GROUP}/v1/proxy/"])
async def test_legacy_path_without_a_resource_needs_no_credentials(running: Live, path: str) -> None:
    assert await anonymous_status(running, "GET", path) == 500
    assert await anonymous_status(running, "GET", "/api/v1/namespaces") == 403


async def anonymous_status(running: Live, method: str, path: str, **headers: str) -> int:
    """Return the status of a request without a token, sent to the application directly."""
    request_headers = {name.replace("_", "-").encode(): value.encode() for name, value in headers.items()}
    return (await running.server.http.app(Request(method, path, "", request_headers, b""))).status


async def test_health_and_version_need_no_credentials(running: Live) -> None:
    for path in ("/healthz", "/readyz", "/version"):
        assert await anonymous_status(running, "GET", path) == 200
        assert await anonymous_status(running, "HEAD", path) in (200, 405)
        assert await anonymous_status(running, "POST", path) == 403
        assert await anonymous_status(running, "GET", path, authorization="Bearer wrong") == 401


async def test_empty_group_is_not_the_core_group(running: Live) -> None:
    for path in ("/apis//v1", "/apis//v1/namespaces", "/apis//v1/namespaces/default"):
        reply = await running.client.call("GET", path)
        assert (reply.status, reply.body) == (404, NOT_FOUND)


async def test_invalid_percent_escape_returns_400(running: Live) -> None:
    reply = await running.client.call("GET", f"{WIDGETS}/%zz")
    assert (reply.status, reply.body) == (400, b"400 Bad Request")


@pytest.mark.parametrize(
    ("method", "path", "accept", "status", "warned"),
    [
        ("GET", "endpoints", "application/json", 200, True),
        ("GET", "endpoints", "text/foo", 406, False),
        ("GET", "endpoints", "application/json;as=Foo;g=meta.k8s.io;v=v1", 406, True),
        ("PATCH", "endpoints/e", "application/json", 415, False),
    ],
)
async def test_media_type_that_the_router_rejects_gives_no_deprecation_warning(
    running: Live, method: str, path: str, accept: str, status: int, warned: bool
) -> None:
    running.client.accept = accept
    reply = await running.client.call(method, f"/api/v1/namespaces/default/{path}", None, "text/foo")
    assert (reply.status, b"warning" in reply.headers) == (status, warned)


@pytest.mark.parametrize(
    ("method", "path", "status", "text"),
    [
        ("GET", "configmaps", 200, ""),
        ("DELETE", "configmaps", 400, "Namespace parameter required."),
        ("GET", "configmaps/a", 400, "Namespace parameter required."),
        ("PUT", "configmaps/a", 400, "Namespace parameter required."),
        ("POST", "pods/a/exec", 400, "Namespace parameter required."),
        ("PUT", "configmaps", 405, "the server does not allow this method on the requested resource"),
        ("POST", "configmaps", 422, 'ConfigMap "a" is invalid: metadata.namespace: Required value'),
        ("GET", "nodes", 404, "the server could not find the requested resource"),
        ("POST", "nodes", 404, "the server could not find the requested resource"),
    ],
)
async def test_empty_namespace_in_the_path_of_a_built_in_resource(
    running: Live, method: str, path: str, status: int, text: str
) -> None:
    body = {"metadata": {"name": "a", "namespace": "default"}} if method in ("POST", "PUT") else None
    answer = await running.ask(method, f"/api/v1/namespaces//{path}", body, expect=status)
    assert answer.get("message", "") == text
