"""Copying between stores: complete, verified, resumable, and without reusing revisions."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from polykind.cli import main
from polykind.contract import CompactedError, Store
from polykind.store.copier import CopyError, StoreContents, StoreCopy
from polykind.store.etcd import EtcdAccess, EtcdStore
from polykind.store.sqlite import SqliteStore
from tests.store.behaviour import Recorder
from tests.support.etcd import Etcd, etcd


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Etcd]:
    with etcd(tmp_path_factory.mktemp("etcd")) as running:
        yield running


@asynccontextmanager
async def started(store: Store) -> AsyncIterator[Store]:
    await store.start()
    try:
        yield store
    finally:
        await store.close()


async def fill(store: Store, keys: int, prefix: str = "/registry") -> None:
    for number in range(keys):
        await store.put(f"{prefix}/example.com/things/default/n{number:04}", b'{"n":%d}' % number, expect=0)
    await store.put(f"{prefix}/_polykind/leader", b"someone", expect=0)
    await store.put("/elsewhere/x", b"stays", expect=None)


async def held(store: Store, prefix: str = "/registry/") -> dict[str, bytes]:
    return {item.key: item.value for item in (await store.range(prefix)).items if "_polykind" not in item.key}


def no_progress(stage: str, done: int, total: int) -> None:
    assert 0 <= done <= total, stage


async def test_copy_to_etcd_and_back(cluster: Etcd, tmp_path: Path) -> None:
    async with started(SqliteStore(tmp_path / "a")) as first, started(EtcdStore(EtcdAccess(cluster.urls))) as second:
        await fill(first, 1200, "/there")
        there = await StoreCopy(first, second, "/there/", "sqlite:a", no_progress).run()
        assert there.count == 1200
        assert await held(second, "/there/") == await held(first, "/there/")
        async with started(SqliteStore(tmp_path / "b")) as third:
            assert await StoreCopy(second, third, "/there/", "etcd", no_progress).run() == there
            assert await held(third, "/there/") == await held(first, "/there/")


async def test_copied_keys_have_newer_revisions_and_old_ones_are_compacted(tmp_path: Path) -> None:
    async with started(SqliteStore(tmp_path / "a")) as source, started(SqliteStore(tmp_path / "b")) as target:
        await fill(source, 30)
        for _ in range(500):
            newest = await source.put("/registry/example.com/things/default/busy", b"", expect=None)
        await StoreCopy(source, target, "/registry/", "a", no_progress).run()
        assert min(item.revision for item in (await target.range("/registry/")).items) > newest
        for old in (1, 10, newest):
            with pytest.raises(CompactedError):
                target.watch("/registry/", old, Recorder())
            with pytest.raises(CompactedError):
                await target.range("/registry/", at=old)


async def test_interrupted_copy_can_be_continued(tmp_path: Path) -> None:
    def interrupt(stage: str, done: int, total: int) -> None:
        if stage == "copying" and done > 100:
            raise KeyboardInterrupt

    async with started(SqliteStore(tmp_path / "a")) as source, started(SqliteStore(tmp_path / "b")) as target:
        await fill(source, 400)
        with pytest.raises(KeyboardInterrupt):
            await StoreCopy(source, target, "/registry/", "a", interrupt).run()
        part = {item.key: item.revision for item in (await target.range("/registry/example.com/")).items}
        assert 100 < len(part) < 400
        # The source changes between the two attempts.
        await source.delete("/registry/example.com/things/default/n0000", expect=None)
        await source.put("/registry/example.com/things/default/n0001", b"new", expect=None)
        contents = await StoreCopy(source, target, "/registry/", "a", no_progress).run()
        assert contents.count == 399
        assert await held(target) == await held(source)
        after = {item.key: item.revision for item in (await target.range("/registry/example.com/")).items}
        assert after["/registry/example.com/things/default/n0002"] == part["/registry/example.com/things/default/n0002"]


async def test_non_empty_target_is_rejected(tmp_path: Path) -> None:
    async with started(SqliteStore(tmp_path / "a")) as source, started(SqliteStore(tmp_path / "b")) as target:
        await fill(target, 1)
        with pytest.raises(CopyError, match="the target holds keys under /registry/ already"):
            await StoreCopy(source, target, "/registry/", "a", no_progress).run()
    async with started(SqliteStore(tmp_path / "c")) as target, started(SqliteStore(tmp_path / "d")) as source:
        await target.put("/registry/_polykind/copy", b"elsewhere", expect=0)
        with pytest.raises(CopyError, match="a copy from elsewhere into the target was not finished"):
            await StoreCopy(source, target, "/registry/", "d", no_progress).run()


async def test_difference_is_detected(tmp_path: Path) -> None:
    async with started(SqliteStore(tmp_path / "a")) as source, started(SqliteStore(tmp_path / "b")) as target:
        await fill(source, 10)
        copy = StoreCopy(source, target, "/registry/", "a", no_progress)

        async def contents(store: Store, stage: str) -> StoreContents:
            return StoreContents(10, "one" if store is source else "other")

        copy._contents = contents  # type: ignore[method-assign]
        with pytest.raises(CopyError, match="the copy differs from its source"):
            await copy.run()


def test_copy_command(cluster: Etcd, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    async def prepare() -> None:
        async with started(SqliteStore(tmp_path / "a")) as source:
            await fill(source, 20, "/cli")

    asyncio.run(prepare())
    where = [f"--from=sqlite:{tmp_path / 'a'}", f"--to=etcd:{cluster.servers}", "--etcd-prefix=/cli"]
    assert main(["store", "copy", *where]) == 0
    out = capsys.readouterr()
    assert out.out.startswith("20 keys copied and compared, sha256 ")
    assert "copying: 20 of 20\n" in out.err
    assert main(["store", "copy", *where]) == 1
    assert "polykind store copy: the target holds keys under /cli/ already" in capsys.readouterr().err
    assert main(["store", "copy", "--from=sqlite:x", "--to=file:y"]) == 2
    assert "file:y is not a store such as sqlite:DIR" in capsys.readouterr().err
