"""Watches over WebSockets, with aiohttp's client."""

from __future__ import annotations

import json
from base64 import urlsafe_b64encode
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from polykind.contract import JsonObject
from tests.support.live import Live, live
from tests.support.widgets import GROUP, WIDGETS, definition, widget

WATCH = f"{WIDGETS}?watch=1"


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Live]:
    async with live(tmp_path, authorization_mode=("RBAC",)) as running:
        await running.define(definition())
        yield running


@pytest.fixture
async def browser() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(headers={"Origin": "http://localhost:4466"}) as session:
        yield session


def credentials(running: Live) -> tuple[str, ...]:
    """Return the subprotocols with which a browser authenticates."""
    token = urlsafe_b64encode(running.server.token.encode()).decode().rstrip("=")
    return f"base64url.bearer.authorization.k8s.io.{token}", "base64.binary.k8s.io"


def connect(
    browser: aiohttp.ClientSession, running: Live, path: str, accept: str = "*/*"
) -> aiohttp.client._WSRequestContextManager:
    url, headers = running.server.url + path, {"Accept": accept}
    return browser.ws_connect(url, protocols=credentials(running), headers=headers, ssl=False)


async def event(socket: aiohttp.ClientWebSocketResponse[bool]) -> JsonObject:
    message = await socket.receive(timeout=20)
    assert message.type is aiohttp.WSMsgType.TEXT
    assert message.data.endswith("}\n")
    decoded: JsonObject = json.loads(message.data)
    return decoded


async def test_browser_streams_the_events_of_an_http_watch(running: Live, browser: aiohttp.ClientSession) -> None:
    await running.ask("POST", WIDGETS, widget("first"))
    async with connect(browser, running, WATCH) as socket:
        assert socket.protocol == "base64.binary.k8s.io"
        seen = [await event(socket)]
        # The second client shares the first one's channel; the HTTP watch has a channel of its own.
        async with connect(browser, running, WATCH) as second:
            assert await event(second) == seen[0]
            await running.ask("POST", WIDGETS, widget("second"))
            seen.append(await event(socket))
            assert await event(second) == seen[1]
        await running.ask("DELETE", f"{WIDGETS}/second")
        seen.append(await event(socket))
    assert [(e["type"], e["object"]["metadata"]["name"]) for e in seen] == [
        ("ADDED", "first"),
        ("ADDED", "second"),
        ("DELETED", "second"),
    ]
    start = seen[0]["object"]["metadata"]["resourceVersion"]
    http = running.watch(f"{WATCH}&resourceVersion={start}&timeoutSeconds=1")
    assert [e async for e in http] == seen[1:]


async def test_watch_ends_with_a_close_frame(running: Live, browser: aiohttp.ClientSession) -> None:
    async with connect(browser, running, f"{WATCH}&timeoutSeconds=1") as socket:
        closed = await socket.receive(timeout=20)
        assert (closed.type, closed.data) == (aiohttp.WSMsgType.CLOSE, 1000)


async def test_error_before_the_first_event_is_an_event(running: Live, browser: aiohttp.ClientSession) -> None:
    await running.ask("POST", WIDGETS, widget("first"))
    future = f"{WATCH}&resourceVersion=99999999&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
    async with connect(browser, running, f"{future}&allowWatchBookmarks=true") as socket:
        failed = await event(socket)
        assert (failed["type"], failed["object"]["reason"]) == ("ERROR", "Timeout")
        assert (await socket.receive(timeout=20)).type is aiohttp.WSMsgType.CLOSE


async def test_protobuf_events_are_binary_messages(running: Live, browser: aiohttp.ClientSession) -> None:
    accept = "application/vnd.kubernetes.protobuf"
    path = "/api/v1/namespaces?watch=1&fieldSelector=metadata.name=default"
    async with connect(browser, running, path, accept) as socket:
        message = await socket.receive_bytes(timeout=20)
    assert message.startswith(b"\x0a\x05ADDED\x12")


async def test_table_events_are_messages(running: Live, browser: aiohttp.ClientSession) -> None:
    async with connect(browser, running, WATCH, "application/json;as=Table;g=meta.k8s.io;v=v1") as socket:
        for name, columns in (("first", True), ("second", False)):
            await running.ask("POST", WIDGETS, widget(name))
            table = (await event(socket))["object"]
            assert (table["rows"][0]["object"]["metadata"]["name"], bool(table["columnDefinitions"])) == (name, columns)


@pytest.mark.parametrize(
    ("path", "protocols", "status"),
    [
        pytest.param(WATCH, ("base64.binary.k8s.io",), 403, id="anonymous"),
        pytest.param(WATCH, ("base64url.bearer.authorization.k8s.io.bm8", "x"), 401, id="unknown token"),
        pytest.param(f"{WATCH}&labelSelector=(", None, 400, id="bad option"),
        pytest.param(f"/apis/{GROUP}/v1/gadgets?watch=1", None, 404, id="unknown resource"),
        pytest.param(WIDGETS, None, 200, id="list"),
    ],
)
async def test_errors_are_plain_responses(
    running: Live, browser: aiohttp.ClientSession, path: str, protocols: tuple[str, ...] | None, status: int
) -> None:
    with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
        await browser.ws_connect(running.server.url + path, protocols=protocols or credentials(running), ssl=False)
    assert refused.value.status == status
