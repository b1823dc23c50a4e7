"""The coalescer: one action for requests that arrive close together."""

from __future__ import annotations

import asyncio

from polykind.coalescer import Coalescer, resolve


class Requests:
    """Waiting requests, and the number of requests that each action served."""

    def __init__(self, limit: int = 100) -> None:
        self.waiting = 0
        self.served: list[int] = []
        self.coalescer = Coalescer(asyncio.get_running_loop(), lambda: self.waiting, limit, self.serve)

    def arrive(self) -> None:
        if not self.waiting:
            self.coalescer.start()
        self.waiting += 1

    def serve(self) -> None:
        self.served.append(self.waiting)
        self.waiting = 0


async def loop_iterations(count: int) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


async def test_single_request_waits_for_one_empty_iteration() -> None:
    requests = Requests()
    requests.arrive()
    await loop_iterations(4)
    assert requests.served == [1]


async def test_requests_of_consecutive_iterations_share_one_action() -> None:
    requests = Requests()
    for _ in range(5):
        requests.arrive()
        await loop_iterations(1)
    await loop_iterations(4)
    assert requests.served == [5]
    requests.arrive()
    await loop_iterations(4)
    assert requests.served == [5, 1]


async def test_action_runs_at_the_limit() -> None:
    requests = Requests(limit=3)
    for _ in range(3):
        requests.arrive()
    await loop_iterations(1)
    assert requests.served == [3]


async def test_resolve_skips_cancelled_futures() -> None:
    loop = asyncio.get_running_loop()
    succeeded, failed, cancelled = (loop.create_future() for _ in range(3))
    cancelled.cancel()
    resolve(succeeded, 1)
    resolve(failed, LookupError("no"))
    resolve(cancelled, 1)
    assert succeeded.result() == 1
    assert isinstance(failed.exception(), LookupError)
    assert cancelled.cancelled()
