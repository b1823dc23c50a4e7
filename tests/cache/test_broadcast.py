"""Broadcasts: every receiver gets every event once and in order, in turns of the event loop."""

from __future__ import annotations

import asyncio

import pytest

from polykind.cache import broadcast as module
from polykind.cache.broadcast import WATCHERS_PER_TURN, Broadcast
from tests.support.waiting import eventually_async


class Recorder:
    """A receiver that records the chunks that it receives."""

    def __init__(self, after: int = 0) -> None:
        self.after = after
        self.delivered = 0
        self.chunks: list[bytes] = []

    def deliver(self, chunk: bytes) -> None:
        self.chunks.append(chunk)


def recorders(count: int) -> set[Recorder]:
    return {Recorder() for _ in range(count)}


async def turns(count: int) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


async def all_sent(broadcast: Broadcast[Recorder]) -> None:
    """Wait until the broadcast has sent all events, also after a rest."""
    await eventually_async(lambda: not broadcast.first_unsent)


def test_a_few_receivers_get_an_event_at_once() -> None:
    receivers = recorders(WATCHERS_PER_TURN)
    Broadcast(receivers).send([(5, b"a"), (6, b"b")])
    assert all(receiver.chunks == [b"ab"] for receiver in receivers)


async def test_many_receivers_get_an_event_in_turns() -> None:
    receivers = recorders(3 * WATCHERS_PER_TURN)
    broadcast = Broadcast(receivers)
    broadcast.send([(5, b"a")])
    for turn in range(4):
        assert sum(len(receiver.chunks) for receiver in receivers) == turn * WATCHERS_PER_TURN
        assert broadcast.first_unsent == (5 if turn < 3 else 0)
        await turns(1)


async def test_events_that_arrive_meanwhile_are_sent_together_and_in_order() -> None:
    receivers = recorders(2 * WATCHERS_PER_TURN + 1)
    broadcast = Broadcast(receivers)
    broadcast.send([(5, b"a")])
    await turns(1)
    broadcast.send([(6, b"b")])
    broadcast.send([(7, b"c"), (8, b"d")])
    await all_sent(broadcast)
    assert all(receiver.chunks == [b"a", b"bcd"] for receiver in receivers)
    broadcast.send([(9, b"e")])
    await all_sent(broadcast)
    assert all(receiver.chunks == [b"a", b"bcd", b"e"] for receiver in receivers)


async def test_events_that_arrive_during_a_rest_are_sent_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "REST_FACTOR", 1e12)
    monkeypatch.setattr(module, "MAX_REST_SECONDS", 3600)
    receivers = recorders(2 * WATCHERS_PER_TURN)
    broadcast = Broadcast(receivers)
    broadcast.send([(5, b"a")])
    await turns(3)
    broadcast.send([(6, b"b")])
    broadcast.send([(7, b"c")])
    await turns(6)
    assert all(receiver.chunks == [b"a"] for receiver in receivers)
    assert broadcast.first_unsent == 6
    broadcast.flush()
    assert all(receiver.chunks == [b"a", b"bc"] for receiver in receivers)


async def test_a_few_receivers_need_no_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_REST_SECONDS", 3600)
    receivers = recorders(WATCHERS_PER_TURN)
    broadcast = Broadcast(receivers)
    broadcast.send([(5, b"a")])
    broadcast.send([(6, b"b")])
    assert all(receiver.chunks == [b"a", b"b"] for receiver in receivers)


async def test_a_receiver_that_has_left_gets_nothing_more() -> None:
    receivers = recorders(4 * WATCHERS_PER_TURN)
    broadcast = Broadcast(receivers)
    broadcast.send([(5, b"a")])
    await turns(1)
    leaving = [receiver for receiver in receivers if not receiver.chunks][:WATCHERS_PER_TURN]
    receivers.difference_update(leaving)
    await turns(4)
    assert all(receiver.chunks == [b"a"] for receiver in receivers)
    assert all(receiver.chunks == [] for receiver in leaving)


async def test_a_receiver_that_joins_gets_only_events_after_its_revision() -> None:
    receivers = recorders(2 * WATCHERS_PER_TURN)
    broadcast = Broadcast(receivers)
    broadcast.send([(5, b"a")])
    broadcast.send([(6, b"b"), (7, b"c")])
    joined = Recorder(after=6)
    receivers.add(joined)
    await all_sent(broadcast)
    assert joined.chunks == [b"c"]


async def test_flush_sends_everything_at_once() -> None:
    receivers = recorders(3 * WATCHERS_PER_TURN)
    broadcast = Broadcast(receivers)
    broadcast.send([(5, b"a")])
    broadcast.send([(6, b"b")])
    broadcast.flush()
    assert all(receiver.chunks == [b"a", b"b"] for receiver in receivers)
    assert broadcast.first_unsent == 0
    await turns(2)
    assert all(receiver.chunks == [b"a", b"b"] for receiver in receivers)
