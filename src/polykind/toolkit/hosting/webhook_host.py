"""A conversion webhook: HTTPS with its own certificates and, optionally, registration in CRDs.

    async with Host([crontabs]) as host:
        crd["spec"]["conversion"] = host.conversion

A host can be started and stopped any number of times in one process.
"""

from __future__ import annotations

import asyncio
import base64
import logging
import ssl
from collections.abc import Coroutine, Iterable
from typing import TYPE_CHECKING, Any, Self

from polykind.clock import SystemClock
from polykind.contract import Clock, JsonObject
from polykind.toolkit.hosting.fault_injection import Faults
from polykind.toolkit.hosting.review_handler import (
    MAX_BYTES,
    THREADS,
    TIMEOUT_SECONDS,
    HostMetrics,
    Readiness,
    ReviewHandler,
)
from polykind.toolkit.hosting.tls_listener import TLSListener

if TYPE_CHECKING:
    from aiohttp import web

    from polykind.toolkit.hosting.host_certificates import Certificates
    from polykind.toolkit.hosting.webhook_registration import WebhookRegistration

LOOPBACK = ("localhost", "127.0.0.1", "::1")
CERTIFICATE_CHECK_SECONDS = 60.0
"""Seconds between two certificate checks."""

log = logging.getLogger(__name__)


