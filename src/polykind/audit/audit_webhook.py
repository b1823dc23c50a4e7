"""The audit webhook: sends events in batches to the HTTPS endpoint of a kubeconfig."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from random import uniform
from typing import Protocol

import orjson

from polykind.audit.audit_log import BATCH, BLOCKING_STRICT
from polykind.audit.auditor import AuditErrors
from polykind.cluster.cluster_access import ClusterAccess
from polykind.cluster.cluster_client import ClusterClient, ClusterError, StatusError

_ATTEMPTS = 5
_FACTOR = 1.5
_JITTER = 0.2
_MAX_CONCURRENT = 16
"""The number of batches that are sent at the same time. While all of them wait for a slow webhook, events queue up."""
_CLOSE_SECONDS = 10.0
"""The time that a stopping server gives the webhook for the remaining events."""
_LIST_HEAD = b'{"kind":"EventList","apiVersion":"audit.k8s.io/v1","metadata":{},"items":['


@dataclass(frozen=True, slots=True)
class WebhookBatching:
    """The size and the rate of batches, and the delay after the first failed attempt in seconds."""

    mode: str = BATCH
    buffer_size: int = 10_000
    max_size: int = 400
    max_wait: float = 30.0
    qps: float = 10.0
    """The average number of batches per second, or 0 for no limit."""
    burst: int = 15
    initial_backoff: float = 10.0


class EventSender(Protocol):
    """Sends an EventList."""

    async def send(self, body: bytes) -> None:
        """Raise ClusterError if the webhook did not accept the events."""

    async def close(self) -> None: ...


class WebhookSender:
    """Posts events to exactly the address in a kubeconfig, as kube-apiserver does."""

    def __init__(self, access: ClusterAccess) -> None:
        self._client = ClusterClient(access, "kube-apiserver")

    async def send(self, body: bytes) -> None:
        try:
            await self._client.request("POST", "", orjson.Fragment(body))
        except StatusError as error:
            # A webhook may respond without a JSON object.
            if not 200 <= error.status < 300:
                raise

    async def close(self) -> None:
        await self._client.close()


class AuditWebhook:
    """Collects events and sends them. A failed batch is sent again four times, then its events are lost.

    Lost events are counted and logged. Requests never wait in the mode batch.
    """

    def __init__(
        self,
        sender: EventSender,
        audit_errors: AuditErrors,
        batching: WebhookBatching,
        truncate: Callable[[bytes, int], bytes | None] | None = None,
    ) -> None:
        self._sender = sender
        self._errors = audit_errors
        self._batching = batching
        self._truncate = truncate
        self.strict = batching.mode == BLOCKING_STRICT
        self._queue: deque[bytes] = deque()
        self._full = asyncio.Event()
        """Set if a batch can be sent before its waiting time ends."""
        self._closing = False
        self._sending: set[asyncio.Task[bool]] = set()
        self._slots = asyncio.Semaphore(_MAX_CONCURRENT)
        self._task = asyncio.create_task(self._run()) if batching.mode == BATCH else None

    def put(self, event: bytes, level: int) -> asyncio.Future[bool] | None:
        if self._truncate is not None:
            short = self._truncate(event, level)
            if short is None:
                return None
            event = short
        if self._task is None:
            # A request that is cancelled must not cancel the delivery.
            return asyncio.shield(self._start([event]))
        if len(self._queue) >= self._batching.buffer_size or self._closing:
            reason = "audit backend shut down" if self._closing else "audit buffer queue blocked"
            self._errors.record("buffered", reason, [event])
            return None
        self._queue.append(event)
        if len(self._queue) >= self._batching.max_size:
            self._full.set()
        return None

    async def close(self) -> None:
        """Send the remaining events. After ten seconds, record the others as lost."""
        self._closing = True
        self._full.set()
        waiting = {*self._sending, *((self._task,) if self._task is not None else ())}
        with suppress(TimeoutError):
            async with asyncio.timeout(_CLOSE_SECONDS):
                if self._task is not None:
                    await asyncio.shield(self._task)
                while self._sending:
                    await asyncio.wait(set(self._sending))
        waiting |= self._sending
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        if self._queue:
            self._errors.record("webhook", "the server has stopped", list(self._queue))
        await self._sender.close()
        self._errors.flush()

    async def _run(self) -> None:
        batching, loop = self._batching, asyncio.get_running_loop()
        tokens, filled = float(batching.burst), loop.time()
        while True:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._full.wait(), batching.max_wait)
            self._full.clear()
            while self._queue:
                await self._slots.acquire()
                now = loop.time()
                tokens, filled = min(batching.burst, tokens + (now - filled) * batching.qps), now
                if batching.qps and tokens < 1:
                    await asyncio.sleep((1 - tokens) / batching.qps)
                    tokens, filled = 1.0, loop.time()
                tokens -= 1
                batch = [self._queue.popleft() for _ in range(min(len(self._queue), batching.max_size))]
                self._start(batch).add_done_callback(lambda _: self._slots.release())
                if len(self._queue) < batching.max_size and not self._closing:
                    break
            if self._closing:
                return

    def _start(self, batch: Sequence[bytes]) -> asyncio.Task[bool]:
        task = asyncio.create_task(self._send(batch))
        self._sending.add(task)
        task.add_done_callback(self._sending.discard)
        return task

    async def _send(self, batch: Sequence[bytes]) -> bool:
        """Send a batch until the webhook accepts it. Return False if all attempts have failed."""
        body = _LIST_HEAD + b",".join(event.rstrip() for event in batch) + b"]}"
        delay = self._batching.initial_backoff
        reason = "the server has stopped"
        try:
            for attempt in range(_ATTEMPTS):
                if attempt:
                    await asyncio.sleep(delay * uniform(1, 1 + _JITTER))  # noqa: S311
                    delay *= _FACTOR
                try:
                    await self._sender.send(body)
                except ClusterError as error:
                    reason = str(error)
                else:
                    return True
        except asyncio.CancelledError:
            self._errors.record("webhook", reason, batch)
            raise
        self._errors.record("webhook", reason, batch)
        return False
