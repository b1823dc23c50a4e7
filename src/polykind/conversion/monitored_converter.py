"""The one door to a CRD's converter: what may pass, what is counted, how the converter is doing."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from typing import Protocol

from polykind.contract import Clock, Converter, JsonObject
from polykind.conversion.failure import CALL, ConversionFailedError, Failure, text, version_of
from polykind.conversion.health import ENOUGH, Health
from polykind.conversion.observer import Observer, spend
from polykind.errors import APIError, UnknownReasonError

log = logging.getLogger(__name__)


class Remote(Converter, Protocol):
    """A converter that may fail, takes time and holds things open."""

    @property
    def name(self) -> str:
        """Which converter it is, in metrics."""

    @property
    def address(self) -> str:
        """Where it was called, in complaints."""

    @property
    def certificate_expires(self) -> datetime | None: ...

    async def close(self) -> None: ...


class MonitoredConverter:
    """A Converter for one CRD as it stands. `identity` changes whenever its results might.

    `remote` is None where conversion changes nothing but apiVersion: then there is nothing to count.
    """

    def __init__(
        self,
        crd_name: str,
        versions: Collection[str],
        identity: str,
        remote: Remote | None,
        *,
        clock: Clock,
        observer: Observer | None = None,
        on_health: Callable[[Health], None] | None = None,
        off: str = "",
    ) -> None:
        self.crd_name = crd_name
        self.off = off
        """Why no conversion can succeed at all; empty if they may."""
        self.identity = identity
        self.health = Health()
        self._versions = frozenset(versions)
        self._remote = remote
        self._clock = clock
        self._observer = observer
        self._on_health = on_health

    @property
    def calls_out(self) -> bool:
        """Whether converting may take time; if not, its results are not worth keeping."""
        return self._remote is not None

    async def close(self) -> None:
        if self._remote is not None:
            await self._remote.close()

    async def convert(self, objects: Sequence[JsonObject], to: str) -> list[JsonObject]:
        """The objects in another version, in order, in as few calls as may be."""
        for obj in objects:
            self._check(obj, to)
        if self._remote is None:
            return [{**obj, "apiVersion": to} for obj in objects]
        if all(obj.get("apiVersion") == to for obj in objects):
            return list(objects)
        started = time.monotonic()
        try:
            return await self._through(self._remote, objects, to)
        finally:
            spend(time.monotonic() - started)

    def shared(self, objects: int) -> None:
        """So many objects were had from a call that another request waited for."""
        if self._observer:
            self._observer.shared(self.crd_name, objects)

    def _check(self, obj: JsonObject, to: str) -> None:
        if to not in self._versions:
            raise UnknownReasonError(f"request to convert CR to an invalid group/version: {to}")
        api_version = text(obj.get("apiVersion"))
        if api_version not in self._versions:
            raise UnknownReasonError(f"request to convert CR from an invalid group/version: {api_version}")

    async def _through(self, remote: Remote, objects: Sequence[JsonObject], to: str) -> list[JsonObject]:
        started = time.monotonic()
        try:
            converted = await remote.convert(objects, to)
        except APIError as error:
            # Whatever else is raised says that the converter cannot even be called.
            failure = error.failure if isinstance(error, ConversionFailedError) else Failure(error.message, CALL, "TLS")
            self._became(self.health.failed(failure))
            self._count(remote, objects, to, time.monotonic() - started, failure)
            raise
        self._became(self.health.succeeded(self._clock.now(), remote.certificate_expires))
        self._count(remote, objects, to, time.monotonic() - started, None)
        return converted

    def _became(self, health: Health) -> None:
        before, self.health = self.health, health
        if health.failures == ENOUGH:
            log.warning("conversions for CRD %s fail, check its converter: %s", self.crd_name, health.error)
        elif before.failures >= ENOUGH and not health.failures:
            log.info("conversions for CRD %s succeed again", self.crd_name)
        if self._on_health:
            self._on_health(health)

    def _count(
        self, remote: Remote, objects: Sequence[JsonObject], to: str, seconds: float, failure: Failure | None
    ) -> None:
        if self._observer:
            for origin in dict.fromkeys(text(o.get("apiVersion")) for o in objects if o.get("apiVersion") != to):
                versions = version_of(origin), version_of(to)
                self._observer.converted(self.crd_name, remote.name, *versions, seconds, failure)
