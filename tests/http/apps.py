"""Applications for tests of the HTTP server."""

from __future__ import annotations

import asyncio
import json

from polykind.http.messages import Request
from polykind.operations.responses import Response, Sink, Stream


async def echo(request: Request) -> Response:
    """Respond with a description of the request as JSON."""
    description = {
        "method": request.method,
        "path": request.path,
        "query": request.query,
        "protocol": request.protocol,
        "headers": {name.decode(): value.decode() for name, value in request.headers.items()},
        "body": request.body.decode(),
    }
    return Response(200, json.dumps(description).encode())


class BlockedApp:
    """An application that responds when `go` is set, and counts its calls and cancellations."""

    def __init__(self) -> None:
        self.go = asyncio.Event()
        self.started = 0
        self.cancelled = 0

    async def __call__(self, request: Request) -> Response:
        self.started += 1
        try:
            await self.go.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        return Response(200, request.path.encode())


class StreamingApp:
    """An application that responds to /watch with streams, records their sinks, and otherwise echoes."""

    def __init__(self) -> None:
        self.sinks: list[Sink] = []
        self.ended = 0

    async def __call__(self, request: Request) -> Response | Stream:
        if request.path != "/watch":
            return await echo(request)
        return Stream(self.sinks.append, self._on_end)

    def _on_end(self) -> None:
        self.ended += 1