class Host:
    """An HTTPS server that converts ConversionReviews. `converters` are objects such as Conversions or functions."""

    def __init__(
        self,
        converters: Iterable[Any],
        *,
        address: str = "127.0.0.1",
        port: int = 0,
        certificates: Certificates | None = None,
        path: str = "/convert",
        registration: WebhookRegistration | None = None,
        most_bytes: int = MAX_BYTES,
        seconds: float = TIMEOUT_SECONDS,
        threads: int = THREADS,
        grace: float = TIMEOUT_SECONDS,
        check_seconds: float = CERTIFICATE_CHECK_SECONDS,
        clock: Clock | None = None,
    ) -> None:
        """Without `certificates`, the host creates certificates in memory, for loopback and the address it listens on.

        `registration` makes CRDs point to the host. `grace` is the time that `stop` waits for requests in progress.
        Raise ValueError if a converter cannot be hosted.
        """
        self.faults = Faults()
        self._handler = ReviewHandler(
            converters,
            most_bytes=most_bytes,
            seconds=seconds,
            threads=threads,
            readiness=self.readiness,
            wrap=self.faults.around,
        )
        self._address, self._port, self._path = address, port, path
        self._certificates = certificates
        self._registration = registration
        self._grace, self._check_seconds = grace, check_seconds
        self._clock = clock or SystemClock()
        self._listener: TLSListener | None = None
        self._runner: web.AppRunner | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._not_ready_reason = "the certificates are not ready yet"

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.stop()

    @property
    def port(self) -> int:
        assert self._listener is not None, "the host is not running"
        return self._listener.port

    @property
    def url(self) -> str:
        """The URL to which ConversionReviews are sent. If the host listens on all addresses, it is a loopback URL."""
        host = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}.get(self._address, self._address)  # noqa: S104
        return f"https://{f'[{host}]' if ':' in host else host}:{self.port}{self._path}"

    @property
    def certificates(self) -> Certificates:
        assert self._certificates is not None, "the host is not running"
        return self._certificates

    @property
    def ca_bundle(self) -> bytes:
        """The CAs that API servers must trust to call this host, in PEM."""
        return self.certificates.ca_bundle

    @property
    def metrics(self) -> HostMetrics:
        return self._handler.metrics

    @property
    def description(self) -> str:
        """The kinds and versions that this host converts, as a text for the output of `polykind host`."""
        out: list[str] = []
        for library in self._handler.libraries:
            declared = library.declared
            if declared is None:
                out.append(library.spec)
            else:
                out += [f"{kind} ({', '.join(steps.versions)})" for kind, steps in declared.items()]
        return ", ".join(out)

    @property
    def conversion(self) -> JsonObject:
        """The `spec.conversion` for a CRD whose objects this host converts."""
        config = {"url": self.url, "caBundle": base64.b64encode(self.ca_bundle).decode()}
        return {
            "strategy": "Webhook",
            "webhook": {"conversionReviewVersions": ["v1"], "clientConfig": config},
        }

    async def start(self) -> None:
        """Start the host.

        Raise OSError if the address is unavailable, or ValueError if certificates or conversions are invalid.
        """
        from aiohttp import web

        if self._certificates is None:
            from polykind.toolkit.hosting.host_certificates import ManagedCertificates

            self._certificates = ManagedCertificates(
                list(dict.fromkeys([*LOOPBACK, *_certificate_names(self._address)]))
            )
        if self._registration is not None:
            self._registration.prepare(self._handler.libraries)
        self._certificates.wait_for_publication = self._registration is not None
        await self._certificates.refresh()
        self._not_ready_reason = ""
        application = web.Application()
        application.router.add_route("*", "/{path:.*}", self._handle)
        self._runner = web.AppRunner(application, access_log=None, shutdown_timeout=self._grace)
        await self._runner.setup()
        assert self._runner.server is not None
        self._listener = TLSListener(self._runner.server, self._context)
        try:
            await self._listener.open(self._address, self._port)
        except OSError:
            await self.stop()
            raise
        self.faults.attach(self._faults_changed)
        self._spawn(self._refresh_periodically())
        if self._registration is not None:
            self._spawn(self._registration.run(self.url, self._certificates, self._bundle_published))

    async def drain(self, seconds: float) -> None:
        """Report "not ready" for some seconds, so that load balancers stop sending requests. Keep serving meanwhile."""
        self._not_ready_reason = "stopping"
        await asyncio.sleep(seconds)

    async def stop(self) -> None:
        """Stop accepting requests, wait for the requests in progress, and stop the host."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks.clear()
        self.faults.detach()
        if self._listener is not None:
            self._listener.close()
        if self._runner is not None:
            await self._runner.cleanup()
        self._listener = self._runner = None
        self._handler.close()

    def readiness(self) -> Readiness:
        """Return the readiness. The host is ready if its certificate is valid and it is registered in its CRDs."""
        if self._not_ready_reason:
            return Readiness(False, self._not_ready_reason)
        if self.certificates.expires <= self._clock.now():
            return Readiness(False, f"the certificate expired on {self.certificates.expires:%Y-%m-%d}")
        return self._registration.readiness() if self._registration is not None else Readiness(True, "ok")

    async def ready(self) -> None:
        """Wait until the host is registered in its CRDs and tested. Return at once without a registration."""
        if self._registration is not None:
            await self._registration.ready()

    async def refresh(self) -> None:
        """Check the certificates now and renew those that are due."""
        try:
            changed = await self.certificates.refresh()
        except (OSError, ValueError) as error:
            # Keep serving the current certificate. API servers can connect until it expires.
            expires = self.certificates.expires
            log.error("webhook host: cannot renew certificates: %s; the current ones expire on %s", error, expires)
            return
        if changed and self._registration is not None:
            self._registration.wake()

    async def _refresh_periodically(self) -> None:
        while True:
            await asyncio.sleep(self._check_seconds)
            await self.refresh()

    async def _bundle_published(self, pem: bytes) -> None:
        self.certificates.mark_published(pem)
        await self.refresh()

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        from aiohttp import web

        chunks = request.content.iter_any()
        try:
            handle = await self._handler.handle(request.method, request.path, request.content_length, chunks)
        except ConnectionError:
            log.info("webhook host: a caller disconnected before its review was complete")
            handle = None
        if handle is None:
            if request.transport is not None:
                request.transport.abort()
            return web.Response(status=500)
        headers = {"Content-Type": handle.content_type, "Server": "polykind", **handle.headers}
        return web.Response(status=handle.status, body=handle.body, headers=headers)

    def _context(self) -> ssl.SSLContext:
        if "unknown_certificate" in self.faults.active:
            from polykind.toolkit.hosting.certificate_store import renew_certificates
            from polykind.toolkit.hosting.host_certificates import server_context

            untrusted = renew_certificates({}, LOOPBACK, self._clock.now(), is_trusted=lambda _: False).serving
            return server_context(untrusted.certificate_pem, untrusted.key_pem)
        return self.certificates.context

    def _faults_changed(self) -> None:
        assert self._listener is not None
        self._listener.set_refusing("down" in self.faults.active)
        if {"down", "unknown_certificate"} & set(self.faults.active):
            self._listener.abort()

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        task.add_done_callback(_log_crash)
        self._tasks.append(task)


def _log_crash(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and task.exception() is not None:
        log.critical("webhook host: a background task crashed; restart the host", exc_info=task.exception())


def _certificate_names(address: str) -> list[str]:
    """Return the listen address as a certificate name, or no name if the address means all interfaces."""
    return [] if address in ("", "0.0.0.0", "::") else [address]  # noqa: S104
