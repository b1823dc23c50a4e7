"""The converter of a CRD. It checks the versions, records metrics and tracks the converter's health."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from typing import Protocol

from polykind.contract import Clock, Converter, JsonObject
from polykind.conversion.conversion_errors import CALL, AttemptError, ConversionFailedError, version_of
from polykind.conversion.conversion_observer import Observer, add_conversion_time
from polykind.conversion.converter_health import UNHEALTHY_FAILURES, Health
from polykind.errors import APIError, UnknownReasonError
from polykind.webhook.presence import WebhookPresence
from polykind.webhook.target import string_or_empty

CALL_SECONDS = 30.0
"""The timeout of one call to a converter."""

_LOG_SECONDS = 5.0
"""Seconds between two log lines about failed conversions of one CRD."""

log = logging.getLogger(__name__)


class RemoteConverter(Converter, Protocol):
    """A converter that calls a webhook or a function. Calls can fail and take time. `close` releases its resources."""

    @property
    def name(self) -> str:
        """The name of the converter in metrics."""

    @property
    def address(self) -> str:
        """The address of the converter in error messages."""

    @property
    def certificate_expires(self) -> datetime | None: ...

    @property
    def presence(self) -> WebhookPresence | None:
        """The connections to the webhook. None if the converter calls no webhook."""

    @property
    def service(self) -> str:
        """The key (namespace/name) of the Service through which the webhook is reached, or ""."""

    @property
    def repair(self) -> str:
        """Why answers to large reviews are wrong, if the same objects can be converted in smaller ones, else ""."""

    def reconnect(self) -> None:
        """Use new connections from now on, because the webhook may have another address."""

    async def close(self) -> None: ...


class MonitoredConverter:
    """The converter for one CRD. `identity` is a string that differs if the CRD's conversions may give other results.

    `remote` is the converter to call, or None if the CRD's conversion strategy is "None". A conversion then only sets
    apiVersion, and is not counted in the metrics.
    """

    def __init__(
        self,
        crd_name: str,
        versions: Collection[str],
        identity: str,
        remote: RemoteConverter | None,
        *,
        clock: Clock,
        observer: Observer | None = None,
        on_health: Callable[[Health], None] | None = None,
        disabled_reason: str = "",
    ) -> None:
        self.crd_name = crd_name
        self.disabled_reason = disabled_reason
        """The reason why every conversion fails, or "" if conversions are possible."""
        self.identity = identity
        self.health = Health()
        self._versions = frozenset(versions)
        self._remote = remote
        self._clock = clock
        self._observer = observer
        self._on_health = on_health
        self._next_log = -math.inf
        self._unlogged = 0
        """The number of failed conversions that were not logged since the last one was."""

    @property
    def is_remote(self) -> bool:
        """True if a conversion calls a webhook or a function. Callers cache the results of such conversions."""
        return self._remote is not None

    @property
    def presence(self) -> WebhookPresence | None:
        """The connections to the webhook. None if the converter calls no webhook."""
        return self._remote.presence if self._remote is not None else None

    @property
    def service(self) -> str:
        """The key (namespace/name) of the Service through which the webhook is reached, or ""."""
        return self._remote.service if self._remote is not None else ""

    def reconnect(self) -> None:
        """Use new connections from now on, because the webhook may have another address."""
        if self._remote is not None:
            self._remote.reconnect()

    async def close(self) -> None:
        if self._remote is not None:
            await self._remote.close()

    async def convert(self, objects: Sequence[JsonObject], to: str) -> list[JsonObject]:
        """Convert the objects to the apiVersion `to`, in order and in as few calls as possible."""
        for obj in objects:
            self._check_versions(obj, to)
        if self._remote is None:
            return [{**obj, "apiVersion": to} for obj in objects]
        if all(obj.get("apiVersion") == to for obj in objects):
            return list(objects)
        started = time.monotonic()
        try:
            return await self._convert_remote(self._remote, objects, to)
        finally:
            add_conversion_time(time.monotonic() - started)

    def shared(self, objects: int) -> None:
        """Count objects for which a request waited for a running conversion instead of starting its own."""
        if self._observer:
            self._observer.objects_shared(self.crd_name, objects)

    def _check_versions(self, obj: JsonObject, to: str) -> None:
        if to not in self._versions:
            raise UnknownReasonError(f"request to convert CR to an invalid group/version: {to}")
        api_version = string_or_empty(obj.get("apiVersion"))
        if api_version not in self._versions:
            raise UnknownReasonError(f"request to convert CR from an invalid group/version: {api_version}")

    async def _convert_remote(
        self, remote: RemoteConverter, objects: Sequence[JsonObject], to: str
    ) -> list[JsonObject]:
        started = time.monotonic()
        try:
            converted = await remote.convert(objects, to)
        except APIError as error:
            # An APIError that is not a ConversionFailedError means that the converter could not be called.
            failure = (
                error.failure if isinstance(error, ConversionFailedError) else AttemptError(error.message, CALL, "TLS")
            )
            self._log_failure(error.message)
            self._update_health(self.health.failed(failure))
            self._count(remote, objects, to, time.monotonic() - started, failure)
            raise
        self._update_health(self.health.succeeded(self._clock.now(), remote.certificate_expires, remote.repair))
        self._count(remote, objects, to, time.monotonic() - started, None)
        return converted

    def _log_failure(self, message: str) -> None:
        """Log a failed conversion. During an outage, log one every few seconds, with the number of the others."""
        now = self._clock.monotonic()
        if now < self._next_log:
            self._unlogged += 1
            return
        others = f" (and {self._unlogged} more since the last such line)" if self._unlogged else ""
        self._next_log, self._unlogged = now + _LOG_SECONDS, 0
        log.warning("CRD %s: a conversion failed: %s%s", self.crd_name, message, others)

    def _update_health(self, health: Health) -> None:
        before, self.health = self.health, health
        if health.failures == UNHEALTHY_FAILURES:
            log.warning("CRD %s: conversions fail, check its converter: %s", self.crd_name, health.error)
        elif before.failures >= UNHEALTHY_FAILURES and not health.failures:
            log.info("CRD %s: conversions succeed again", self.crd_name)
        if self._on_health:
            self._on_health(health)

    def _count(
        self,
        remote: RemoteConverter,
        objects: Sequence[JsonObject],
        to: str,
        seconds: float,
        failure: AttemptError | None,
    ) -> None:
        if self._observer:
            for from_version in dict.fromkeys(
                string_or_empty(o.get("apiVersion")) for o in objects if o.get("apiVersion") != to
            ):
                versions = version_of(from_version), version_of(to)
                self._observer.objects_converted(self.crd_name, remote.name, *versions, seconds, failure)
