"""The lane of an operation: where its steps run, on the event loop or in a worker thread."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from typing import TYPE_CHECKING, Any, Final, TypeVar

from polykind.memory_policy import memory_policy
from polykind.workers import INLINE_BYTES, Workers

if TYPE_CHECKING:
    from polykind.resources.resource import ServedVersion

T = TypeVar("T")
A = TypeVar("A")

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


class Lane:
    """Runs the steps of an operation: on the event loop or, once an input is large, in worker threads.

    All steps of a write handle the same object, so the steps after a large input run in worker threads, too. Users with
    waiting operations take turns.
    """

    __slots__ = ("_held", "_reports", "_user", "_version", "_whole", "_workers", "large")

    def __init__(
        self, workers: Workers, user: str, version: ServedVersion, *, reports: bool = True, whole: Lane | None = None
    ) -> None:
        self._workers = workers
        self._user = user
        """The user whose operations take turns with those of others, or "" for the server."""
        self._version = version
        self._reports = reports
        """True if the memory policy learns of large objects. Then `end` must be called."""
        self._held = False
        self._whole = whole or self
        """The lane of the whole operation, of which this lane's operation may be a part."""
        self.large = False
        """True if the steps run in worker threads."""

    def at(self, version: ServedVersion) -> Lane:
        """Return a lane for objects of another version that the same operation handles."""
        return Lane(self._workers, self._user, version, reports=False, whole=self._whole)

    def _hold(self) -> None:
        """Tell the memory policy that the operation holds large objects, until it ends."""
        whole = self._whole
        if whole._reports and not whole._held:
            whole._held = True
            memory_policy.begin_large()

    def end(self) -> None:
        """End the operation."""
        if self._held:
            self._held = False
            memory_policy.end_large()

    def consider(self, data: bytes) -> None:
        """Move the steps to worker threads if work on an object with this JSON or YAML takes long."""
        if not self.large:
            version = self._version
            self.large = (version.strategy.expensive and version.strategy.is_expensive(data)) or (
                len(data) > version.codec.small_bytes and is_large(data, version.codec.steps_per_value)
            )

    def grow(self) -> None:
        """Move the steps to worker threads, because a step has made a large object of a small one."""
        self.large = True

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
        self._hold()
        return await self._workers.run_coroutine(self._user, step)

    async def run_interruptible(
        self, step: Callable[[A | None], T], check: Callable[[], A], interruption: type[Exception]
    ) -> T:
        """Run a step that may take long, whatever its input is.

        The step starts on the event loop with the result of `check`, which raises `interruption` when it has held the
        loop too long. Then it runs again in a worker thread, with None.
        """
        if not self.large:
            try:
                return step(check())
            except interruption:
                pass
        return await self.run_in_worker(step, None)

    async def run_in_worker(self, step: Callable[..., T], *args: Any) -> T:
        """Run one step in a worker thread, whatever the other steps do."""
        self._hold()
        return await self._workers.run(self._user, (lambda: step(*args)) if args else step)

    async def run_long_if(self, is_long: bool, step: Callable[..., T], *args: Any) -> T:
        """Run one step, in a worker thread if `is_long` is true, whatever the other steps do."""
        return await self.run_in_worker(step, *args) if is_long else step(*args)

    async def run_sized(self, size: int, step: Callable[..., T], *args: Any) -> T:
        """Run one step whose work grows with `size`, a number of bytes, whatever the other steps do."""
        return await self.run_long_if(size > INLINE_BYTES, step, *args)

    async def run_on(self, data: bytes, more_bytes: int, step: Callable[..., T], *args: Any) -> T:
        """Run one step on this JSON, whatever the other steps do. `more_bytes` is the size of what else it works on."""
        return await self.run_long_if(more_bytes > INLINE_BYTES or is_large(data), step, *args)

    async def wait_for(self, deliveries: Iterable[asyncio.Future[None]]) -> None:
        """If the object is large, wait for the observers of large objects. A client with small objects does not."""
        if self.large and (waiting := list(deliveries)):
            await asyncio.wait(waiting)

    async def take_turn(self) -> None:
        """Wait until the next slice of a long response may be encoded. Users take turns."""
        await self._workers.turns.take(self._user)
