"""Conversions hosted as a webhook: HTTPS, certificates of its own, and definitions wired to it if it is told to.

    async with Host([crontabs]) as host:
        definition["spec"]["conversion"] = host.conversion

It can be started and stopped any number of times in one process.
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
from polykind.toolkit.hosting.answering import MOST_BYTES, SECONDS, THREADS, Answering, Readiness
from polykind.toolkit.hosting.counts import Counts
from polykind.toolkit.hosting.faults import Faults
from polykind.toolkit.hosting.listening import Listening

if TYPE_CHECKING:
    from aiohttp import web

    from polykind.toolkit.hosting.certificates import Certificates
    from polykind.toolkit.hosting.wiring import Wiring

LOOPBACK = ("localhost", "127.0.0.1", "::1")
EVERY = 60.0
"""Seconds between two looks at the certificates."""

log = logging.getLogger(__name__)


class Host:
    """An HTTPS server that answers ConversionReviews by converters, which are anything that `--converter` may name."""

    def __init__(
        self,
        converters: Iterable[Any],
        *,
        address: str = "127.0.0.1",
        port: int = 0,
        certificates: Certificates | None = None,
        path: str = "/convert",
        wiring: Wiring | None = None,
        most_bytes: int = MOST_BYTES,
        seconds: float = SECONDS,
        threads: int = THREADS,
        grace: float = SECONDS,
        every: float = EVERY,
        clock: Clock | None = None,
    ) -> None:
        """Without `certificates` it makes its own, in memory, for loopback and its address.

        `wiring` has definitions point to it; `grace` is how long a stop waits for what is under way. Raises ValueError
        for converters that cannot be hosted.
        """
        self._answering = Answering(
            converters, most_bytes=most_bytes, seconds=seconds, threads=threads, readiness=self.readiness
        )
        self.faults = Faults()
        self._answering.review = self.faults.around(self._answering.converted)
        self._address, self._port, self._path = address, port, path
        self._certificates = certificates
        self._wiring = wiring
        self._grace, self._every = grace, every
        self._clock = clock or SystemClock()
        self._listening: Listening | None = None
        self._runner: web.AppRunner | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._trouble = "the certificates are not there yet"

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.stop()

    @property
    def port(self) -> int:
        assert self._listening is not None, "the host does not run"
        return self._listening.port

    @property
    def url(self) -> str:
        """Where reviews are sent; from this machine, if the address is every machine's."""
        host = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}.get(self._address, self._address)  # noqa: S104
        return f"https://{f'[{host}]' if ':' in host else host}:{self.port}{self._path}"

    @property
    def certificates(self) -> Certificates:
        assert self._certificates is not None, "the host does not run"
        return self._certificates

    @property
    def ca_bundle(self) -> bytes:
        """The authorities that who calls must trust, in PEM."""
        return self.certificates.ca_bundle

    @property
    def counts(self) -> Counts:
        return self._answering.counts

    @property
    def described(self) -> str:
        """What is converted here, for people."""
        out: list[str] = []
        for library in self._answering.libraries:
            declared = library.declared
            if declared is None:
                out.append(library.spec)
            else:
                out += [f"{kind} ({', '.join(steps.versions)})" for kind, steps in declared.items()]
        return ", ".join(out)

    @property
    def conversion(self) -> JsonObject:
        """The `spec.conversion` of a definition that is converted by this host."""
        config = {"url": self.url, "caBundle": base64.b64encode(self.ca_bundle).decode()}
        return {
            "strategy": "Webhook",
            "webhook": {"conversionReviewVersions": ["v1"], "clientConfig": config},
        }

    async def start(self) -> None:
        """Serve. Raises OSError if the address cannot be had, ValueError if certificates or conversions are unfit."""
        from aiohttp import web

        if self._certificates is None:
            from polykind.toolkit.hosting.certificates import OwnCertificates

            self._certificates = OwnCertificates(list(dict.fromkeys([*LOOPBACK, *_names(self._address)])))
        if self._wiring is not None:
            self._wiring.prepare(self._answering.libraries)
        self._certificates.waits = self._wiring is not None
        await self._certificates.refresh()
        self._trouble = ""
        application = web.Application()
        application.router.add_route("*", "/{path:.*}", self._handle)
        self._runner = web.AppRunner(application, access_log=None, shutdown_timeout=self._grace)
        await self._runner.setup()
        assert self._runner.server is not None
        self._listening = Listening(self._runner.server, self._context)
        try:
            await self._listening.open(self._address, self._port)
        except OSError:
            await self.stop()
            raise
        self.faults.attach(self._faults_changed)
        self._spawn(self._keep())
        if self._wiring is not None:
            self._spawn(self._wiring.run(self.url, self._certificates, self._published))

    async def retire(self, seconds: float) -> None:
        """Go on serving, no longer ready, so that whoever balances the load sends no more."""
        self._trouble = "stopping"
        await asyncio.sleep(seconds)

    async def stop(self) -> None:
        """Finish what is under way, and stop."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks.clear()
        self.faults.detach()
        if self._listening is not None:
            self._listening.close()
        if self._runner is not None:
            await self._runner.cleanup()
        self._listening = self._runner = None
        self._answering.close()

    def readiness(self) -> Readiness:
        """Whether certificates are in place, and definitions wired if they are to be."""
        if self._trouble:
            return Readiness(False, self._trouble)
        if self.certificates.expires <= self._clock.now():
            return Readiness(False, f"the certificate has expired on {self.certificates.expires:%Y-%m-%d}")
        return self._wiring.readiness() if self._wiring is not None else Readiness(True, "ok")

    async def ready(self) -> None:
        """Wait until definitions are wired and tested, if they are to be."""
        if self._wiring is not None:
            await self._wiring.ready()

    async def refresh(self) -> None:
        """Look at the certificates now, and do what is due."""
        try:
            changed = await self.certificates.refresh()
        except (OSError, ValueError) as error:
            # What is served goes on; it is only when it expires that nobody can call any more.
            end = self.certificates.expires
            log.error("the certificates cannot be renewed: %s; those of before are good until %s", error, end)
            return
        if changed and self._wiring is not None:
            self._wiring.wake()

    async def _keep(self) -> None:
        while True:
            await asyncio.sleep(self._every)
            await self.refresh()

    async def _published(self, pem: bytes) -> None:
        self.certificates.published(pem)
        await self.refresh()

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        from aiohttp import web

        chunks = request.content.iter_any()
        try:
            reply = await self._answering.reply(request.method, request.path, request.content_length, chunks)
        except ConnectionError:
            log.info("a caller has hung up before its review was there")
            reply = None
        if reply is None:
            if request.transport is not None:
                request.transport.abort()
            return web.Response(status=500)
        headers = {"Content-Type": reply.content_type, "Server": "polykind", **reply.headers}
        return web.Response(status=reply.status, body=reply.body, headers=headers)

    def _context(self) -> ssl.SSLContext:
        if "unknown_certificate" in self.faults.active:
            from polykind.toolkit.hosting.authority import kept
            from polykind.toolkit.hosting.certificates import server_context

            unknown = kept({}, LOOPBACK, self._clock.now(), settled=lambda _: False).serving
            return server_context(unknown.certificate_pem, unknown.key_pem)
        return self.certificates.context

    def _faults_changed(self) -> None:
        assert self._listening is not None
        self._listening.refuse("down" in self.faults.active)
        if {"down", "unknown_certificate"} & set(self.faults.active):
            self._listening.abort()

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        task.add_done_callback(_ended)
        self._tasks.append(task)


def _ended(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and task.exception() is not None:
        log.critical(
            "a fault of the host itself: definitions and certificates are left alone", exc_info=task.exception()
        )


def _names(address: str) -> list[str]:
    """What a certificate calls an address; nothing if it is every machine's."""
    return [] if address in ("", "0.0.0.0", "::") else [address]  # noqa: S104
