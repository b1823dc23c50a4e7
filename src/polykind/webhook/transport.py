"""HTTPS calls to one webhook, with persistent connections, one timeout for all retries, and a maximum response size.

The first call imports this module in a thread, because aiohttp takes a while to import.
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
from polykind.webhook.presence import WebhookPresence
from polykind.webhook.target import Endpoint, Target
from polykind.webhook.trace_context import trace_headers
from polykind.webhook.transport_errors import (
    HTTPResponse,
    TransportError,
    body_error,
    certificate_message,
    connect_timeout_message,
    dial_message,
    handshake_message,
    non_tls_message,
    request_error,
)

_CONNECTIONS = 32
_IDLE_SECONDS = 90.0
_CONNECT_SECONDS = 10.0
_RETRIES = 10
_REDIRECTS = 10
_MAX_WAIT_SECONDS = 3600
_quoted_line = re.compile(r"b'(.*?)'").search
"""Finds, in aiohttp's error message, the line of the response that aiohttp could not parse."""
_HEADERS = {
    "Content-Type": "application/json",
    "Accept": "application/json, */*",
    "Accept-Encoding": "gzip",
    "User-Agent": "kube-apiserver-admission",
}


class _EndpointResolver(AbstractResolver):
    """Resolves every host name to the webhook's endpoint.

    For error messages, `requested` is the endpoint before the DNS lookup and `reached` the address after it.
    """

    def __init__(self, endpoint: Callable[[], Endpoint]) -> None:
        self._endpoint = endpoint
        self.requested: Endpoint | None = None
        self.reached: Endpoint | None = None

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        endpoint = self.requested = self.reached = self._endpoint()
        loop = asyncio.get_running_loop()
        addresses = await loop.getaddrinfo(endpoint.host, endpoint.port, family=family, type=socket.SOCK_STREAM)
        out: list[ResolveResult] = [
            {"hostname": host, "host": str(a[0]), "port": endpoint.port, "family": f, "proto": proto, "flags": 0}
            for f, _, proto, _, a in addresses
        ]
        if out:
            self.reached = Endpoint(out[0]["host"], endpoint.port)
        return out

    async def close(self) -> None:
        pass


class _Response(aiohttp.ClientResponse):
    """A response that keeps what is known about its connection.

    aiohttp releases the connection of a short response, and with it the transport, before the caller gets the response.
    """

    transport: asyncio.Transport | None = None
    certificate: dict[str, Any] | None = None

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self._peer: tuple[str, ssl.SSLObject | None] = "", None

    async def start(self, connection: Connection) -> aiohttp.ClientResponse:
        transport = self.transport = connection.transport
        if transport is not None:
            self.certificate = transport.get_extra_info("peercert")
            name = transport.get_extra_info("peername")
            self._peer = str(name[0]) if name else "", transport.get_extra_info("ssl_object")
        return await super().start(connection)

    def record(self, presence: WebhookPresence) -> None:
        """Tell `presence` on which connection the webhook has answered."""
        if self.transport is not None:
            presence.answered(self.transport, *self._peer)


