"""HTTPS calls to one webhook, with persistent connections, one timeout for all retries, and a maximum response size.

The first call imports this module in a thread, because aiohttp takes a while to import.
"""

from __future__ import annotations

import asyncio
import io
import re
import socket
import ssl
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from types import SimpleNamespace
from typing import Any
from weakref import WeakKeyDictionary

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.connector import Connection
from multidict import CIMultiDict
from yarl import URL

from polykind.golang.fmt import go_quote
from polykind.webhook.certificate_errors import certificate_error
from polykind.webhook.presence import WebhookPresence
from polykind.webhook.response_errors import HTTPResponse
from polykind.webhook.response_handler import BoundedResponseHandler
from polykind.webhook.target import Endpoint, Resolver, Target
from polykind.webhook.tls import CertificateRejectedError, WebhookTLS
from polykind.webhook.trace_context import trace_headers
from polykind.webhook.transport_errors import (
    TransportError,
    body_error,
    dial_message,
    handshake_message,
    request_error,
)

_CONNECTIONS = 32
_IDLE_SECONDS = 90.0
_CONNECT_SECONDS = 10.0
_RETRIES = 10
_REDIRECTS = 10
_REDIRECT_STATUSES = (301, 302, 303, 307, 308)
_LARGE_BYTES = 4 * 1024 * 1024
_LARGE_RESPONSES = 4
"""The number of responses larger than _LARGE_BYTES that are kept at once."""
_slots: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = WeakKeyDictionary()
_MAX_WAIT_SECONDS = 3600
_quoted_line = re.compile(r"b'(.*?)'").search
"""Finds, in aiohttp's error message, the line of the response that aiohttp could not parse."""
_HEADERS = {
    "Accept": "application/json, */*",
    "Accept-Encoding": "gzip",
    "User-Agent": "kube-apiserver-admission",
}


