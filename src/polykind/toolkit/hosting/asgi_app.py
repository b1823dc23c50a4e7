"""Conversions as an ASGI application, to mount in any server or framework.

app = asgi(crontabs)  # uvicorn module:app --ssl-certfile=... --ssl-keyfile=...
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from typing import Any

from polykind.toolkit.hosting.review_handler import MAX_BYTES, THREADS, TIMEOUT_SECONDS, HostResponse, ReviewHandler

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]


class _ClientDisconnectedError(Exception):
    """The client closed the connection in the middle of its request."""


def asgi(
    *converters: Any, most_bytes: int = MAX_BYTES, seconds: float = TIMEOUT_SECONDS, threads: int = THREADS
) -> Application:
    """Return an ASGI application that converts ConversionReviews.

    `converters` are converter objects, such as Conversions or functions. `most_bytes` is the maximum size of a review,
    `seconds` the timeout of a review, and `threads` the number of threads that run conversions.

    Raise ValueError if a converter cannot be hosted.
    """
    handler = ReviewHandler(converters, most_bytes=most_bytes, seconds=seconds, threads=threads)

    async def application(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await _handle_lifespan(handler, receive, send)
        elif scope["type"] == "http":
            await _handle_http(handler, scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1003})
        else:
            raise ValueError(f"ASGI scopes of type {scope['type']!r} are not supported")

    return application


async def _handle_lifespan(handler: ReviewHandler, receive: Receive, send: Send) -> None:
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            handler.close()
            return


async def _handle_http(handler: ReviewHandler, scope: Scope, receive: Receive, send: Send) -> None:
    length = next((int(value) for name, value in scope["headers"] if name.lower() == b"content-length"), None)
    try:
        response = await handler.handle(scope["method"], scope["path"], length, _chunks(receive))
    except _ClientDisconnectedError:
        return
    assert response is not None
    await send({"type": "http.response.start", "status": response.status, "headers": _headers(response)})
    await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else response.body})


async def _chunks(receive: Receive) -> AsyncIterator[bytes]:
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise _ClientDisconnectedError
        yield message.get("body", b"")
        more = message.get("more_body", False)
        # Let other tasks run: if the server already has the whole body, receive() returns without switching tasks.
        await asyncio.sleep(0)


def _headers(response: HostResponse) -> list[tuple[bytes, bytes]]:
    named = {"content-type": response.content_type, "content-length": str(len(response.body)), **response.headers}
    return [(name.lower().encode(), value.encode()) for name, value in named.items()]
