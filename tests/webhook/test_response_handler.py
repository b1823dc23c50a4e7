"""Informational responses of webhooks."""

from __future__ import annotations

import asyncio
import socket
import ssl
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest

from tests.conversion.conftest import Make
from tests.conversion.hook import Hook, Reply, convert_all, crontab
from tests.support.loop_time import worst_lag

LINES = 500_000
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


@asynccontextmanager
async def flooding_webhook(hook: Hook) -> AsyncIterator[str]:
    """Run a webhook in a thread that sends informational responses as fast as they are read. Yield its URL."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    hook.authority.issue_cert("127.0.0.1").configure_cert(context)

    def flood() -> None:
        with suppress(OSError):
            accepted, _ = listener.accept()
            with context.wrap_socket(accepted, server_side=True) as connection:
                connection.recv(65536)
                connection.sendall(CONTINUE * LINES)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(60)
        thread = threading.Thread(target=flood)
        thread.start()
        try:
            yield f"https://127.0.0.1:{listener.getsockname()[1]}/convert"
        finally:
            # The event loop closes the connection, which ends the thread.
            await asyncio.to_thread(thread.join)


async def failure(converter: Any) -> str:
    with pytest.raises(Exception) as caught:
        await converter.convert([crontab()], "example.com/v1")
    return str(caught.value)


async def test_many_informational_responses_are_refused_and_do_not_hold_the_event_loop(hook: Hook, make: Make) -> None:
    messages: list[str] = []

    async def call(url: str) -> None:
        messages.append(await failure(make(hook.webhook_config(url=url))))

    # The first call imports aiohttp.
    await make(hook.webhook_config()).convert([crontab()], "example.com/v1")
    async with flooding_webhook(hook) as url:
        lag = await worst_lag(call(url))
    assert "transport connection broken: net/http: too many 1xx informational responses; " in messages[0]
    assert lag < 0.05


@pytest.mark.parametrize("head", [CONTINUE, b"HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\n\r\n"])
async def test_some_informational_responses_are_skipped_before_each_response(
    hook: Hook, make: Make, head: bytes
) -> None:
    def reply(call: Any) -> Reply:
        body = convert_all(call).body
        final = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body)
        return Reply(raw=head * 100 + final + body)

    hook.behaviour = reply
    converter = make(hook.webhook_config())
    for _ in range(2):
        (out,) = await converter.convert([crontab()], "example.com/v1")
        assert out["apiVersion"] == "example.com/v1"
    assert [call.connection for call in hook.calls] == [1, 1]


async def test_one_informational_response_too_many_is_refused(hook: Hook, make: Make) -> None:
    hook.behaviour = lambda call: Reply(raw=CONTINUE * 101 + b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
    assert "too many 1xx informational responses" in await failure(make(hook.webhook_config()))


async def test_malformed_response_after_informational_ones_is_an_error(hook: Hook, make: Make) -> None:
    hook.behaviour = lambda call: Reply(raw=CONTINUE + b"what is this\r\n\r\n" * 1000, then_close=True)
    assert "malformed HTTP response" in await failure(make(hook.webhook_config()))