class Session:
    """The connections to one webhook. `expires` is the expiry of the certificate that it presented most recently."""

    def __init__(
        self,
        target: Target,
        trust: ssl.SSLContext,
        endpoint: Callable[[], Endpoint],
        presence: WebhookPresence,
        *,
        plain_timeouts: bool = False,
    ) -> None:
        self._target = target
        self._presence = presence
        self._plain_timeouts = plain_timeouts
        self._endpoint = endpoint
        self._resolver = _EndpointResolver(endpoint)
        trace = aiohttp.TraceConfig()
        trace.on_connection_reuseconn.append(_mark_reused)
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                ssl=trust,
                resolver=self._resolver,
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

    async def post(
        self, body: bytes, max_bytes: int, seconds: float, stated_seconds: float | None = None
    ) -> HTTPResponse:
        """POST the body and return the response. If the response has a Retry-After header, wait and try again.

        `seconds` is the timeout of the call with all retries. `stated_seconds` is the timeout in the URL's query, by
        default `seconds`. Raise TransportError if the call fails or the response is larger than `max_bytes`.
        """
        url = f"{self._target.url}?timeout={stated_seconds or seconds:g}s"
        deadline = time.monotonic() + seconds
        stage = _Stage()
        try:
            async with asyncio.timeout(seconds):
                for retry in range(_RETRIES + 1):
                    response, wait = await self._follow_redirects(url, body, max_bytes, stage)
                    if wait is None or retry == _RETRIES:
                        break
                    stage.current = "waiting"
                    await asyncio.sleep(wait)
                return response
        except aiohttp.ClientError as error:
            raise await self._error(error, url, stage, deadline - time.monotonic()) from error
        except TimeoutError:
            raise _timeout_error(url, stage, self._plain_timeouts) from None
        except (OSError, ValueError) as error:
            raise await self._error(error, url, stage, deadline - time.monotonic()) from error

    async def _follow_redirects(
        self, url: str, body: bytes, max_bytes: int, stage: _Stage
    ) -> tuple[HTTPResponse, float | None]:
        """POST the body, and again to the new URL if the status is 307 or 308, but only to a URL of the same origin.

        The CA bundle is configured only for that origin.
        """
        current_url = URL(url, encoded=True)
        for _ in range(_REDIRECTS):
            response, headers = await self._post_with_retry(current_url, body, max_bytes, stage)
            location = headers.get("Location", "")
            if response.status not in (307, 308) or not location:
                break
            redirected = current_url.join(URL(location))
            if redirected.origin() != current_url.origin():
                break
            current_url = redirected
        return response, _retry_after(response.status, headers.get("Retry-After", ""))

    async def _post_with_retry(self, url: URL, body: bytes, max_bytes: int, stage: _Stage) -> tuple[HTTPResponse, Any]:
        """POST the body. If the webhook has closed the reused connection, POST it once more on a new connection.

        Repeating a review is safe, because reviews are idempotent.
        """
        trace = SimpleNamespace(reused=False)
        try:
            return await self._post_once(url, body, max_bytes, stage, trace)
        except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError) as error:
            if not trace.reused or isinstance(error, aiohttp.ClientConnectorError) or stage.current != "headers":
                raise
        return await self._post_once(url, body, max_bytes, stage, SimpleNamespace(reused=False))

    async def _post_once(
        self, url: URL, body: bytes, max_bytes: int, stage: _Stage, trace: SimpleNamespace
    ) -> tuple[HTTPResponse, Any]:
        stage.current = "headers"
        # Pass the body as a stream: aiohttp writes a stream in pieces, so a large body does not block the event loop.
        post = self._session.post(
            url, data=io.BytesIO(body), headers=trace_headers(), allow_redirects=False, trace_request_ctx=trace
        )
        async with post as response:
            stage.current = "body"
            self._record_connection(response)
            read = bytearray()
            if (response.content_length or 0) > max_bytes:
                raise _too_large(max_bytes)
            async for chunk in response.content.iter_any():
                read += chunk
                if len(read) > max_bytes:
                    raise _too_large(max_bytes)
        return HTTPResponse(response.status, response.headers.get("Content-Type", ""), bytes(read)), response.headers

    def _record_connection(self, response: aiohttp.ClientResponse) -> None:
        if not isinstance(response, _Response):
            return
        response.record(self._presence)
        certificate = response.certificate
        if certificate and "notAfter" in certificate:
            self.expires = datetime.fromtimestamp(ssl.cert_time_to_seconds(certificate["notAfter"]), UTC)

    async def _error(self, error: Exception, url: str, stage: _Stage, seconds: float) -> TransportError:
        requested = self._resolver.requested or self._endpoint()
        reached = self._resolver.reached or requested
        if stage.current == "body":
            broken = isinstance(error, (aiohttp.ClientPayloadError, aiohttp.ServerDisconnectedError))
            return body_error("unexpected EOF" if broken else str(error), "Connection")
        if isinstance(error, aiohttp.ConnectionTimeoutError):
            return request_error(url, await connect_timeout_message(reached), "Timeout")
        if isinstance(error, aiohttp.ClientConnectorCertificateError):
            certificate_error = error.certificate_error
            if isinstance(certificate_error, ssl.SSLCertVerificationError):
                message = await certificate_message(
                    reached, self._target.server_name, certificate_error, max(0.1, min(5.0, seconds))
                )
                return request_error(url, message, "TLS")
        if isinstance(error, aiohttp.ClientConnectorError):
            self._presence.refused()
            return await _connection_error(error.os_error, url, requested, reached)
        if isinstance(error, ssl.SSLError):
            return request_error(url, handshake_message(error), "TLS")
        if isinstance(error, aiohttp.ServerDisconnectedError):
            return request_error(url, "EOF", "Connection")
        if isinstance(error, aiohttp.ClientResponseError):
            line = _quoted_line(error.message)
            quoted = go_quote(line[1]) if line else f": {' '.join(error.message.split())}"
            message = f"malformed HTTP response {quoted}"
            return request_error(url, f"net/http: HTTP/1.x transport connection broken: {message}", "Connection")
        if isinstance(error, ConnectionResetError) or "reset" in str(error):
            return request_error(url, f"read tcp {reached}: read: connection reset by peer", "Connection")
        return request_error(url, str(error) or type(error).__name__, "Connection")


class _Stage:
    """The current stage of a call, which its error message depends on: "headers", "body", or "waiting" for a retry."""

    __slots__ = ("current",)

    def __init__(self) -> None:
        self.current = "headers"


async def _mark_reused(_session: aiohttp.ClientSession, context: SimpleNamespace, _params: object) -> None:
    context.trace_request_ctx.reused = True


async def _connection_error(error: OSError, url: str, requested: Endpoint, reached: Endpoint) -> TransportError:
    if isinstance(error, ssl.SSLError):
        message = handshake_message(error)
        if message.startswith("tls: first record"):
            message = await non_tls_message(reached)
        return request_error(url, message, "TLS")
    if isinstance(error, ConnectionResetError):
        # The TCP connection existed. Go reports "EOF" if the peer closes the connection during the TLS handshake.
        closed = error.errno is None
        message = "EOF" if closed else f"read tcp {reached}: read: connection reset by peer"
        return request_error(url, message, "Connection")
    return request_error(url, dial_message(error, requested, reached), "Connection")


def _timeout_error(url: str, stage: _Stage, plain_timeouts: bool) -> TransportError:
    timeout = "context deadline exceeded"
    if stage.current == "body":
        detail = "" if plain_timeouts else " (Client.Timeout or context cancellation while reading body)"
        return body_error(f"{timeout}{detail}", "Timeout")
    if plain_timeouts or stage.current == "waiting":
        return request_error(url, timeout, "Timeout")
    return request_error(url, f"{timeout} (Client.Timeout exceeded while awaiting headers)", "Timeout")


def _too_large(max_bytes: int) -> TransportError:
    return body_error(f"the answer is larger than {max_bytes} bytes", "Answer", divisible=True)


def _retry_after(status: int, value: str) -> float | None:
    """Return the seconds to wait before a retry, from the Retry-After header `value` of a response with this status.

    Return None if the call must not be retried.
    """
    if status != 429 and status < 500:
        return None
    try:
        seconds = int(value)
    except ValueError:
        return None
    return float(min(max(seconds, 0), _MAX_WAIT_SECONDS))
