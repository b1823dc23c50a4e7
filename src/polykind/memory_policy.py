"""Decides when the process collects garbage and when it returns freed memory to the operating system.

Reference counting frees nearly all memory of requests at once. Python's garbage collector finds the rest: objects that
refer to each other in a cycle, such as the schemas of a CRD that was replaced. It holds the interpreter lock while it
visits objects, about 0.1 ms for every thousand, so it must not visit the large objects of requests.
docs/decisions/0055 has the reasons and figures.
"""

from __future__ import annotations

import asyncio
import gc
import threading
import time
from collections.abc import Callable
from typing import Final, Protocol

YOUNG_OBJECTS: Final = 10_000
"""The number of new objects after which the collector visits them: one to two milliseconds."""
_MIDDLE_COLLECTIONS: Final = 3
"""The number of young collections after which the objects that survived them are visited again."""
NEVER: Final = 1 << 30
"""A threshold that the collector never reaches."""
TICK_SECONDS: Final = 1.0
_FULL_SECONDS: Final = 60.0
"""The time between full collections. It is longer if they take long: at most a thousandth of the time."""
_FULL_SHARE: Final = 0.001
_LONG_PAUSE, _LONG_SHARE = 0.03, 0.0001
"""A collection that is expected to take longer than this may take a ten-thousandth of the time: it holds the event loop
for longer than a request may.
"""
_OBJECT_SECONDS: Final = 1e-7
"""The time that a full collection takes for one object."""
_MAX_DEFERRAL: Final = 300.0
"""The time for which a busy process, or large requests, can defer a collection that is due."""
_IDLE_SHARE: Final = 0.2
"""A process that uses less of a CPU than this is idle."""
_TRIM_SECONDS: Final = 5.0
"""The time between two returns of freed memory, if the process has worked in between."""
_TRIM_WORK_SECONDS: Final = 0.05


class Collector(Protocol):
    """The functions of the module `gc` that the policy uses."""

    def collect(self, generation: int = ...) -> int: ...

    def disable(self) -> None: ...

    def enable(self) -> None: ...

    def freeze(self) -> None: ...

    def unfreeze(self) -> None: ...

    def get_count(self) -> tuple[int, int, int]: ...

    def get_freeze_count(self) -> int: ...

    def isenabled(self) -> bool: ...

    def set_threshold(self, young: int, middle: int, full: int, /) -> None: ...


class MemoryPolicy:
    """When garbage is collected in this process.

    No automatic collection runs while a request holds a large object. If the policy manages the collector, as in the
    process of a server, automatic collections never visit old objects: `tick` starts full collections when the process
    is idle. In a process that only contains a server, such as a test run, the thresholds stay as they are.
    """

    def __init__(
        self,
        collector: Collector = gc,
        *,
        clock: Callable[[], float] = time.monotonic,
        cpu_clock: Callable[[], float] = time.process_time,
        trim: Callable[[], None] | None = None,
    ) -> None:
        self._collector = collector
        self._clock = clock
        self._cpu_clock = cpu_clock
        self._trim = trim or _return_free_memory
        self._lock = threading.Lock()
        self._large = 0
        """The number of requests that hold a large object, on all event loops of the process."""
        self._enabled = False
        """True if automatic collections are on except while requests hold large objects."""
        self._managed = False
        self._paused = False
        """True if automatic collections were turned off for a large object, and not turned on again."""
        self._has_frozen = False
        """True if objects were frozen since the last full collection."""
        self._last_full = 0.0
        """When the last full collection ran, or the start ended."""
        self._pause = 0.0
        """The duration of the last full collection that visited no frozen objects."""
        self._last_tick = self._cpu_clock()
        self._trim_due = self._trimmed_at = 0.0

    def begin_large(self) -> None:
        """Turn automatic collections off while a request holds a large object. Call `end_large` at its end."""
        with self._lock:
            self._large += 1
            if not self._paused:
                self._paused = True
                self._enabled = self._collector.isenabled()
                self._collector.disable()

    def end_large(self) -> None:
        """End a request that held a large object.

        Its frames still refer to the object. If the policy manages the collector, automatic collections therefore wait
        for the next tick. Then most objects of the request have been freed.
        """
        with self._lock:
            self._large -= 1
            if not self._large and not self._managed:
                self._resume()

    def _resume(self) -> None:
        self._paused = False
        if self._enabled:
            self._collector.enable()

    def manage(self) -> None:
        """Manage the collector of this process from now on. The caller must `run` the policy.

        Collections skip all objects that exist now, at the end of the start. Collecting them first would free less than
        a megabyte and delay the first responses.
        """
        self._managed = True
        self._collector.freeze()
        self._collector.set_threshold(YOUNG_OBJECTS, _MIDDLE_COLLECTIONS, NEVER)
        self._collector.enable()
        self._last_full = self._clock()
        self._trimmed_at = self._cpu_clock()

    async def run(self) -> None:
        """Call `tick` every second until the task is cancelled."""
        while True:
            await asyncio.sleep(TICK_SECONDS)
            self.tick()

    def tick(self) -> None:
        """Run the collections that are due, and return freed memory to the operating system."""
        now, cpu = self._clock(), self._cpu_clock()
        is_idle = cpu - self._last_tick < _IDLE_SHARE * TICK_SECONDS
        with self._lock:
            self._resume_collections()
            overdue = now - self._last_full - self._interval()
            if overdue > _MAX_DEFERRAL or (overdue >= 0 and is_idle and not self._large):
                self._collect_all()
        if now >= self._trim_due and cpu - self._trimmed_at > _TRIM_WORK_SECONDS:
            self._trim()
            self._trim_due, self._trimmed_at = now + _TRIM_SECONDS, cpu
        self._last_tick = self._cpu_clock()

    def _resume_collections(self) -> None:
        """Turn automatic collections on again if no request holds a large object.

        If large requests have left many objects, such as the compiled schemas of a CRD, only a full collection visits
        them. Freezing them takes no time.
        """
        if self._paused and not self._large:
            if self._collector.get_count()[0] > YOUNG_OBJECTS:
                self._collector.freeze()
                self._has_frozen = True
            self._resume()

    def _interval(self) -> float:
        """Return the time between the last full collection and the next one."""
        pause = self._collector.get_freeze_count() * _OBJECT_SECONDS if self._has_frozen else self._pause
        return max(_FULL_SECONDS, pause / (_FULL_SHARE if pause <= _LONG_PAUSE else _LONG_SHARE))

    def _collect_all(self) -> None:
        """Run a full collection if objects have become old since the last one."""
        if not (self._has_frozen or self._paused or self._collector.get_count()[2]):
            return
        started = self._clock()
        if self._has_frozen:
            self._collector.unfreeze()
        self._collector.collect(2)
        self._collector.freeze()
        if not self._has_frozen:
            self._pause = self._clock() - started
        self._has_frozen = False
        self._last_full = started


def _return_free_memory() -> None:
    """Return freed memory to the operating system. Does nothing with a C library other than glibc.

    glibc returns only the end of its heap on its own, and a small object at the end keeps all that is before it.
    """
    import ctypes

    malloc_trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if malloc_trim is not None:
        malloc_trim(0)


memory_policy: Final = MemoryPolicy()
"""The policy of this process. The garbage collector is one for all event loops."""
