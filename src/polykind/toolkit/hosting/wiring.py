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
from polykind.toolkit.hosting.answering import Readiness
from polykind.toolkit.hosting.cluster import Away, Cluster, ClusterError, Refused
from polykind.toolkit.hosting.endpoint import Endpoint
from polykind.toolkit.hosting.wire import DEFINITIONS, Unwired, Wire

if TYPE_CHECKING:
    from polykind.toolkit.hosting.certificates import Certificates

EVERY = 60.0
"""Seconds between two looks at definitions that nobody seems to have changed."""
SETTLE = 10.0
"""Seconds that API servers get to take up a new bundle, before a certificate is served that needs it."""
BACKOFF = (0.5, 1.0, 2.0, 5.0, 10.0, 30.0)

log = logging.getLogger(__name__)


class Wiring:
    """Keeps definitions wired to a host: those named, or those of the kinds that its libraries declare."""

    def __init__(
        self,
        cluster: Cluster,
        endpoint: Endpoint | None = None,
        *,
        crds: Sequence[str] = (),
        self_test: bool = True,
        every: float = EVERY,
        settle: float = SETTLE,
        backoff: Sequence[float] = BACKOFF,
        clock: Clock | None = None,
    ) -> None:
        """Without an `endpoint` it is the host's own URL, for an API server on the same machine."""
        self._cluster, self._endpoint, self._crds = cluster, endpoint, list(crds)
        self._self_test, self._every, self._settle, self._backoff = self_test, every, settle, list(backoff)
        self._clock = clock or SystemClock()
        self._again, self._changed = asyncio.Event(), asyncio.Condition()
        self._wires: list[Wire] = []
        self._watches: dict[str, asyncio.Task[None]] = {}
        self._said: dict[str, str] = {}
        self._state = Readiness(False, "the definitions are not wired yet")

    def prepare(self, libraries: Sequence[Library]) -> None:
        """Take note of what is to be wired. Raises ValueError if the steps do not lead everywhere, or none is named."""
        check(libraries)
        unnamed = [library.spec for library in libraries if library.declared is None]
        if not self._crds and unnamed:
            raise ValueError(f"{', '.join(unnamed)}: it does not say which kinds it converts; name them by --crd")
        self._again, self._changed = asyncio.Event(), asyncio.Condition()
        cluster, clock = self._cluster, self._clock
        kinds = dict.fromkeys(kind for library in libraries for kind in library.declared or ())
        self._wires = [Wire(cluster, libraries, clock, name=name) for name in self._crds] or [
            Wire(cluster, libraries, clock, kind=kind) for kind in kinds
        ]

    def readiness(self) -> Readiness:
        return self._state

    def wake(self) -> None:
        """Look at the definitions now."""
        self._again.set()

    async def ready(self) -> None:
        """Wait until all is wired and tested."""
        async with self._changed:
            await self._changed.wait_for(lambda: self._state.ready)

    async def run(self, url: str, certificates: Certificates, published: Callable[[bytes], Awaitable[None]]) -> None:
        """Wire, and keep wired, until cancelled. `published` is told of each bundle that all definitions have."""
        endpoint = self._endpoint or Endpoint.of_url(url)
        known, coming, due = b"", b"", 0.0
        failures = 0
        try:
            while True:
                self._again.clear()
                if certificates.makeshift:
                    await self._renewed(certificates)
                bundle, patched = certificates.ca_bundle, self._count()
                wired, fine = False, False
                if not certificates.makeshift:
                    wired, fine = await self._round(endpoint, bundle, certificates.retired)
                now = self._clock.monotonic()
                if not wired or coming != bundle or patched != self._count():
                    # It may have been another replica that patched it, just now.
                    coming, due = bundle, now + self._settle
                if wired and bundle != known and now >= due:
                    known = bundle
                    await published(bundle)
                    continue
                failures = 0 if fine else failures + 1
                pause = self._every if fine else self._backoff[min(failures, len(self._backoff)) - 1]
                await self._woken(min(pause, due - now) if wired and bundle != known else pause)
        finally:
            for task in self._watches.values():
                task.cancel()
            await asyncio.gather(*self._watches.values(), return_exceptions=True)
            self._watches.clear()
            await self._cluster.close()
            self._state = Readiness(False, "the host has stopped")

    async def _renewed(self, certificates: Certificates) -> None:
        """Have the certificates that are kept in the cluster taken up, now that it may be there."""
        try:
            await certificates.refresh()
        except OSError as error:
            await self._tell(False, [self._say("certificates", str(error), wrong=True)])

    async def _round(self, endpoint: Endpoint, bundle: bytes, retired: bytes) -> tuple[bool, bool]:
        """Whether all definitions have the stanza, and whether the API server converts through it too."""
        lines: list[str] = []
        wired = fine = True
        ready = True
        for wire in self._wires:
            good, said = False, ""
            try:
                self._watch(await wire.find())
                definition = await wire.connect(endpoint, bundle, retired)
                good, said = await wire.tried(definition, endpoint) if self._self_test else (True, "wired")
            except Away as error:
                wired = False
                said = f"{self._cluster.server} is away: {error}"
            except (Refused, Unwired, KeyError, TypeError, AttributeError) as error:
                wired = ready = False
                said = f"not wired: {wire.explained(error)}"
            else:
                ready = ready and good
            fine = fine and good
            lines.append(self._say(wire.subject, said, wrong=not good))
        # That the API server is away is no fault of the host: who was ready stays so.
        await self._tell(fine or (ready and self._state.ready), lines)
        return wired, fine

    def _count(self) -> int:
        return sum(wire.patches for wire in self._wires)

    async def _tell(self, fine: bool, lines: list[str]) -> None:
        async with self._changed:
            self._state = Readiness(fine, "\n".join(["ok" if fine else "not ready", *lines, ""]))
            self._changed.notify_all()

    def _say(self, subject: str, said: str, *, wrong: bool) -> str:
        """Log what has changed, once."""
        if self._said.get(subject) != said:
            self._said[subject] = said
            log.log(logging.WARNING if wrong else logging.INFO, "%s: %s%s", subject, said, "; trying on" * wrong)
        return f"{subject}: {said}"

    def _watch(self, name: str) -> None:
        if name not in self._watches:
            self._watches[name] = asyncio.get_running_loop().create_task(self._follow(name))

    async def _follow(self, name: str) -> None:
        """Look again whenever the definition has changed. What a watch misses, the next round sees."""
        while True:
            try:
                async with aclosing(self._cluster.watch(DEFINITIONS, name)) as events:
                    async for _ in events:
                        self.wake()
            except ClusterError as error:
                log.debug("the watch of %s has ended: %s", name, error)
                await asyncio.sleep(self._backoff[-1])
            await asyncio.sleep(self._backoff[0])

    async def _woken(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                await self._again.wait()
        except TimeoutError:
            return False
        return True


def check(libraries: Sequence[Library]) -> None:
    """Make sure that the steps lead from each declared version to each. Raises ValueError with all that lack."""
    lacking = []
    for library in libraries:
        for conversions in (library.declared or {}).values():
            try:
                conversions.check(conversions.versions)
            except Incomplete as error:
                lacking.append(str(error))
    if lacking:
        raise ValueError("\n".join(lacking))
