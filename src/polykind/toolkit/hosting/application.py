"""Conversions as an ASGI application, to be mounted in any server or framework.

app = asgi(crontabs)  # uvicorn module:app --ssl-certfile=... --ssl-keyfile=...
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from typing import Any

from polykind.toolkit.hosting.answering import MOST_BYTES, SECONDS, THREADS, Answering, Reply

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]


class _Gone(Exception):
    """The client has hung up in the middle of its request."""


def asgi(
    *converters: Any, most_bytes: int = MOST_BYTES, seconds: float = SECONDS, threads: int = THREADS
) -> Application:
    """An application that answers ConversionReviews by converters, which are anything that `--converter` may name.

    Raises ValueError for those that cannot be hosted.
    """
    answering = Answering(converters, most_bytes=most_bytes, seconds=seconds, threads=threads)

    async def application(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await _live(answering, receive, send)
        elif scope["type"] == "http":
            await _answer(answering, scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1003})
        else:
            raise ValueError(f"ASGI scopes of type {scope['type']!r} are not known")

    return application


async def _live(answering: Answering, receive: Receive, send: Send) -> None:
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            answering.close()
            return


async def _answer(answering: Answering, scope: Scope, receive: Receive, send: Send) -> None:
    length = next((int(value) for name, value in scope["headers"] if name.lower() == b"content-length"), None)
    try:
        reply = await answering.reply(scope["method"], scope["path"], length, _chunks(receive))
    except _Gone:
        return
    assert reply is not None
    await send({"type": "http.response.start", "status": reply.status, "headers": _headers(reply)})
    await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else reply.body})


async def _chunks(receive: Receive) -> AsyncIterator[bytes]:
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise _Gone
        yield message.get("body", b"")
        more = message.get("more_body", False)
        # A server that has the whole body at hand need not let anybody else run meanwhile.
        await asyncio.sleep(0)


def _headers(reply: Reply) -> list[tuple[bytes, bytes]]:
    named = {"content-type": reply.content_type, "content-length": str(len(reply.body)), **reply.headers}
    return [(name.lower().encode(), value.encode()) for name, value in named.items()]
