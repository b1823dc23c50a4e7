"""Calls to one webhook over HTTPS: kept connections, one deadline, bounded answers, the reference's complaints.

Imported on the first call, in a thread: aiohttp takes a while to load.
"""

from __future__ import annotations

import asyncio
import io
import re
import socket
import ssl
import time
from collections.abc import Callable
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.connector import Connection
from yarl import URL

from polykind.golang.fmt import go_quote
from polykind.webhook import certificate_errors, transport_errors
from polykind.webhook.resolver import Endpoint
from polykind.webhook.status_errors import Answer
from polykind.webhook.target import Target
from polykind.webhook.transport_errors import Fault

_CONNECTIONS = 32
_IDLE_SECONDS = 90.0
_CONNECT_SECONDS = 10.0
_RETRIES = 10
_REDIRECTS = 10
_LONGEST_WAIT = 3600
_quoted_line = re.compile(r"b'(.*?)'").search
"""The line that the library's parser could not read."""
_HEADERS = {
    "Content-Type": "application/json",
    "Accept": "application/json, */*",
    "Accept-Encoding": "gzip",
    "User-Agent": "kube-apiserver-admission",
}


class _Places(AbstractResolver):
    """Connects to where the service lives, whatever name the URL has; remembers which address it gave last."""

    def __init__(self, endpoint: Callable[[], Endpoint]) -> None:
        self._endpoint = endpoint
        self.asked: Endpoint | None = None
        self.reached: Endpoint | None = None

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        place = self.asked = self.reached = self._endpoint()
        loop = asyncio.get_running_loop()
        found = await loop.getaddrinfo(place.host, place.port, family=family, type=socket.SOCK_STREAM)
        out: list[ResolveResult] = [
            {"hostname": host, "host": str(a[0]), "port": place.port, "family": f, "proto": proto, "flags": 0}
            for f, _, proto, _, a in found
        ]
        if out:
            self.reached = Endpoint(out[0]["host"], place.port)
        return out

    async def close(self) -> None:
        pass


class _Response(aiohttp.ClientResponse):
    """An answer that knows the certificate it came with: a short one has given its connection back when we see it."""

    certificate_errors: dict[str, Any] | None = None

    async def start(self, connection: Connection) -> aiohttp.ClientResponse:
        transport = connection.transport
        self.certificate = transport.get_extra_info("peercert") if transport else None
        return await super().start(connection)


