"""The newest revision: who may share a question, and what becomes of one that fails."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import cast

import pytest

from polykind.contract import StoreError, UnavailableError
from polykind.store.etcd import wire
from polykind.store.etcd.call import UNAVAILABLE, CallError, Then
from polykind.store.etcd.client import Client
from polykind.store.etcd.newest import Newest


def answer(revision: int) -> bytes:
    return wire.message(1, wire.number(3, revision))


class Asked:
    """What a member gives for a question."""

    def expire(self, patience: float) -> None: ...


class Cluster:
    """A client and its only member, whose answers are given by hand."""

    def __init__(self) -> None:
        self.questions: list[Then] = []
        self.connected = True
        self.insistent: Callable[[], bytes] = lambda: answer(99)
        self.member = self

    def ask(self, method: str, request: bytes, then: Then) -> Asked | None:
        if not self.connected:
            return None
        self.questions.append(then)
        return Asked()

    async def read(self, method: str, request: bytes, patience: float) -> bytes:
        return self.insistent()

    def avoid(self, member: object, *, silent: bool = False) -> None:
        self.connected = False


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


@pytest.fixture
async def newest(cluster: Cluster) -> Newest:
    return Newest(cast(Client, cluster), b"/")


async def read(newest: Newest) -> int:
    return await (await newest.ask()).result()


async def turns() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def test_who_comes_together_shares_a_question(newest: Newest, cluster: Cluster) -> None:
    readers = [asyncio.ensure_future(read(newest)) for _ in range(5)]
    await turns()
    (then,) = cluster.questions
    then(answer(7))
    assert await asyncio.gather(*readers) == [7] * 5


async def test_who_comes_after_a_question_was_sent_has_the_next(newest: Newest, cluster: Cluster) -> None:
    early = asyncio.ensure_future(read(newest))
    await turns()
    late = asyncio.ensure_future(read(newest))
    await turns()
    assert len(cluster.questions) == 1
    cluster.questions[0](answer(7))
    await turns()
    assert early.done()
    assert not late.done()
    assert len(cluster.questions) == 2
    cluster.questions[1](answer(8))
    assert (await early, await late) == (7, 8)


async def test_an_answer_is_there_for_who_looks_later(newest: Newest, cluster: Cluster) -> None:
    asking = newest.ask()
    await turns()
    cluster.questions[0](answer(7))
    assert await (await asking).result() == 7


async def test_a_question_that_fails_is_asked_again_elsewhere(newest: Newest, cluster: Cluster) -> None:
    reader = asyncio.ensure_future(read(newest))
    await turns()
    cluster.questions[0](CallError(UNAVAILABLE, "the connection was lost"))
    assert await reader == 99
    assert await read(newest) == 99


async def test_nobody_answers(newest: Newest, cluster: Cluster) -> None:
    def refuse() -> bytes:
        raise UnavailableError("nobody is there")

    cluster.connected, cluster.insistent = False, refuse
    with pytest.raises(StoreError, match="nobody is there"):
        await read(newest)


async def test_an_answer_that_cannot_be_read(newest: Newest, cluster: Cluster) -> None:
    reader = asyncio.ensure_future(read(newest))
    await turns()
    cluster.questions[0](b"\x0a\xff")
    with pytest.raises(UnavailableError, match="cannot be read"):
        await reader


async def test_closing_tells_who_waits(newest: Newest, cluster: Cluster) -> None:
    asked = asyncio.ensure_future(read(newest))
    await turns()
    waiting = asyncio.ensure_future(read(newest))
    await turns()
    await newest.close()
    cluster.questions[0](CallError(UNAVAILABLE, "the connection was lost"))
    for reader in (asked, waiting):
        with pytest.raises(UnavailableError, match="the store was closed"):
            await reader
