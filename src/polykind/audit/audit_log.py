"""The audit log: a thread writes events to a file or to the standard output."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Protocol

from polykind.audit.auditor import AuditErrors
from polykind.audit.event_text import event_text

BATCH, BLOCKING, BLOCKING_STRICT = "batch", "blocking", "blocking-strict"
MODES = (BATCH, BLOCKING, BLOCKING_STRICT)
_MAX_WAIT_SECONDS = 5.0
"""The longest time that a request waits for a slow disk. Its events stay queued."""


class LineWriter(Protocol):
    """A file that events are appended to."""

    def write(self, lines: Sequence[bytes]) -> None:
        """Append lines. Raise OSError on failure."""

    def close(self) -> None: ...


class AuditLog:
    """Writes events in a thread of its own, so that a slow disk never blocks the event loop.

    In the blocking modes, a request waits for its events to be written, but not longer than five seconds. The queue
    has at most `buffer_size` events. Further events are lost, counted and logged.
    """

    def __init__(
        self,
        writer: LineWriter,
        audit_errors: AuditErrors,
        *,
        mode: str = BLOCKING,
        buffer_size: int = 10_000,
        legacy: bool = False,
        truncate: Callable[[bytes, int], bytes | None] | None = None,
    ) -> None:
        self._writer = writer
        self._errors = audit_errors
        self._blocking = mode != BATCH
        self.strict = mode == BLOCKING_STRICT
        self._buffer_size = buffer_size
        self._legacy = legacy
        self._truncate = truncate
        self._queue: deque[tuple[bytes, asyncio.Future[bool] | None]] = deque()
        self._wake = threading.Event()
        self._closing = False
        self._loop = asyncio.get_running_loop()
        self._thread = threading.Thread(target=self._run, name="audit-log", daemon=True)
        self._thread.start()

    def put(self, event: bytes, level: int) -> asyncio.Future[bool] | None:
        if self._truncate is not None:
            short = self._truncate(event, level)
            if short is None:
                return self._failed() if self._blocking else None
            event = short
        if len(self._queue) >= self._buffer_size or self._closing:
            reason = "the log is closed" if self._closing else "audit buffer queue blocked"
            self._errors.record("log" if self._blocking else "buffered", reason, [event])
            return self._failed() if self._blocking else None
        future: asyncio.Future[bool] | None = None
        if self._blocking:
            future = self._loop.create_future()
            timer = self._loop.call_later(_MAX_WAIT_SECONDS, _resolve, future, False)
            future.add_done_callback(lambda _: timer.cancel())
        self._queue.append((event, future))
        self._wake.set()
        return future

    def _failed(self) -> asyncio.Future[bool]:
        future = self._loop.create_future()
        future.set_result(False)
        return future

    async def close(self) -> None:
        """Write the queued events and close the file."""
        self._closing = True
        self._wake.set()
        await asyncio.to_thread(self._thread.join)
        # Let the callbacks of the thread run, which report failures.
        await asyncio.sleep(0)
        self._errors.flush()

    # ------------------------------------------------------------------ in the thread

    def _run(self) -> None:
        while True:
            self._wake.wait()
            self._wake.clear()
            self._write_queued()
            if self._closing and not self._queue:
                self._writer.close()
                return

    def _write_queued(self) -> None:
        # Only this thread removes events, so the queue has at least as many events as its length says.
        batch = [self._queue.popleft() for _ in range(len(self._queue))]
        if not batch:
            return
        reason = ""
        try:
            self._writer.write([self._line(event) for event, _ in batch])
        except OSError as error:
            reason = str(error)
        self._loop.call_soon_threadsafe(self._report, batch, reason)

    def _line(self, event: bytes) -> bytes:
        return event_text(event).encode() + b"\n" if self._legacy else event

    def _report(self, batch: Sequence[tuple[bytes, asyncio.Future[bool] | None]], reason: str) -> None:
        if reason:
            self._errors.record("log", reason, [event for event, _ in batch])
        for _, future in batch:
            if future is not None:
                _resolve(future, not reason)


def _resolve(future: asyncio.Future[bool], succeeded: bool) -> None:
    if not future.done():
        future.set_result(succeeded)
