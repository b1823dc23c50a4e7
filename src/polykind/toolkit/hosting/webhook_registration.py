"""Registration of a host in CRDs: patch their `spec.conversion` and test that the API server converts through the host.

Registration continues while the host runs. If another writer changes `spec.conversion` or the bundle, the CRD is
patched again. While the API server is unreachable, the registration retries with increasing delays.
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
"""The interval of checks if no watch event arrives."""
PROPAGATION_SECONDS = 10.0
"""Time for API servers to load a new bundle, before a certificate that needs it is served."""
BACKOFF = (0.5, 1.0, 2.0, 5.0, 10.0, 30.0)

log = logging.getLogger(__name__)


class WebhookRegistration:
    """Keeps a host registered in CRDs: those given by name, or those of the kinds that its converters declare."""

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
        """Without an `endpoint`, the host's own URL is registered, for an API server on the same machine."""
        self._cluster, self._endpoint, self._crds = cluster, endpoint, list(crds)
        self._self_test, self._backoff = self_test, list(backoff)
        self._check_seconds, self._propagation_seconds = check_seconds, propagation_seconds
        self._clock = clock or SystemClock()
        self._wake_event, self._state_changed = asyncio.Event(), asyncio.Condition()
        self._patchers: list[CRDPatcher] = []
        self._watches: dict[str, asyncio.Task[None]] = {}
        self._last_messages: dict[str, str] = {}
        self._state = Readiness(False, "the host is not registered in its CRDs yet")

    def prepare(self, libraries: Sequence[Library]) -> None:
        """Select the CRDs to patch. Raises ValueError if conversions are incomplete or the kinds are unknown."""
        check_complete(libraries)
        unnamed = [library.spec for library in libraries if library.declared is None]
        if not self._crds and unnamed:
            raise ValueError(f"{', '.join(unnamed)}: the converter does not name its kinds; name the CRDs with --crd")
        self._wake_event, self._state_changed = asyncio.Event(), asyncio.Condition()
        cluster, clock = self._cluster, self._clock
        kinds = dict.fromkeys(kind for library in libraries for kind in library.declared or ())
        self._patchers = [CRDPatcher(cluster, libraries, clock, name=name) for name in self._crds] or [
            CRDPatcher(cluster, libraries, clock, kind=kind) for kind in kinds
        ]

    def readiness(self) -> Readiness:
        return self._state

    def wake(self) -> None:
        """Check the CRDs now."""
        self._wake_event.set()

    async def ready(self) -> None:
        """Wait until the host is registered in all CRDs and tested."""
        async with self._state_changed:
            await self._state_changed.wait_for(lambda: self._state.ready)

    async def run(self, url: str, certificates: Certificates, on_published: Callable[[bytes], Awaitable[None]]) -> None:
        """Keep the host registered until cancelled. Call `on_published` for each bundle that all CRDs have."""
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
                    # Another replica may have patched the CRD just now, so wait for propagation again.
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
        """Try to replace temporary certificates by those of the store, which may be reachable now."""
        try:
            await certificates.refresh()
        except OSError as error:
            await self._set_state(False, [self._report("certificates", str(error), failed=True)])

    async def _reconcile(self, endpoint: WebhookEndpoint, bundle: bytes, retired: bytes) -> tuple[bool, bool]:
        """Patch and test all CRDs. Return whether all are patched, and whether all tests succeeded."""
        lines: list[str] = []
        registered = all_ok = True
        ready = True
        for patcher in self._patchers:
            ok, message = False, ""
            try:
                self._watch(await patcher.find())
                crd = await patcher.patch_crd(endpoint, bundle, retired)
                ok, message = await patcher.self_test(crd, endpoint) if self._self_test else (True, "registered")
            except UnreachableError as error:
                registered = False
                message = f"{self._cluster.server} is unreachable: {error}"
            except (StatusError, RegistrationError, KeyError, TypeError, AttributeError) as error:
                registered = ready = False
                message = f"not registered: {patcher.explain(error)}"
            else:
                ready = ready and ok
            all_ok = all_ok and ok
            lines.append(self._report(patcher.label, message, failed=not ok))
        # An unreachable API server is not the host's fault, so a host that was ready stays ready.
        await self._set_state(all_ok or (ready and self._state.ready), lines)
        return registered, all_ok

    def _patch_count(self) -> int:
        return sum(patcher.patches for patcher in self._patchers)

    async def _set_state(self, all_ok: bool, lines: list[str]) -> None:
        async with self._state_changed:
            self._state = Readiness(all_ok, "\n".join(["ok" if all_ok else "not ready", *lines, ""]))
            self._state_changed.notify_all()

    def _report(self, label: str, message: str, *, failed: bool) -> str:
        """Log a message if it differs from the last one about the same CRD, and return its line for /readyz."""
        if self._last_messages.get(label) != message:
            self._last_messages[label] = message
            log.log(logging.WARNING if failed else logging.INFO, "%s: %s%s", label, message, "; retrying" * failed)
        return f"{label}: {message}"

    def _watch(self, name: str) -> None:
        if name not in self._watches:
            self._watches[name] = asyncio.get_running_loop().create_task(self._watch_crd(name))

    async def _watch_crd(self, name: str) -> None:
        """Check again whenever the CRD changes. The periodic check finds changes that a watch misses."""
        while True:
            try:
                async with aclosing(self._cluster.watch(CRDS_PATH, name)) as events:
                    async for _ in events:
                        self.wake()
            except ClusterError as error:
                log.debug("webhook registration: the watch of %s ended, restarting it: %s", name, error)
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
    """Raise ValueError with all missing paths unless conversions lead between all declared versions."""
    incomplete = []
    for library in libraries:
        for conversions in (library.declared or {}).values():
            try:
                conversions.check(conversions.versions)
            except Incomplete as error:
                incomplete.append(str(error))
    if incomplete:
        raise ValueError("\n".join(incomplete))
