"""The lane of an operation: where its steps run, on the event loop or in a worker thread."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, Final, TypeVar

from polykind.memory_policy import memory_policy
from polykind.workers import INLINE_BYTES, Workers

if TYPE_CHECKING:
    from polykind.resources.resource import ServedVersion

T = TypeVar("T")

_INLINE_CONTAINERS: Final = 500
"""A body with more JSON objects and lists than this is handled in a worker thread. Also limits the nesting depth."""
_INLINE_STEPS: Final = 20_000


def is_large(data: bytes, steps_per_value: int = 1) -> bool:
    """True if work on JSON or YAML of this size belongs in a worker thread.

    `steps_per_value` is the number of steps that a schema may need for one value.
    """
    if len(data) > INLINE_BYTES:
        return True
    # In YAML, lines and "- " separate values, unless the text begins with a bracket, as JSON does.
    in_lines = data[:1] != b"{"
    if not in_lines:
        # One pass is enough for most objects: they have few brackets and commas.
        few = len(data) - len(data.translate(None, b"{[,"))
        if few <= _INLINE_CONTAINERS and few * steps_per_value <= _INLINE_STEPS:
            return False
    containers = data.count(b"{") + data.count(b"[") + (data.count(b"- ") if in_lines else 0)
    if containers > _INLINE_CONTAINERS:
        return True
    if steps_per_value <= 1:
        return False
    values = containers + data.count(b",") + (data.count(b"\n") if in_lines else 0)
    return values * steps_per_value > _INLINE_STEPS


class _Hold:
    """Tells the memory policy that an operation holds large objects, until the operation ends."""

    __slots__ = ("_held", "_reports")

    def __init__(self, *, reports: bool) -> None:
        self._reports = reports
        self._held = False

    def begin(self) -> None:
        if self._reports and not self._held:
            self._held = True
            memory_policy.begin_large()

    def end(self) -> None:
        if self._held:
            self._held = False
            memory_policy.end_large()


class Lane:
    """Runs the steps of an operation: on the event loop or, once an input is large, in worker threads.

    All steps of a write handle the same object, so the steps after a large input run in worker threads, too. Users with
    waiting operations take turns.
    """

    __slots__ = ("_hold", "_user", "_version", "_workers", "large")

    def __init__(self, workers: Workers, user: str, version: ServedVersion, hold: _Hold) -> None:
        self._workers = workers
        self._user = user
        self._version = version
        self._hold = hold
        self.large = False
        """True if the steps run in worker threads."""

    @classmethod
    def open(cls, workers: Workers, user: str, version: ServedVersion, *, ends: bool) -> Lane:
        """Return the lane of an operation of `user`, "" for the server. `ends` is true if `end` will be called."""
        return cls(workers, user, version, _Hold(reports=ends))

    def at(self, version: ServedVersion) -> Lane:
        """Return a lane for objects of another version that the same operation handles."""
        return Lane(self._workers, self._user, version, self._hold)

    def consider(self, data: bytes) -> None:
        """Move the steps to worker threads if work on an object with this JSON or YAML takes long."""
        if not self.large:
            version = self._version
            self.large = (version.strategy.expensive and version.strategy.is_expensive(data)) or (
                len(data) > version.codec.small_bytes and is_large(data, version.codec.steps_per_value)
            )

    async def run(self, step: Callable[..., T], *args: Any) -> T:
        """Run a step and return its result."""
        if not self.large:
            return step(*args)
        return await self.run_in_worker(step, *args)

    async def read(self, data: bytes, step: Callable[..., T], *args: Any) -> T:
        """Run a step that reads this JSON or YAML and return its result."""
        self.consider(data)
        return await self.run(step, *args)

    async def run_async(self, step: Coroutine[Any, Any, T]) -> T:
        """Run an asynchronous step and return its result. Its calls of converters run on the event loop."""
        if not self.large:
            return await step
        self._hold.begin()
        return await self._workers.run_coroutine(self._user, step)

    async def run_async_in_worker(self, step: Coroutine[Any, Any, T]) -> T:
        """Run an asynchronous step in worker threads."""
        self._hold.begin()
        return await self._workers.run_coroutine(self._user, step)

    async def run_in_worker(self, step: Callable[..., T], *args: Any) -> T:
        """Run one step in a worker thread, whatever the other steps do."""
        self._hold.begin()
        return await self._workers.run(self._user, (lambda: step(*args)) if args else step)

    async def run_sized(self, size: int, step: Callable[..., T], *args: Any) -> T:
        """Run one step whose work grows with `size`, a number of bytes, whatever the other steps do."""
        return await self.run_in_worker(step, *args) if size > INLINE_BYTES else step(*args)

    async def take_turn(self) -> None:
        """Wait until the next slice of a long response may be encoded. Users take turns."""
        await self._workers.turns.take(self._user)

    def end(self) -> None:
        """End the operation."""
        self._hold.end()