class _EndpointResolver(AbstractResolver):
    """Resolves the host of a webhook to its endpoint, and other hosts, to which it redirects, by DNS.

    For error messages, `requested` is the endpoint before the DNS lookup and `reached` the address after it.
    """

    def __init__(self, target: Target, resolver: Resolver) -> None:
        self._target = target
        self._resolver = resolver
        self.requested = self.reached = Endpoint(target.server_name, target.port)

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        target = self._target
        own = (host, port) == (target.server_name, target.port)
        endpoint = self.requested = self.reached = target.endpoint(self._resolver) if own else Endpoint(host, port)
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
        tls: WebhookTLS,
        resolver: Resolver,
        presence: WebhookPresence,
        *,
        headers: Callable[[], list[tuple[str, str]]] = list,
        plain_timeouts: bool = False,
    ) -> None:
        """`headers` returns the headers with the credentials for this webhook."""
        self._target = target
        self._tls = tls
        self._services = resolver
        self._presence = presence
        self._credentials = headers
        self._plain_timeouts = plain_timeouts
        self._resolver = _EndpointResolver(target, resolver)
        trace = aiohttp.TraceConfig()
        trace.on_connection_reuseconn.append(_mark_reused)
        connector = aiohttp.TCPConnector(
            ssl=tls,
            resolver=self._resolver,
            use_dns_cache=False,
            limit=_CONNECTIONS,
            keepalive_timeout=_IDLE_SECONDS,
        )
        # aiohttp has no public way to replace the protocol of a connection.
        connector._factory = partial(BoundedResponseHandler, asyncio.get_running_loop())  # type: ignore[assignment]
        self._session = aiohttp.ClientSession(
            connector=connector,
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
        request = _Request(f"{self._target.url}?timeout={stated_seconds or seconds:g}s", body)
        try:
            async with asyncio.timeout(seconds):
                for retry in range(_RETRIES + 1):
                    response, wait = await self._follow_redirects(request, max_bytes)
                    if wait is None or retry == _RETRIES:
                        break
                    _release(response)
                    request.stage = "waiting"
                    await asyncio.sleep(wait)
                return response
        except TimeoutError as error:
            if isinstance(error, aiohttp.ClientError):
                raise await self._error(error, request) from error
            raise _timeout_error(request, self._plain_timeouts) from None
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise await self._error(error, request) from error

    async def _follow_redirects(self, request: _Request, max_bytes: int) -> tuple[HTTPResponse, float | None]:
        """Send the review, and follow redirects as Go's HTTP client does: 307 and 308 with the body, others by GET.

        Return the response, and the seconds after which to try again.
        """
        request.begin()
        while True:
            response, headers = await self._send_with_retry(request, max_bytes)
            location = headers.get("Location", "")
            if response.status not in _REDIRECT_STATUSES or not location:
                return response, _retry_after(response.status, headers.get("Retry-After", ""))
            _release(response)
            request.redirect(response.status, location)

    async def _send_with_retry(self, request: _Request, max_bytes: int) -> tuple[HTTPResponse, Any]:
        """Send a request. If the webhook has closed the reused connection, send it once more on a new connection.

        Repeating a review is safe, because reviews are idempotent.
        """
        trace = SimpleNamespace(reused=False)
        try:
            return await self._send(request, max_bytes, trace)
        except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError) as error:
            if not trace.reused or isinstance(error, aiohttp.ClientConnectorError) or request.stage != "headers":
                raise
        return await self._send(request, max_bytes, SimpleNamespace(reused=False))

    async def _send(self, request: _Request, max_bytes: int, trace: SimpleNamespace) -> tuple[HTTPResponse, Any]:
        request.stage = "headers"
        own = request.is_own
        if not own:
            # aiohttp does not look up IP addresses.
            endpoint = Endpoint(request.url.host or "", request.url.port or 0)
            self._resolver.requested = self._resolver.reached = endpoint
        headers = CIMultiDict(trace_headers() or ())
        headers.extend(self._credentials() if own else ())
        body = None
        if request.method == "POST":
            headers["Content-Type"] = "application/json"
            # Pass the body as a stream: aiohttp writes a stream in pieces, so a large body does not block the loop.
            body = io.BytesIO(request.body)
        sent = self._session.request(
            request.method,
            request.url,
            data=body,
            headers=headers,
            allow_redirects=False,
            trace_request_ctx=trace,
            # As in kube-apiserver, the name of a Service is the name in certificates wherever it redirects to.
            server_hostname=self._target.server_name if self._target.service is not None else None,
        )
        slot: asyncio.Semaphore | None = None
        try:
            async with sent as response:
                request.stage = "body"
                if own:
                    self._record_connection(response)
                content, slot = await _read(response, max_bytes)
        except BaseException:
            # The call may be cancelled while the connection is released.
            if slot is not None:
                slot.release()
            raise
        return HTTPResponse(response.status, response.headers.get("Content-Type", ""), content, slot), response.headers

    def _record_connection(self, response: aiohttp.ClientResponse) -> None:
        if not isinstance(response, _Response):
            return
        response.record(self._presence)
        certificate = response.certificate
        if certificate and "notAfter" in certificate:
            self.expires = datetime.fromtimestamp(ssl.cert_time_to_seconds(certificate["notAfter"]), UTC)

    async def _error(self, error: Exception, request: _Request) -> TransportError:
        """Describe the failure of a call as Go's HTTP client does."""
        url = request.text
        if request.stage == "body":
            broken = isinstance(error, aiohttp.ClientPayloadError | aiohttp.ServerDisconnectedError)
            return body_error("unexpected EOF" if broken else str(error), "Connection")
        if isinstance(error, aiohttp.ConnectionTimeoutError):
            return request_error(url, self._connect_timeout(), "Timeout")
        if isinstance(error, aiohttp.ClientConnectorCertificateError):
            name = self._target.server_name if self._target.service is not None else request.url.host or ""
            return request_error(url, await _certificate_message(error.certificate_error, name), "TLS")
        if isinstance(error, aiohttp.ClientConnectorError):
            if request.is_own:
                self._presence.refused()
            return self._connect_error(error.os_error, url)
        for cause in (error, error.__cause__):
            # In TLS 1.3, a webhook rejects a client certificate after the handshake.
            if isinstance(cause, ssl.SSLError):
                return request_error(url, handshake_message(cause), "TLS")
        return request_error(url, self._request_message(error), "Connection")

    def _connect_timeout(self) -> str:
        if self._tls.handshakes > 0:
            # The connection is given up, so its handshake does not end.
            self._tls.handshakes -= 1
            return "net/http: TLS handshake timeout"
        return f"dial tcp {self._resolver.reached}: i/o timeout"

    def _connect_error(self, error: OSError, url: str) -> TransportError:
        reached = self._resolver.reached
        if isinstance(error, ssl.SSLError):
            return request_error(url, handshake_message(error), "TLS")
        if isinstance(error, ConnectionResetError):
            # The TCP connection existed. Go reports "EOF" if the peer closes the connection during the TLS handshake.
            closed = error.errno is None
            message = "EOF" if closed else f"read tcp {reached}: read: connection reset by peer"
            return request_error(url, message, "Connection")
        message, hint, target = dial_message(error, self._resolver.requested, reached), "", self._target
        if isinstance(error, socket.gaierror) and target.service is not None:
            hint = self._services.hint(*target.service, target.port)
            message = self._services.routing_error(*target.service, target.port) or message
        failure = request_error(url, message, "Connection")
        failure.hint = hint
        return failure

    def _request_message(self, error: Exception) -> str:
        """Return Go's message for a connection that broke before the response began, or a malformed response."""
        if isinstance(error, aiohttp.ServerDisconnectedError):
            return "EOF"
        if isinstance(error, aiohttp.ClientResponseError):
            line = _quoted_line(error.message)
            quoted = go_quote(line[1]) if line else f": {' '.join(error.message.split())}"
            return f"net/http: HTTP/1.x transport connection broken: malformed HTTP response {quoted}"
        if isinstance(error, ConnectionResetError) or "reset" in str(error):
            return f"read tcp {self._resolver.reached}: read: connection reset by peer"
        if isinstance(error, aiohttp.NonHttpUrlClientError):
            return f"unsupported protocol scheme {go_quote(URL(str(error)).scheme)}"
        return str(error) or type(error).__name__


