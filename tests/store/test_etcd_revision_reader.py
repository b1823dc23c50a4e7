"""Linearizable reads of the newest revision: sharing, retries and failures."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import cast

import pytest

from polykind.contract import StoreError, UnavailableError
from polykind.grpc.grpc_call import UNAVAILABLE, GrpcError, OnResponse
from polykind.store.etcd import rpc_messages
from polykind.store.etcd.etcd_client import EtcdClient
from polykind.store.etcd.revision_reader import RevisionReader


def range_response(revision: int) -> bytes:
    return rpc_messages.message_field(1, rpc_messages.varint_field(3, revision))


class FakeCall:
    """The call returned by the fake member."""

    def expire(self, timeout_seconds: float) -> None: ...


class Cluster:
    """A fake client and its only member. The test sends the responses."""

    def __init__(self) -> None:
        self.callbacks: list[OnResponse] = []
        self.connected = True
        self.observed = 0
        self.regressions: list[tuple[int, int]] = []
        self.respond_to_retry: Callable[[], bytes] = lambda: range_response(99)
        self.member = self

    def try_unary(self, method: str, request: bytes, on_response: OnResponse) -> FakeCall | None:
        if not self.connected:
            return None
        self.callbacks.append(on_response)
        return FakeCall()

    async def read(self, method: str, request: bytes, timeout_seconds: float) -> bytes:
        return self.respond_to_retry()

    def avoid(self, member: object, *, unresponsive: bool = False) -> None:
        self.connected = False


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


@pytest.fixture
async def reader(cluster: Cluster) -> RevisionReader:
    return RevisionReader(
        cast(EtcdClient, cluster),
        b"/",
        lambda: cluster.observed,
        lambda *revisions: cluster.regressions.append(revisions),
    )


async def read(reader: RevisionReader) -> int:
    return await (await reader.start_read()).result()


async def loop_iterations() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def test_concurrent_readers_share_a_read(reader: RevisionReader, cluster: Cluster) -> None:
    reads = [asyncio.ensure_future(read(reader)) for _ in range(5)]
    await loop_iterations()
    (on_response,) = cluster.callbacks
    on_response(range_response(7))
    assert await asyncio.gather(*reads) == [7] * 5


async def test_reader_after_a_sent_read_gets_the_next(reader: RevisionReader, cluster: Cluster) -> None:
    early = asyncio.ensure_future(read(reader))
    await loop_iterations()
    late = asyncio.ensure_future(read(reader))
    await loop_iterations()
    assert len(cluster.callbacks) == 1
    cluster.callbacks[0](range_response(7))
    await loop_iterations()
    assert early.done()
    assert not late.done()
    assert len(cluster.callbacks) == 2
    cluster.callbacks[1](range_response(8))
    assert (await early, await late) == (7, 8)


async def test_result_is_kept_for_late_callers(reader: RevisionReader, cluster: Cluster) -> None:
    started = reader.start_read()
    await loop_iterations()
    cluster.callbacks[0](range_response(7))
    assert await (await started).result() == 7


async def test_failed_read_is_retried_on_other_members(reader: RevisionReader, cluster: Cluster) -> None:
    task = asyncio.ensure_future(read(reader))
    await loop_iterations()
    cluster.callbacks[0](GrpcError(UNAVAILABLE, "the connection was lost"))
    assert await task == 99
    assert await read(reader) == 99


async def test_read_fails_if_no_member_responds(reader: RevisionReader, cluster: Cluster) -> None:
    def fail() -> bytes:
        raise UnavailableError("no member responds")

    cluster.connected, cluster.respond_to_retry = False, fail
    with pytest.raises(StoreError, match="no member responds"):
        await read(reader)


async def test_malformed_response(reader: RevisionReader, cluster: Cluster) -> None:
    task = asyncio.ensure_future(read(reader))
    await loop_iterations()
    cluster.callbacks[0](b"\x0a\xff")
    with pytest.raises(UnavailableError, match="is malformed"):
        await task


async def test_close_fails_waiting_readers(reader: RevisionReader, cluster: Cluster) -> None:
    sent = asyncio.ensure_future(read(reader))
    await loop_iterations()
    waiting = asyncio.ensure_future(read(reader))
    await loop_iterations()
    await reader.close()
    cluster.callbacks[0](GrpcError(UNAVAILABLE, "the connection was lost"))
    for task in (sent, waiting):
        with pytest.raises(UnavailableError, match="the store was closed"):
            await task


async def test_older_revision_than_observed_is_a_regression(reader: RevisionReader, cluster: Cluster) -> None:
    cluster.observed = 8
    task = asyncio.ensure_future(read(reader))
    await loop_iterations()
    cluster.callbacks[0](range_response(7))
    with pytest.raises(UnavailableError, match="went back from revision 8 to 7"):
        await task
    assert cluster.regressions == [(8, 7)]
