"""The etcd store during failures of etcd: distinct errors, and recovery without a restart."""

from __future__ import annotations

import asyncio
import shutil
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from polykind.contract import CompactedError, StoreError, UnavailableError, UnknownOutcomeError
from polykind.store.etcd import EtcdAccess, EtcdStore
from tests.store.behaviour import Recorder
from tests.support.etcd import etcd
from tests.support.proxy import Proxy

pytestmark = pytest.mark.etcd


@asynccontextmanager
async def opened(*urls: str) -> AsyncIterator[EtcdStore]:
    store = EtcdStore(EtcdAccess(urls))
    await store.start()
    try:
        yield store
    finally:
        await store.close()


async def until_healthy(store: EtcdStore, healthy: bool) -> None:
    async with asyncio.timeout(15):
        while bool(store.problem) == healthy:
            await asyncio.sleep(0.02)


async def test_unreachable_cluster_fails_within_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("polykind.store.etcd.revision_reader.TIMEOUT_SECONDS", 1.0)
    store = EtcdStore(EtcdAccess(["http://127.0.0.1:1"]))
    async with asyncio.timeout(5):
        with pytest.raises(UnavailableError, match=r"etcd at http://127\.0\.0\.1:1 does not respond"):
            await store.start()


async def test_invalid_address_is_rejected() -> None:
    with pytest.raises(StoreError, match="ftp://somewhere is not an etcd address"):
        await EtcdStore(EtcdAccess(["ftp://somewhere"])).start()


async def test_unresponsive_etcd_makes_reads_unavailable_and_writes_uncertain(tmp_path: Path) -> None:
    with etcd(tmp_path) as cluster:
        async with Proxy(cluster.members[0].port) as proxy, opened(proxy.url) as store, opened(*cluster.urls) as other:
            first = await store.put("/r/a", b"1", expect=0)
            listener = Recorder()
            store.watch("/r/", first, listener)
            proxy.cut()
            answers = await asyncio.gather(
                store.revision(),
                store.get("/r/a"),
                store.put("/r/b", b"2", expect=0),
                other.put("/r/a", b"2", expect=first),
                return_exceptions=True,
            )
            assert [type(answer) for answer in answers] == [
                UnavailableError,
                UnavailableError,
                UnknownOutcomeError,
                int,
            ]
            assert store.problem
            proxy.heal()
            await until_healthy(store, True)
            assert await store.revision() == await other.revision()
            # The write with the unknown outcome may have been committed. The watch shows the actual state.
            held = {item.key: item.revision for item in (await store.range("/r/")).items}
            assert listener.revisions == sorted(held.values())
            assert listener.lost == []


async def test_watch_behind_a_compaction_is_lost_and_can_restart(tmp_path: Path) -> None:
    with etcd(tmp_path) as cluster:
        async with Proxy(cluster.members[0].port) as proxy, opened(proxy.url) as store, opened(*cluster.urls) as other:
            listener = Recorder()
            store.watch("/r/", await store.revision(), listener)
            proxy.cut()
            for _ in range(5):
                newest = await other.put("/r/a", b"", expect=None)
            await other.compact(newest)
            # Simulates a failure so long that the connection is dropped and the watch must restart.
            store._shared_watch._stream.cancel()  # type: ignore[union-attr]
            proxy.heal()
            await listener.until_lost()
            assert isinstance(listener.lost[0], CompactedError)
            again = Recorder()
            store.watch("/r/", await store.revision(), again)
            written = await store.put("/r/b", b"", expect=None)
            assert again.revisions == [written]


async def test_failover_from_dead_and_unresponsive_members(tmp_path: Path) -> None:
    with etcd(tmp_path, members=3) as cluster:
        async with opened(*cluster.urls) as store:
            listener = Recorder()
            start = await store.revision()
            store.watch("/r/", start, listener)
            await store.put("/r/a", b"", expect=None)
            cluster.members[0].kill()
            last = await eventually(store)
            cluster.restart(cluster.members[0])
            current = next(m for m in cluster.members if m.url == store.client.member.url)
            current.signal(signal.SIGSTOP)
            last = await eventually(store)
            current.signal(signal.SIGCONT)
            await listener.until(last)
            assert listener.revisions == list(range(start + 1, listener.revisions[-1] + 1))
            assert listener.lost == []


@pytest.mark.parametrize("overtaken", [False, True], ids=["fewer revisions", "more revisions"])
async def test_restored_etcd_ends_all_watches(tmp_path: Path, overtaken: bool) -> None:
    with etcd(tmp_path) as cluster:
        member = cluster.members[0]
        async with opened(*cluster.urls) as store:
            old = await store.put("/r/old", b"1", expect=0)
            # The term grows with each start. The backup must have an older one than the server has seen.
            backup = tmp_path / "backup"
            member.kill()
            shutil.copytree(member.folder / "data", backup)
            cluster.restart(member)
            await until_healthy(store, True)
            member.kill()
            cluster.restart(member)
            last = await eventually(store)
            listener = Recorder()
            store.watch("/r/", last, listener)
            member.kill()
            shutil.rmtree(member.folder / "data")
            shutil.copytree(backup, member.folder / "data")
            cluster.restart(member)
            if overtaken:
                async with opened(*cluster.urls) as other:
                    for _ in range(last - old + 5):
                        await other.put("/r/other", b"", expect=None)
            await listener.until_lost()
            assert isinstance(listener.lost[0], CompactedError)
            await until_healthy(store, True)
            assert [item.key for item in (await store.range("/r/")).items if item.key != "/r/other"] == ["/r/old"]
            again = Recorder()
            store.watch("/r/", await store.revision(), again)
            written = await eventually(store)
            await again.until(written)


async def eventually(store: EtcdStore) -> int:
    """Retry a write until its outcome is known."""
    async with asyncio.timeout(20):
        while True:
            try:
                return await store.put("/r/a", b"", expect=None)
            except UnavailableError:
                await asyncio.sleep(0.05)
