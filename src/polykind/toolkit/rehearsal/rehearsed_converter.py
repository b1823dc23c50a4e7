"""The converter of a rehearsal: a webhook between the API server and the real converter, with injected outages.

The webhook forwards each ConversionReview as it is. The real converter is a webhook, too: a child process that hosts
Python functions or rules, or any webhook by its address.
"""

from __future__ import annotations

import base64
import ssl
from typing import TYPE_CHECKING, Self

from polykind.clock import SystemClock
from polykind.contract import JsonObject
from polykind.toolkit.hosting.certificate_store import renew_certificates
from polykind.toolkit.hosting.fault_injection import Faults
from polykind.toolkit.hosting.host_certificates import server_context
from polykind.toolkit.hosting.review_handler import JSON, HostResponse
from polykind.toolkit.hosting.tls_listener import TLSListener
from polykind.toolkit.rehearsal.converter_process import ConverterProcess, Upstream

if TYPE_CHECKING:
    import aiohttp
    from aiohttp import web

_NAMES = ("localhost", "127.0.0.1", "::1")
_SECONDS = 30.0
_MAX_BYTES = 64 * 1024 * 1024
_STOP_SECONDS = 0.5


class RehearsedConverter:
    """A webhook with faults in front of the real converter."""

    def __init__(self, upstream: Upstream | None = None, process: ConverterProcess | None = None) -> None:
        """`upstream` is the address of a running webhook. If it is None, `process` is started."""
        self.faults = Faults()
        self._process = process
        self._upstream = upstream
        self._review = self.faults.around(self._forward)
        self._listener: TLSListener | None = None
        self._runner: web.AppRunner | None = None
        self._session: aiohttp.ClientSession | None = None
        self._sessions_outdated = False
        now = SystemClock().now()
        self._trusted, self._untrusted = (
            renew_certificates({}, _NAMES, now, is_trusted=lambda _: False) for _ in range(2)
        )

    @property
    def restartable(self) -> bool:
        return self._process is not None

    @property
    def has_upstream(self) -> bool:
        return self._upstream is not None

    def use(self, upstream: Upstream) -> None:
        """Forward further reviews to this webhook."""
        if upstream != self._upstream:
            self._upstream = upstream
            self._sessions_outdated = True

    async def __aenter__(self) -> Self:
        from aiohttp import web

        if self._process is not None:
            self._upstream = await self._process.start()
        application = web.Application(client_max_size=_MAX_BYTES)
        application.router.add_post("/{path:.*}", self._handle)
        self._runner = web.AppRunner(application, access_log=None, shutdown_timeout=_STOP_SECONDS)
        await self._runner.setup()
        assert self._runner.server is not None
        self._listener = TLSListener(self._runner.server, self._context)
        await self._listener.open("127.0.0.1", 0)
        self.faults.attach(self._faults_changed)
        return self

    async def __aexit__(self, *error: object) -> None:
        self.faults.detach()
        if self._listener is not None:
            self._listener.close()
        if self._runner is not None:
            await self._runner.cleanup()
        await self._close_session()
        if self._process is not None:
            await self._process.stop()

    async def restart(self) -> None:
        """Kill the converter's process and start a new one."""
        assert self._process is not None
        await self._process.stop()
        await self._close_session()
        self._upstream = await self._process.start()

    @property
    def conversion(self) -> JsonObject:
        """The `spec.conversion` that makes an API server call this webhook."""
        assert self._listener is not None
        ca = base64.b64encode(self._trusted.ca_bundle).decode()
        config = {"url": f"https://127.0.0.1:{self._listener.port}/convert", "caBundle": ca}
        return {"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"], "clientConfig": config}}

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        from aiohttp import web

        response = await self._review(await request.read())
        if response is None:
            if request.transport is not None:
                request.transport.abort()
            return web.Response(status=500)
        return web.Response(status=response.status, body=response.body, headers={"Content-Type": response.content_type})

    async def _forward(self, body: bytes) -> HostResponse:
        import aiohttp

        assert self._upstream is not None
        if self._sessions_outdated:
            self._sessions_outdated = False
            await self._close_session()
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(ssl=_client_context(self._upstream)),
                timeout=aiohttp.ClientTimeout(total=_SECONDS),
            )
        headers = {"Content-Type": JSON, "Accept": JSON}
        try:
            async with self._session.post(
                self._upstream.url, data=body, headers=headers, server_hostname=self._upstream.server_name
            ) as response:
                return HostResponse(response.status, await response.read(), response.headers.get("Content-Type", JSON))
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            text = f"the converter {self._upstream.url} failed: {error or type(error).__name__}"
            return HostResponse(502, text.encode())

    async def _close_session(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    def _context(self) -> ssl.SSLContext:
        certificates = self._untrusted if "unknown_certificate" in self.faults.active else self._trusted
        return server_context(certificates.serving.certificate_pem, certificates.serving.key_pem)

    def _faults_changed(self) -> None:
        if self._listener is None:
            return
        self._listener.set_refusing("down" in self.faults.active)
        if {"down", "unknown_certificate"} & set(self.faults.active):
            self._listener.abort()


def _client_context(upstream: Upstream) -> ssl.SSLContext:
    if upstream.ca:
        return ssl.create_default_context(cadata=upstream.ca.decode())
    return ssl.create_default_context()
