"""The auditor: it evaluates the policy for requests and passes their audit events to the backends."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from polykind import errors
from polykind.audit.audit_context import AuditContext
from polykind.audit.audit_policy import LEVEL_NAMES, AuditConfig, AuditPolicy
from polykind.audit.event_text import event_text
from polykind.auth.authorizer import Access
from polykind.auth.user import User
from polykind.contract import Clock
from polykind.http.connection import App
from polykind.http.messages import Request
from polykind.metrics.metrics import Metrics
from polykind.operations.responses import Response, Stream

log = logging.getLogger("polykind.audit")

_TIMEOUT = "the request timed out, or its client has closed the connection"
_LOGGED_EVENTS = 10
"""The number of lost events that an error message describes. The metric counts all of them."""


class AuditBackend(Protocol):
    """Records audit events."""

    @property
    def strict(self) -> bool:
        """True in the mode blocking-strict: a request is rejected if its first event cannot be stored."""

    def put(self, event: bytes, level: int) -> asyncio.Future[bool] | None:
        """Record an event, a line of JSON. Never waits.

        In a blocking mode, return a future that is done when the event is stored: True if that succeeded.
        """

    async def close(self) -> None:
        """Record the remaining events."""


class AuditErrors:
    """Counts and logs the events that a backend could not record. `plugin` is kube-apiserver's name of the backend."""

    def __init__(self, metrics: Metrics) -> None:
        self._total = metrics.audit_errors
        self._unlogged: dict[tuple[str, str], list[bytes]] = {}
        self._unlogged_total = 0

    def record(self, plugin: str, reason: str, events: Sequence[bytes]) -> None:
        """Count lost events at once, and log them at most once per second. Only the event loop may call this."""
        self._total.of(plugin).add(len(events))
        if not self._unlogged:
            asyncio.get_running_loop().call_later(1.0, self.flush)
        lost = self._unlogged.setdefault((plugin, reason), [])
        lost.extend(events[: max(0, _LOGGED_EVENTS - len(lost))])
        self._unlogged_total += len(events)

    def flush(self) -> None:
        """Log the events that were lost since the last call."""
        total, self._unlogged_total = self._unlogged_total, 0
        unlogged, self._unlogged = self._unlogged, {}
        for (plugin, reason), events in unlogged.items():
            texts = "\n".join(map(event_text, events))
            log.error("audit: %s lost events (%d in the last second): %s\n%s", plugin, total, reason, texts)


class Auditor:
    """Audits requests by a policy."""

    def __init__(self, policy: AuditPolicy, backends: Sequence[AuditBackend], clock: Clock, metrics: Metrics) -> None:
        self._policy = policy
        self._backends = backends
        self._clock = clock
        self._is_strict = any(backend.strict for backend in backends)
        self._levels = [metrics.audit_levels.of(name) for name in LEVEL_NAMES]
        self._events = metrics.audit_events.of()
        self._rejected = metrics.audit_rejected.of()

    def audit(self, app: App) -> App:
        """Return the application that calls `app` and emits the events of its responses."""

        async def respond(request: Request) -> Response | Stream:
            context = request.notes = AuditContext(self, request)
            try:
                response = await app(request)
            except asyncio.CancelledError:
                context.fail(504, "Timeout", _TIMEOUT)
                raise
            except errors.APIError as error:
                context.record_status(error.status())
                await context.respond(Response(error.code))
                raise
            except Exception as error:
                context.fail(500, "InternalError", f"APIServer panic'd: {error}", "Panic")
                raise
            await context.respond(response)
            return response

        return respond

    def now(self) -> datetime:
        return self._clock.now()

    def config(self, access: Access, user: User | None) -> AuditConfig:
        """Return how to audit a request, and count its level."""
        config = self._policy.config(access, user)
        self._levels[config.level].add()
        return config

    def put(self, event: bytes, level: int) -> list[asyncio.Future[bool]]:
        """Pass an event to all backends. Return the futures of the backends in a blocking mode."""
        self._events.add()
        futures = [backend.put(event, level) for backend in self._backends]
        return [future for future in futures if future is not None]

    async def stored(self, futures: Sequence[asyncio.Future[bool]]) -> None:
        """Wait until events are stored. Backends report their own failures."""
        for future in futures:
            await future

    async def stored_strictly(self, futures: Sequence[asyncio.Future[bool]]) -> bool:
        """Wait for a backend in the mode blocking-strict. Return False if it could not store the event.

        Other backends store events in order, so the request waits for them only when its last event is stored.
        """
        if not self._is_strict:
            return True
        results = [await future for future in futures]
        if all(results):
            return True
        self._rejected.add()
        return False

    async def close(self) -> None:
        """Record the remaining events."""
        for backend in self._backends:
            await backend.close()