class _Request:
    """A review on its way: where to send it, and the stage on which the text of an error depends.

    The stage is "headers" or "body", or "waiting" for a retry.
    """

    def __init__(self, url: str, body: bytes) -> None:
        self._first_text = url
        self.first_url = URL(url, encoded=True)
        self.body = body
        self.stage = "headers"
        self.begin()

    @property
    def text(self) -> str:
        """The URL for messages. A URL object omits the port 443."""
        return self._first_text if self.url is self.first_url else str(self.url)

    @property
    def is_own(self) -> bool:
        """True if the request goes to the webhook, and not to another address to which it redirects."""
        return self.url is self.first_url or self.url.origin() == self.first_url.origin()

    def begin(self) -> None:
        """Send the review to the webhook, and not to the target of a redirect."""
        self.method, self.url = "POST", self.first_url
        self._redirects = 0

    def redirect(self, status: int, location: str) -> None:
        """Follow a redirect. Raise ValueError if there are too many."""
        self.stage = "headers"
        self._redirects += 1
        if self._redirects >= _REDIRECTS:
            raise ValueError(f"stopped after {_REDIRECTS} redirects")
        self.url = self.url.join(URL(location))
        if status not in (307, 308):
            self.method = "GET"


async def _certificate_message(error: Exception, name: str) -> str:
    problem = ""
    if isinstance(error, CertificateRejectedError):
        # In a thread, because the first such error imports a library.
        now = datetime.now(UTC)
        problem = await asyncio.to_thread(certificate_error, error.certificate, name, error.number, now)
    return f"tls: failed to verify certificate: x509: {problem or error}"


async def _read(response: aiohttp.ClientResponse, max_bytes: int) -> tuple[bytes, asyncio.Semaphore | None]:
    """Read a body. If it is large, wait until few others are, and return the slot that it takes meanwhile."""
    chunks: list[bytes] = []
    size, slot = 0, None
    if (response.content_length or 0) > max_bytes:
        raise _too_large(max_bytes)
    try:
        async for chunk in response.content.iter_any():
            chunks.append(chunk)
            size += len(chunk)
            if size > max_bytes:
                raise _too_large(max_bytes)
            if slot is None and size > _LARGE_BYTES:
                slots = _large_slots()
                await slots.acquire()
                slot = slots
        return b"".join(chunks), slot
    except BaseException:
        if slot is not None:
            slot.release()
        raise


def _large_slots() -> asyncio.Semaphore:
    """Return the slots of large responses, which all webhooks of an event loop share."""
    loop = asyncio.get_running_loop()
    return _slots.setdefault(loop, asyncio.Semaphore(_LARGE_RESPONSES))


def _release(response: HTTPResponse) -> None:
    if response.slot is not None:
        response.slot.release()


async def _mark_reused(_session: aiohttp.ClientSession, context: SimpleNamespace, _params: object) -> None:
    context.trace_request_ctx.reused = True


def _timeout_error(request: _Request, plain_timeouts: bool) -> TransportError:
    timeout, url = "context deadline exceeded", request.text
    if request.stage == "body":
        detail = "" if plain_timeouts else " (Client.Timeout or context cancellation while reading body)"
        return body_error(f"{timeout}{detail}", "Timeout")
    if plain_timeouts or request.stage == "waiting":
        return request_error(url, timeout, "Timeout")
    return request_error(url, f"{timeout} (Client.Timeout exceeded while awaiting headers)", "Timeout")


def _too_large(max_bytes: int) -> TransportError:
    return body_error(f"the answer is larger than {max_bytes} bytes", "Size", divisible=True)


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
