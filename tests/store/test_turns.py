"""Acting once for all who come together."""

from __future__ import annotations

import asyncio

from polykind.store.turns import Gathering, settle


class Crowd:
    """Who waits, and how many there were each time that something was done for them."""

    def __init__(self, most: int = 100) -> None:
        self.waiting = 0
        self.served: list[int] = []
        self.gathering = Gathering(asyncio.get_running_loop(), lambda: self.waiting, most, self.serve)

    def come(self) -> None:
        if not self.waiting:
            self.gathering.begin()
        self.waiting += 1

    def serve(self) -> None:
        self.served.append(self.waiting)
        self.waiting = 0


async def turns(count: int) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


async def test_who_comes_alone_waits_for_one_empty_turn() -> None:
    crowd = Crowd()
    crowd.come()
    await turns(4)
    assert crowd.served == [1]


async def test_those_of_turns_that_follow_each_other_are_served_together() -> None:
    crowd = Crowd()
    for _ in range(5):
        crowd.come()
        await turns(1)
    await turns(4)
    assert crowd.served == [5]
    crowd.come()
    await turns(4)
    assert crowd.served == [5, 1]


async def test_no_more_than_so_many_are_waited_for() -> None:
    crowd = Crowd(most=3)
    for _ in range(3):
        crowd.come()
    await turns(1)
    assert crowd.served == [3]


async def test_who_waits_is_told_and_who_has_left_is_not() -> None:
    loop = asyncio.get_running_loop()
    told, failed, gone = (loop.create_future() for _ in range(3))
    gone.cancel()
    settle(told, 1)
    settle(failed, LookupError("no"))
    settle(gone, 1)
    assert told.result() == 1
    assert isinstance(failed.exception(), LookupError)
    assert gone.cancelled()
