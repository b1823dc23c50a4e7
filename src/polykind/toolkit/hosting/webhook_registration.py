"""Registration of a host in CRDs: patch their `spec.conversion` and test that the API server converts through the host.

Registration continues while the host runs. If another writer changes `spec.conversion` or the bundle, the CRD is
patched again. While the API server is unreachable, the registration retries with increasing delays.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING

from polykind.clock import SystemClock
from polykind.cluster.cluster_client import ClusterClient, ClusterError, StatusError, UnreachableError
from polykind.contract import Clock, JsonObject
from polykind.declare.conversions import Conversions, Incomplete
from polykind.declare.library import Library
from polykind.toolkit.hosting.review_handler import Readiness
from polykind.toolkit.hosting.webhook_endpoint import WebhookEndpoint

if TYPE_CHECKING:
    from polykind.toolkit.hosting.host_certificates import Certificates

CRDS_PATH = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_MAX_CONFLICTS = 5
_MAX_PATCHES, _PATCH_WINDOW_SECONDS = 6, 60.0
"""If a CRD needs this many patches within this time, another writer keeps changing the CRD."""
_SERVICE_HINT = "; if the API server cannot connect, check that the Service sets publishNotReadyAddresses: true"
_COMPETING_WRITER = (
    "another writer keeps changing spec.conversion. Check whether another host is registered in this CRD, or a "
    "program applies its manifest repeatedly. Only one may set spec.conversion; remove it from the other"
)
CHECK_SECONDS = 60.0
"""Seconds between two checks of the CRDs if no watch event arrives."""
PROPAGATION_SECONDS = 10.0
"""Seconds to wait until all API servers have loaded a new bundle. Only then its certificates are served."""
BACKOFF = (0.5, 1.0, 2.0, 5.0, 10.0, 30.0)

log = logging.getLogger(__name__)


class RegistrationError(Exception):
    """The host cannot be registered in a CRD. The message says why and what to do."""


class CRDPatcher:
    """Registers a host in one CRD. The caller gives either the CRD's name or its kind."""

    def __init__(
        self, cluster: ClusterClient, libraries: Sequence[Library], clock: Clock, *, name: str = "", kind: str = ""
    ) -> None:
        self.name = name
        """The CRD's name. If the caller passed only a kind, it is empty until `find` has found the CRD."""
        self.patches = 0
        self._cluster, self._libraries, self._clock, self._kind = cluster, libraries, clock, kind
        self._recent: deque[float] = deque(maxlen=_MAX_PATCHES)

    @property
    def label(self) -> str:
        return self.name or self._kind

    async def find(self) -> str:
        """Return the CRD's name, from discovery if only the kind is known.

        Raise ClusterError if a request fails, or RegistrationError if no CRD has this kind.
        """
        if self.name:
            return self.name
        _, _, group = self._kind.partition(".")
        try:
            for version in (await self._cluster.get(f"/apis/{group}")).get("versions") or ():
                served = await self._cluster.get(f"/apis/{version['groupVersion']}")
                plural = self._plural_in(served)
                if plural:
                    self.name = f"{plural}.{group}"
                    return self.name
        except StatusError as error:
            if error.status != 404:
                raise
        raise RegistrationError("the API server does not serve this kind: apply its CustomResourceDefinition")

    def _plural_in(self, served: JsonObject) -> str:
        """Return the plural of the CRD's kind in a discovery document, or "" if the document does not list it."""
        kind = self._kind.partition(".")[0]
        resources = served.get("resources") or ()
        return next((each["name"] for each in resources if each["kind"] == kind and "/" not in each["name"]), "")

    async def patch_crd(self, endpoint: WebhookEndpoint, bundle: bytes, retired: bytes) -> JsonObject:
        """Patch `spec.conversion` if needed, and return the CRD.

        Raise ClusterError if a request fails, or RegistrationError if the host cannot convert the CRD's objects.
        """
        path = f"{CRDS_PATH}/{self.name}"
        attempt = 0
        while True:
            attempt += 1
            crd = await self._read_crd(path)
            self._check(crd["spec"])
            conversion = crd["spec"].get("conversion") or {}
            changes = endpoint.conversion_patch(conversion, bundle, retired, self._clock.now())
            if not changes:
                return crd
            if len(self._recent) == _MAX_PATCHES and self._clock.monotonic() - self._recent[0] < _PATCH_WINDOW_SECONDS:
                raise RegistrationError(_COMPETING_WRITER)
            version = crd["metadata"]["resourceVersion"]
            patch = {"metadata": {"resourceVersion": version}, "spec": {"conversion": changes}}
            try:
                patched = await self._cluster.patch(path, patch)
            except StatusError as error:
                if error.status == 409 and attempt < _MAX_CONFLICTS:
                    continue
                raise
            self.patches += 1
            self._recent.append(self._clock.monotonic())
            log.info("webhook registration: %s: patched %s", self.name, _changed_fields(changes))
            return patched

    async def self_test(self, crd: JsonObject, endpoint: WebhookEndpoint) -> tuple[bool, str]:
        """List one object at each served version that is not the storage version, so that the API server converts it.

        Return True and a message if all conversions succeed, else False and the error. Raise UnreachableError if the
        API server does not respond.
        """
        spec = crd["spec"]
        target_versions = [v["name"] for v in spec["versions"] if v["served"] and not v["storage"]]
        if not target_versions:
            return True, "registered; there is no other version to convert to"
        for version in target_versions:
            path = f"/apis/{spec['group']}/{version}/{spec['names']['plural']}?limit=1"
            try:
                response = await self._cluster.get(path)
            except StatusError as error:
                message = f"registered, but the API server cannot list {version}: {self.explain(error)}"
                return False, message if endpoint.url else message + _SERVICE_HINT
            if not response.get("items"):
                return True, "registered; there is no object to test with yet"
        return True, f"registered; the API server converts to {', '.join(target_versions)}"

    def explain(self, error: Exception) -> str:
        """Return a message about an error. If a permission is missing, the message says how to grant it."""
        if isinstance(error, StatusError) and error.status in (401, 403):
            return f"{error}; grant the permissions that polykind host --print-manifests prints"
        if isinstance(error, StatusError | RegistrationError):
            return str(error)
        return f"{self._cluster.server} returned an unexpected response: {error!r}"

    async def _read_crd(self, path: str) -> JsonObject:
        try:
            return await self._cluster.get(path)
        except StatusError as error:
            if error.status != 404:
                raise
            if self._kind:
                self.name = ""
            raise RegistrationError("the CustomResourceDefinition does not exist: apply it") from None

    def _check(self, spec: JsonObject) -> None:
        """Raise RegistrationError if this host cannot convert the CRD's kind between all of its versions."""
        group, kind = spec["group"], spec["names"]["kind"]
        library = next((candidate for candidate in self._libraries if candidate.handles(group, kind)), None)
        if library is None:
            raise RegistrationError(f"this host does not convert {kind}.{group}: add a --converter for it")
        declared: Conversions | None = (library.declared or {}).get(f"{kind}.{group}")
        if declared is not None:
            try:
                declared.check(version["name"] for version in spec["versions"])
            except Incomplete as error:
                raise RegistrationError(f"{error}; declare these steps, or remove the versions from the CRD") from None


