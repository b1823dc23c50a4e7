"""The runtime of controllers and its work queue, without a server."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from polykind import errors
from polykind.controllers.controller_runtime import Controller
from polykind.controllers.workqueue import UnfinishedError, WorkQueue


class Elections:
    """A leadership that a test decides."""

    def __init__(self, leading: bool) -> None:
        self.leading = leading
        self._subscribers: list[Callable[[bool], None]] = []

    def subscribe(self, on_change: Callable[[bool], None]) -> None:
        self._subscribers.append(on_change)

    def decide(self, leading: bool) -> None:
        self.leading = leading
        for subscriber in self._subscribers:
            subscriber(leading)

    async def start(self) -> None: ...

    async def close(self) -> None: ...


async def test_only_the_leader_reconciles_and_begins_with_all_keys() -> None:
    done: list[str] = []
    phases: list[str] = []

    async def reconcile(key: str) -> None:
        done.append(key)

    elections = Elections(False)
    controller = Controller(
        elections,
        reconcile,
        keys=lambda: ("a", "b"),
        begin=lambda: phases.append("begin"),
        end=lambda: phases.append("end"),
    )
    await controller.start()
    controller.add("ignored")
    await controller.attempt("ignored")
    assert not done
    elections.decide(True)
    await controller.attempt("c")
    assert done == ["a", "b", "c"]
    elections.decide(False)
    await controller.attempt("ignored")
    assert phases == ["begin", "end"]
    await controller.close()
    elections.decide(True)
    await controller.attempt("ignored")
    assert (done, phases) == (["a", "b", "c"], ["begin", "end"])


async def test_failed_reconciliation_is_repeated() -> None:
    attempts = 0
    succeeded = asyncio.Event()

    async def reconcile(key: str) -> None:
        nonlocal attempts
        attempts += 1
        if attempts == 1:
            raise errors.conflict("widgets", "example.com", key, "replaced")
        if attempts == 2:
            raise UnfinishedError
        succeeded.set()

    controller: Controller[str] = Controller(None, reconcile, max_delay=0.0)
    await controller.start()
    await controller.attempt("a")
    assert attempts == 1
    async with asyncio.timeout(20):
        await succeeded.wait()
    await controller.close()


async def test_reconciler_may_ask_for_the_next_call() -> None:
    calls: list[str] = []
    enough = asyncio.Event()

    async def reconcile(key: str) -> float:
        calls.append(key)
        if len(calls) == 3:
            enough.set()
        return 0.0

    controller: Controller[str] = Controller(None, reconcile)
    await controller.start()
    controller.add("a")
    async with asyncio.timeout(20):
        await enough.wait()
    await controller.close()
    assert calls[:3] == ["a", "a", "a"]


async def test_attempt_begins_after_the_call() -> None:
    """An attempt that is running may have read an older state."""
    started: list[int] = []
    gate = asyncio.Event()

    async def process(item: str) -> None:
        started.append(len(started))
        if len(started) == 1:
            await gate.wait()

    queue: WorkQueue[str] = WorkQueue(process)
    queue.open()
    queue.add("a")
    while not started:
        await asyncio.sleep(0)
    attempt = asyncio.create_task(queue.attempt("a"))
    await asyncio.sleep(0)
    assert queue.is_pending("a")
    gate.set()
    await attempt
    assert started == [0, 1]
    await queue.close()


async def test_item_that_is_added_while_its_worker_is_cancelled_is_processed() -> None:
    """A replica may lose its leadership and win it again before the cancelled worker has ended."""
    started: list[str] = []

    async def process(item: str) -> None:
        started.append(item)
        if len(started) == 1:
            await asyncio.Event().wait()

    queue: WorkQueue[str] = WorkQueue(process)
    queue.open()
    queue.add("a")
    while not started:
        await asyncio.sleep(0)
    queue.pause()
    queue.open()
    async with asyncio.timeout(20):
        await queue.attempt("a")
    assert started == ["a", "a"]
    await queue.close()


async def test_pause_ends_the_wait_for_an_attempt() -> None:
    async def process(item: str) -> None:
        await asyncio.Event().wait()

    queue: WorkQueue[str] = WorkQueue(process)
    queue.open()
    attempt = asyncio.create_task(queue.attempt("a"))
    while not queue.is_pending("a"):
        await asyncio.sleep(0)
    queue.pause()
    async with asyncio.timeout(20):
        await attempt
    await queue.close()
