"""A webhook on loopback whose misbehaviour each test chooses."""

from __future__ import annotations

import asyncio
import base64
import json
import re
import ssl
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Self

import trustme

from polykind.contract import JsonObject


@dataclass
class Call:
    """A request that the webhook received."""

    path: str
    headers: dict[str, str]
    review: JsonObject
    connection: int


@dataclass
class Reply:
    """An HTTP response. If `raw` is set, the hook writes it to the connection unchanged, and then `rest`."""

    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=lambda: {"Content-Type": "application/json"})
    raw: bytes | None = None
    rest: Iterable[bytes] = ()
    then_close: bool = False


Behaviour = Callable[[Call], Reply | Awaitable[Reply]]


class Hook:
    """The webhook server. `calls` records the requests, `behaviour` produces the replies."""

    def __init__(self, *names: str, behaviour: Behaviour, authority: trustme.CA | None = None) -> None:
        self.authority = authority or trustme.CA()
        self.names = names or ("127.0.0.1",)
        self.behaviour = behaviour
        self.calls: list[Call] = []
        self.connections = 0
        self.not_after: datetime | None = None
        self.on_peer: Callable[[JsonObject], object] = lambda _: None
        """A function that is called with the client certificate of each call."""
        self.certificate: trustme.LeafCert | None = None
        """The certificate. If it is None, the next start creates one."""
        self._port = 0
        self._writers: set[asyncio.StreamWriter] = set()
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> Self:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        if self.certificate is None:
            self.certificate = self.authority.issue_cert(*self.names, not_after=self.not_after)
        self.certificate.configure_cert(context)
        self.adjust(context)
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self._port, ssl=context)
        self._port = self.port
        return self

    def adjust(self, context: ssl.SSLContext) -> None:
        """Change the TLS settings before the hook listens."""

    async def __aexit__(self, *exc: object) -> None:
        assert self._server
        self._server.close()
        for writer in list(self._writers):
            writer.transport.abort()
        await self._server.wait_closed()
        await asyncio.sleep(0)

    async def stop(self) -> None:
        """Refuse connections from now on."""
        await self.__aexit__()

    async def start(self) -> None:
        """Listen again at the same port."""
        await self.__aenter__()

    def disconnect(self) -> None:
        """Close all connections, as a server does that has waited for a request for too long."""
        for writer in list(self._writers):
            writer.transport.abort()

    @property
    def port(self) -> int:
        assert self._server
        return int(self._server.sockets[0].getsockname()[1])

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}"

    @property
    def bundle(self) -> str:
        return base64.b64encode(self.authority.cert_pem.bytes()).decode()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        self.connections += 1
        number = self.connections
        with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError, ssl.SSLError):
            while await self._answer(reader, writer, number):
                pass
        self._writers.discard(writer)
        writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, number: int) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        line, *lines = head.strip().split("\r\n")
        headers = dict(re.split(r":\s*", one, maxsplit=1) for one in lines)
        body = await reader.readexactly(int(headers["Content-Length"]))
        call = Call(line.split(" ")[1], headers, json.loads(body), number)
        self.calls.append(call)
        if certificate := writer.get_extra_info("peercert"):
            self.on_peer(certificate)
        reply = self.behaviour(call)
        if not isinstance(reply, Reply):
            reply = await reply
        if reply.raw is not None:
            writer.write(reply.raw)
            for piece in reply.rest:
                await writer.drain()
                writer.write(piece)
        else:
            named = "".join(f"{k}: {v}\r\n" for k, v in reply.headers.items())
            writer.write(f"HTTP/1.1 {reply.status} X\r\n{named}Content-Length: {len(reply.body)}\r\n\r\n".encode())
            writer.write(reply.body)
        await writer.drain()
        return not reply.then_close
