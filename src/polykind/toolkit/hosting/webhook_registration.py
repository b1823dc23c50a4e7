"""Definitions wired to a host: their `spec.conversion` leads to it, and the API server is seen to convert through it.

It goes on for as long as the host runs: a definition whose stanza or bundle somebody else has changed is patched again.
While the API server is away it is asked again and again, ever less often.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING

from polykind.clock import SystemClock
from polykind.contract import Clock
from polykind.toolkit.declare.conversions import Incomplete
from polykind.toolkit.declare.library import Library
from polykind.toolkit.hosting.cluster_client import ClusterClient, ClusterError, StatusError, UnreachableError
from polykind.toolkit.hosting.crd_patcher import CRDS_PATH, CRDPatcher, RegistrationError
from polykind.toolkit.hosting.review_handler import Readiness
from polykind.toolkit.hosting.webhook_endpoint import WebhookEndpoint

if TYPE_CHECKING:
    from polykind.toolkit.hosting.host_certificates import Certificates

CHECK_SECONDS = 60.0
"""Seconds between two looks at definitions that nobody seems to have changed."""
PROPAGATION_SECONDS = 10.0
"""Seconds that API servers get to take up a new bundle, before a certificate is served that needs it."""
BACKOFF = (0.5, 1.0, 2.0, 5.0, 10.0, 30.0)

log = logging.getLogger(__name__)


class WebhookRegistration:
    """Keeps definitions wired to a host: those named, or those of the kinds that its libraries declare."""

    def __init__(
        self,
        cluster: ClusterClient,
        endpoint: WebhookEndpoint | None = None,
        *,
        crds: Sequence[str] = (),
        self_test: bool = True,
        check_seconds: float = CHECK_SECONDS,
        propagation_seconds: float = PROPAGATION_SECONDS,
        backoff: Sequence[float] = BACKOFF,
        clock: Clock | None = None,
    ) -> None:
        """Without an `endpoint` it is the host's own URL, for an API server on the same machine."""
        self._cluster, self._endpoint, self._crds = cluster, endpoint, list(crds)
        self._self_test, self._check_seconds, self._propagation_seconds, self._backoff = (
            self_test,
            check_seconds,
            propagation_seconds,
            list(backoff),
        )
        self._clock = clock or SystemClock()
        self._wake_event, self._state_changed = asyncio.Event(), asyncio.Condition()
        self._patchers: list[CRDPatcher] = []
        self._watches: dict[str, asyncio.Task[None]] = {}
        self._last_messages: dict[str, str] = {}
        self._state = Readiness(False, "the definitions are not wired yet")

    def prepare(self, libraries: Sequence[Library]) -> None:
        """Take note of what is to be wired. Raises ValueError if the steps do not lead everywhere, or none is named."""
        check_complete(libraries)
        unnamed = [library.spec for library in libraries if library.declared is None]
        if not self._crds and unnamed:
            raise ValueError(f"{', '.join(unnamed)}: it does not say which kinds it converts; name them by --crd")
        self._wake_event, self._state_changed = asyncio.Event(), asyncio.Condition()
        cluster, clock = self._cluster, self._clock
        kinds = dict.fromkeys(kind for library in libraries for kind in library.declared or ())
        self._patchers = [CRDPatcher(cluster, libraries, clock, name=name) for name in self._crds] or [
            CRDPatcher(cluster, libraries, clock, kind=kind) for kind in kinds
        ]

    def readiness(self) -> Readiness:
        return self._state

    def wake(self) -> None:
        """Look at the definitions now."""
        self._wake_event.set()

    async def ready(self) -> None:
        """Wait until all is wired and tested."""
        async with self._state_changed:
            await self._state_changed.wait_for(lambda: self._state.ready)

    async def run(self, url: str, certificates: Certificates, on_published: Callable[[bytes], Awaitable[None]]) -> None:
        """Wire, and keep wired, until cancelled. `published` is told of each bundle that all definitions have."""
        endpoint = self._endpoint or WebhookEndpoint.of_url(url)
        published_bundle, pending_bundle, publish_at = b"", b"", 0.0
        failures = 0
        try:
            while True:
                self._wake_event.clear()
                if certificates.temporary:
                    await self._refresh_certificates(certificates)
                bundle, patches_before = certificates.ca_bundle, self._patch_count()
                registered, all_ok = False, False
                if not certificates.temporary:
                    registered, all_ok = await self._reconcile(endpoint, bundle, certificates.retired)
                now = self._clock.monotonic()
                if not registered or pending_bundle != bundle or patches_before != self._patch_count():
                    # It may have been another replica that patched it, just now.
                    pending_bundle, publish_at = bundle, now + self._propagation_seconds
                if registered and bundle != published_bundle and now >= publish_at:
                    published_bundle = bundle
                    await on_published(bundle)
                    continue
                failures = 0 if all_ok else failures + 1
                delay = self._check_seconds if all_ok else self._backoff[min(failures, len(self._backoff)) - 1]
                await self._sleep(min(delay, publish_at - now) if registered and bundle != published_bundle else delay)
        finally:
            for task in self._watches.values():
                task.cancel()
            await asyncio.gather(*self._watches.values(), return_exceptions=True)
            self._watches.clear()
            await self._cluster.close()
            self._state = Readiness(False, "the host has stopped")

    async def _refresh_certificates(self, certificates: Certificates) -> None:
        """Have the certificates that are kept in the cluster taken up, now that it may be there."""
        try:
            await certificates.refresh()
        except OSError as error:
            await self._set_state(False, [self._report("certificates", str(error), failed=True)])

    async def _reconcile(self, endpoint: WebhookEndpoint, bundle: bytes, retired: bytes) -> tuple[bool, bool]:
        """Whether all definitions have the stanza, and whether the API server converts through it too."""
        lines: list[str] = []
        registered = all_ok = True
        ready = True
        for patcher in self._patchers:
            ok, message = False, ""
            try:
                self._watch(await patcher.find())
                crd = await patcher.patch_crd(endpoint, bundle, retired)
                ok, message = await patcher.self_test(crd, endpoint) if self._self_test else (True, "wired")
            except UnreachableError as error:
                registered = False
                message = f"{self._cluster.server} is away: {error}"
            except (StatusError, RegistrationError, KeyError, TypeError, AttributeError) as error:
                registered = ready = False
                message = f"not wired: {patcher.explain(error)}"
            else:
                ready = ready and ok
            all_ok = all_ok and ok
            lines.append(self._report(patcher.label, message, failed=not ok))
        # That the API server is away is no fault of the host: who was ready stays so.
        await self._set_state(all_ok or (ready and self._state.ready), lines)
        return registered, all_ok

    def _patch_count(self) -> int:
        return sum(patcher.patches for patcher in self._patchers)

    async def _set_state(self, all_ok: bool, lines: list[str]) -> None:
        async with self._state_changed:
            self._state = Readiness(all_ok, "\n".join(["ok" if all_ok else "not ready", *lines, ""]))
            self._state_changed.notify_all()

    def _report(self, label: str, message: str, *, failed: bool) -> str:
        """Log what has changed, once."""
        if self._last_messages.get(label) != message:
            self._last_messages[label] = message
            log.log(logging.WARNING if failed else logging.INFO, "%s: %s%s", label, message, "; trying on" * failed)
        return f"{label}: {message}"

    def _watch(self, name: str) -> None:
        if name not in self._watches:
            self._watches[name] = asyncio.get_running_loop().create_task(self._watch_crd(name))

    async def _watch_crd(self, name: str) -> None:
        """Look again whenever the definition has changed. What a watch misses, the next round sees."""
        while True:
            try:
                async with aclosing(self._cluster.watch(CRDS_PATH, name)) as events:
                    async for _ in events:
                        self.wake()
            except ClusterError as error:
                log.debug("the watch of %s has ended: %s", name, error)
                await asyncio.sleep(self._backoff[-1])
            await asyncio.sleep(self._backoff[0])

    async def _sleep(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                await self._wake_event.wait()
        except TimeoutError:
            return False
        return True


def check_complete(libraries: Sequence[Library]) -> None:
    """Make sure that the steps lead from each declared version to each. Raises ValueError with all that lack."""
    incomplete = []
    for library in libraries:
        for conversions in (library.declared or {}).values():
            try:
                conversions.check(conversions.versions)
            except Incomplete as error:
                incomplete.append(str(error))
    if incomplete:
        raise ValueError("\n".join(incomplete))
