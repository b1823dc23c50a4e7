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
from polykind.contract import Clock, JsonObject
from polykind.convert.answering import Readiness
from polykind.convert.cluster import Cluster, ClusterError, Refused
from polykind.convert.declare import Conversions, Incomplete
from polykind.convert.endpoint import Endpoint
from polykind.convert.library import Library

if TYPE_CHECKING:
    from polykind.convert.certificates import Certificates

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
EVERY = 60.0
"""Seconds between two looks at definitions that nobody seems to have changed."""
SETTLE = 10.0
"""Seconds that API servers get to take up a new bundle, before a certificate is served that needs it."""
BACKOFF = (0.5, 1.0, 2.0, 5.0, 10.0, 30.0)
_CONFLICTS = 5
_HINT = "; if it cannot connect: does the Service lead here while this is not ready (publishNotReadyAddresses: true)?"

log = logging.getLogger(__name__)


class Unwired(Exception):
    """A definition cannot be wired as things are; the text says why and what to do."""


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
        self._again = asyncio.Event()
        self._kinds: dict[str, Conversions] = {}
        self._names: dict[str, str] = {}
        self._watches: dict[str, asyncio.Task[None]] = {}
        self._said: dict[str, str] = {}
        self._state = Readiness(False, "the definitions are not wired yet")
        self._changed = asyncio.Condition()
        self._patches = 0

    def prepare(self, libraries: Sequence[Library]) -> None:
        """Take note of what is to be wired. Raises ValueError if the steps do not lead everywhere, or none is named."""
        check(libraries)
        self._again, self._changed = asyncio.Event(), asyncio.Condition()
        self._kinds = {kind: steps for library in libraries for kind, steps in (library.declared or {}).items()}
        unnamed = [library.spec for library in libraries if library.declared is None]
        if not self._crds and unnamed:
            raise ValueError(f"{', '.join(unnamed)}: it does not say which kinds it converts; name them by --crd")

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
                bundle, patched = certificates.ca_bundle, self._patches
                wired, fine = False, False
                if not certificates.makeshift:
                    wired, fine = await self._round(endpoint, bundle, certificates.retired)
                now = self._clock.monotonic()
                if not wired or coming != bundle or patched != self._patches:
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
        for subject in self._crds or list(self._kinds):
            try:
                name = await self._name(subject)
                definition = await self._wired(name, endpoint, bundle, retired)
            except (ClusterError, Unwired) as error:
                wired = fine = False
                about = self._names.get(subject, subject)
                lines.append(self._say(about, f"not wired: {self._explained(error)}", wrong=True))
                continue
            good, said = await self._tested(name, definition, endpoint) if self._self_test else (True, "wired")
            fine = fine and good
            lines.append(self._say(name, said, wrong=not good))
        await self._tell(fine, lines)
        return wired, fine

    async def _tell(self, fine: bool, lines: list[str]) -> None:
        async with self._changed:
            self._state = Readiness(fine, "\n".join(["ok" if fine else "not ready", *lines, ""]))
            self._changed.notify_all()

    async def _name(self, subject: str) -> str:
        """The name of the definition of a kind, as discovery tells it."""
        if subject in self._crds:
            return subject
        if subject not in self._names:
            conversions = self._kinds[subject]
            try:
                group = await self._cluster.get(f"/apis/{conversions.group}")
                for version in group.get("versions") or ():
                    served = await self._cluster.get(f"/apis/{version['groupVersion']}")
                    for resource in served.get("resources") or ():
                        if resource["kind"] == conversions.name and "/" not in resource["name"]:
                            self._names[subject] = f"{resource['name']}.{conversions.group}"
                            return self._names[subject]
            except Refused as error:
                if error.status != 404:
                    raise
            raise Unwired("the API server does not serve this kind: apply its CustomResourceDefinition")
        return self._names[subject]

    async def _wired(self, name: str, endpoint: Endpoint, bundle: bytes, retired: bytes) -> JsonObject:
        path = f"{DEFINITIONS}/{name}"
        self._watch(name)
        for attempt in range(_CONFLICTS):
            try:
                definition = await self._cluster.get(path)
            except Refused as error:
                if error.status == 404:
                    self._names = {kind: one for kind, one in self._names.items() if one != name}
                    raise Unwired("there is no such CustomResourceDefinition: apply it") from None
                raise
            self._check(definition)
            present = definition["spec"].get("conversion") or {}
            changes = endpoint.changes(present, bundle, retired, self._clock.now())
            if not changes:
                return definition
            version = definition["metadata"]["resourceVersion"]
            try:
                patched = await self._cluster.patch(
                    path, {"metadata": {"resourceVersion": version}, "spec": {"conversion": changes}}
                )
            except Refused as error:
                if error.status == 409 and attempt + 1 < _CONFLICTS:
                    continue
                raise
            self._patches += 1
            log.info("%s: patched %s", name, _named(changes))
            return patched
        raise AssertionError("the last conflict is raised")

    def _check(self, definition: JsonObject) -> None:
        """Raises Unwired if the steps do not lead from each of its versions to each."""
        spec = definition["spec"]
        conversions = self._kinds.get(f"{spec['names']['kind']}.{spec['group']}")
        if conversions is not None:
            try:
                conversions.check(version["name"] for version in spec["versions"])
            except Incomplete as error:
                raise Unwired(f"{error}; declare these steps, or take the versions out of the definition") from None

    async def _tested(self, name: str, definition: JsonObject, endpoint: Endpoint) -> tuple[bool, str]:
        """Have the API server convert one object to each version that is served and not stored."""
        spec = definition["spec"]
        others = [v["name"] for v in spec["versions"] if v["served"] and not v["storage"]]
        if not others:
            return True, "wired; there is no version to convert to"
        for version in others:
            path = f"/apis/{spec['group']}/{version}/{spec['names']['plural']}?limit=1"
            try:
                found = await self._cluster.get(path)
            except ClusterError as error:
                said = f"wired, but the API server cannot list {version}: {self._explained(error)}"
                return False, said if endpoint.url else said + _HINT
            if not found.get("items"):
                return True, "wired; there is no object to try yet"
        return True, f"wired; the API server converts to {', '.join(others)}"

    def _explained(self, error: Exception) -> str:
        if isinstance(error, Refused) and error.status in (401, 403):
            return f"{error}; grant it, as polykind host --print-manifests shows"
        return str(error) if isinstance(error, Refused | Unwired) else f"{self._cluster.server} is away: {error}"

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


def _named(changes: JsonObject) -> str:
    """The fields that a patch changes."""
    webhook = changes.get("webhook") or {}
    fields = [*(webhook.get("clientConfig") or {}), *(key for key in webhook if key != "clientConfig")]
    return ", ".join([*(["strategy"] if "strategy" in changes else []), *fields])