def _changed_fields(changes: JsonObject) -> str:
    """Return the names of the fields that a patch changes."""
    webhook = changes.get("webhook") or {}
    fields = [*(webhook.get("clientConfig") or {}), *(key for key in webhook if key != "clientConfig")]
    return ", ".join([*(["strategy"] if "strategy" in changes else []), *fields])


class _PatchedBundles:
    """The CA bundles in the CRDs. One is published when all API servers had time to load it from the CRDs."""

    def __init__(self, propagation_seconds: float) -> None:
        self.published = b""
        self._propagation_seconds = propagation_seconds
        self._pending, self._publish_at = b"", 0.0

    def observe(self, bundle: bytes, now: float, *, unchanged: bool) -> float | None:
        """Return the seconds until `bundle` can be published, or None if it is published.

        `unchanged` is False if a CRD was just patched or is not patched yet. Then the time starts again.
        """
        if not unchanged or self._pending != bundle:
            self._pending, self._publish_at = bundle, now + self._propagation_seconds
        return None if bundle == self.published else self._publish_at - now


class WebhookRegistration:
    """Keeps a host registered in CRDs: those named in `crds`, else those of the kinds that its converters declare."""

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
        """If `endpoint` is None, register the host's own URL, which only an API server on the same machine can use."""
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
        """Select the CRDs to patch. Raise ValueError if conversions are incomplete or the kinds are not known."""
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
        """Start the next check of the CRDs now."""
        self._wake_event.set()

    async def ready(self) -> None:
        """Wait until the host is registered in all CRDs and tested."""
        async with self._state_changed:
            await self._state_changed.wait_for(lambda: self._state.ready)

    async def run(self, url: str, certificates: Certificates, on_published: Callable[[bytes], Awaitable[None]]) -> None:
        """Keep the host registered until cancelled. Call `on_published` when all CRDs have a new bundle."""
        endpoint = self._endpoint or WebhookEndpoint.of_url(url)
        bundles = _PatchedBundles(self._propagation_seconds)
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
                unchanged = registered and patches_before == self._patch_count()
                remaining = bundles.observe(bundle, self._clock.monotonic(), unchanged=unchanged)
                if registered and remaining is not None and remaining <= 0:
                    bundles.published = bundle
                    await on_published(bundle)
                    continue
                failures = 0 if all_ok else failures + 1
                delay = self._check_seconds if all_ok else self._backoff[min(failures, len(self._backoff)) - 1]
                await self._sleep(min(delay, remaining) if registered and remaining is not None else delay)
        finally:
            for task in self._watches.values():
                task.cancel()
            await asyncio.gather(*self._watches.values(), return_exceptions=True)
            self._watches.clear()
            await self._cluster.close()
            self._state = Readiness(False, "the host has stopped")

    async def _refresh_certificates(self, certificates: Certificates) -> None:
        """Try to replace the temporary certificates by certificates from the store, which may be reachable again."""
        try:
            await certificates.refresh()
        except OSError as error:
            await self._set_state(False, [self._report("certificates", str(error), failed=True)])

    async def _reconcile(self, endpoint: WebhookEndpoint, bundle: bytes, retired: bytes) -> tuple[bool, bool]:
        """Patch and test all CRDs. Return two flags: all CRDs are patched, and all tests have succeeded."""
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
        # If only the API server was unreachable, a host that was ready stays ready.
        await self._set_state(all_ok or (ready and self._state.ready), lines)
        return registered, all_ok

    def _patch_count(self) -> int:
        return sum(patcher.patches for patcher in self._patchers)

    async def _set_state(self, all_ok: bool, lines: list[str]) -> None:
        async with self._state_changed:
            self._state = Readiness(all_ok, "\n".join(["ok" if all_ok else "not ready", *lines, ""]))
            self._state_changed.notify_all()

    def _report(self, label: str, message: str, *, failed: bool) -> str:
        """Log a message unless it equals the last message about the same CRD. Return the line for /readyz."""
        if self._last_messages.get(label) != message:
            self._last_messages[label] = message
            log.log(logging.WARNING if failed else logging.INFO, "%s: %s%s", label, message, "; retrying" * failed)
        return f"{label}: {message}"

    def _watch(self, name: str) -> None:
        if name not in self._watches:
            self._watches[name] = asyncio.get_running_loop().create_task(self._watch_crd(name))

    async def _watch_crd(self, name: str) -> None:
        """Start a check of the CRDs whenever the CRD changes. Periodic checks find changes that the watch misses."""
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
    """Raise ValueError if a library declares versions of a kind between which no conversion path exists.

    The message lists all missing conversions.
    """
    incomplete = []
    for library in libraries:
        for conversions in (library.declared or {}).values():
            try:
                conversions.check(conversions.versions)
            except Incomplete as error:
                incomplete.append(str(error))
    if incomplete:
        raise ValueError("\n".join(incomplete))