class Session:
    """The connections to one webhook. `expires` is the end of the certificate it showed last."""

    def __init__(
        self, target: Target, trust: ssl.SSLContext, endpoint: Callable[[], Endpoint], *, bare: bool = False
    ) -> None:
        self._target = target
        self._bare = bare
        self._endpoint = endpoint
        self._places = _Places(endpoint)
        trace = aiohttp.TraceConfig()
        trace.on_connection_reuseconn.append(_reused)
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                ssl=trust,
                resolver=self._places,
                use_dns_cache=False,
                limit=_CONNECTIONS,
                keepalive_timeout=_IDLE_SECONDS,
            ),
            headers=_HEADERS,
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_SECONDS),
            trace_configs=[trace],
            response_class=_Response,
        )
        self.expires: datetime | None = None

    async def close(self) -> None:
        await self._session.close()

    async def post(self, body: bytes, most: int, seconds: float, told: float | None = None) -> Answer:
        """The answer to a POST, retried while it asks for that. Raises Fault; no answer above `most` bytes is read.

        `told`: the seconds that the webhook is told of, if they are not those that are waited.
        """
        url = f"{self._target.url}?timeout={told or seconds:g}s"
        deadline = time.monotonic() + seconds
        stage = _Stage()
        try:
            async with asyncio.timeout(seconds):
                for retry in range(_RETRIES + 1):
                    answer, wait = await self._redirected(url, body, most, stage)
                    if wait is None or retry == _RETRIES:
                        break
                    stage.now = "waiting"
                    await asyncio.sleep(wait)
                return answer
        except aiohttp.ClientError as error:
            raise await self._fault(error, url, stage, deadline - time.monotonic()) from error
        except TimeoutError:
            raise _late(url, stage, self._bare) from None
        except (OSError, ValueError) as error:
            raise await self._fault(error, url, stage, deadline - time.monotonic()) from error

    async def _redirected(self, url: str, body: bytes, most: int, stage: _Stage) -> tuple[Answer, float | None]:
        """Follows redirects that repeat the POST, on the same server only: the CRD names whom to trust."""
        at = URL(url, encoded=True)
        for _ in range(_REDIRECTS):
            answer, headers = await self._persistent(at, body, most, stage)
            location = headers.get("Location", "")
            if answer.status not in (307, 308) or not location:
                break
            moved = at.join(URL(location))
            if moved.origin() != at.origin():
                break
            at = moved
        return answer, _retry_after(answer.status, headers.get("Retry-After", ""))

    async def _persistent(self, at: URL, body: bytes, most: int, stage: _Stage) -> tuple[Answer, Any]:
        """One call; once more if a kept connection turns out to be closed, since converting twice does no harm."""
        kept = SimpleNamespace(reused=False)
        try:
            return await self._once(at, body, most, stage, kept)
        except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError) as error:
            if not kept.reused or isinstance(error, aiohttp.ClientConnectorError) or stage.now != "headers":
                raise
        return await self._once(at, body, most, stage, SimpleNamespace(reused=False))

    async def _once(self, at: URL, body: bytes, most: int, stage: _Stage, kept: SimpleNamespace) -> tuple[Answer, Any]:
        stage.now = "headers"
        # As a stream, so that a large body is written piece by piece.
        sent = self._session.post(at, data=io.BytesIO(body), allow_redirects=False, trace_request_ctx=kept)
        async with sent as response:
            stage.now = "body"
            self._look_at_certificate(response)
            read = bytearray()
            length = response.content_length
            if length is not None and length > most:
                raise _too_large(most)
            async for chunk in response.content.iter_any():
                read += chunk
                if len(read) > most:
                    raise _too_large(most)
        return Answer(response.status, response.headers.get("Content-Type", ""), bytes(read)), response.headers

    def _look_at_certificate(self, response: aiohttp.ClientResponse) -> None:
        seen = response.certificate if isinstance(response, _Response) else None
        if seen and "notAfter" in seen:
            self.expires = datetime.fromtimestamp(ssl.cert_time_to_seconds(seen["notAfter"]), UTC)

    async def _fault(self, error: Exception, url: str, stage: _Stage, seconds: float) -> Fault:
        wanted = self._places.asked or self._endpoint()
        reached = self._places.reached or wanted
        if stage.now == "body":
            broken = isinstance(error, (aiohttp.ClientPayloadError, aiohttp.ServerDisconnectedError))
            return transport_errors.reading("unexpected EOF" if broken else str(error), "Connection")
        if isinstance(error, aiohttp.ConnectionTimeoutError):
            return transport_errors.posting(url, await transport_errors.unconnected(reached), "Timeout")
        if isinstance(error, aiohttp.ClientConnectorCertificateError):
            refused = error.certificate_error
            if isinstance(refused, ssl.SSLCertVerificationError):
                words = await certificate_errors.fault(
                    reached, self._target.server_name, refused, max(0.1, min(5.0, seconds))
                )
                return transport_errors.posting(url, words, "TLS")
        if isinstance(error, aiohttp.ClientConnectorError):
            return await _unconnected(error.os_error, url, wanted, reached)
        if isinstance(error, ssl.SSLError):
            return transport_errors.posting(url, transport_errors.handshake(error), "TLS")
        if isinstance(error, aiohttp.ServerDisconnectedError):
            return transport_errors.posting(url, "EOF", "Connection")
        if isinstance(error, aiohttp.ClientResponseError):
            line = _quoted_line(error.message)
            said = go_quote(line[1]) if line else f": {' '.join(error.message.split())}"
            words = f"malformed HTTP response {said}"
            return transport_errors.posting(
                url, f"net/http: HTTP/1.x transport connection broken: {words}", "Connection"
            )
        if isinstance(error, ConnectionResetError) or "reset" in str(error):
            return transport_errors.posting(url, f"read tcp {reached}: read: connection reset by peer", "Connection")
        return transport_errors.posting(url, str(error) or type(error).__name__, "Connection")


class _Stage:
    """How far a call has come: to headers, into the body, or waiting for another try."""

    __slots__ = ("now",)

    def __init__(self) -> None:
        self.now = "headers"


async def _reused(_session: aiohttp.ClientSession, context: SimpleNamespace, _params: object) -> None:
    context.trace_request_ctx.reused = True


async def _unconnected(error: OSError, url: str, wanted: Endpoint, reached: Endpoint) -> Fault:
    if isinstance(error, ssl.SSLError):
        words = transport_errors.handshake(error)
        if words.startswith("tls: first record"):
            words = await transport_errors.first_record(reached)
        return transport_errors.posting(url, words, "TLS")
    if isinstance(error, ConnectionResetError):
        # The TCP connection stood: an end without a word during the handshake is an EOF in Go, a reset is a reset.
        ended = error.errno is None
        words = "EOF" if ended else f"read tcp {reached}: read: connection reset by peer"
        return transport_errors.posting(url, words, "Connection")
    return transport_errors.posting(url, transport_errors.dialing(error, wanted, reached), "Connection")


def _late(url: str, stage: _Stage, bare: bool) -> Fault:
    late = "context deadline exceeded"
    if stage.now == "body":
        by = "" if bare else " (Client.Timeout or context cancellation while reading body)"
        return transport_errors.reading(f"{late}{by}", "Timeout")
    if bare or stage.now == "waiting":
        return transport_errors.posting(url, late, "Timeout")
    return transport_errors.posting(url, f"{late} (Client.Timeout exceeded while awaiting headers)", "Timeout")


def _too_large(most: int) -> Fault:
    return transport_errors.reading(f"the answer is larger than {most} bytes", "Answer", divisible=True)


def _retry_after(status: int, value: str) -> float | None:
    """How long the server asks us to wait before another try; None if it does not."""
    if status != 429 and status < 500:
        return None
    try:
        seconds = int(value)
    except ValueError:
        return None
    return float(min(max(seconds, 0), _LONGEST_WAIT))
