"""The encrypted store passes the behaviour tests of all stores, and hides values that it cannot decrypt."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from polykind.contract import KeyValue, Store, UnreadableValueError, unreadable_reason
from polykind.store.encrypted_store import EncryptedStore
from polykind.store.etcd import EtcdAccess, EtcdStore, rpc_messages
from polykind.store.sqlite import SqliteStore
from polykind.store.value_encryption import IDENTITY, ProviderChain, build_provider
from tests.store.behaviour import (
    Recorder,
    Stores,
    TestCompaction,
    TestHistory,
    TestLifetime,
    TestReads,
    TestWatches,
    TestWrites,
)
from tests.support.etcd import etcd

__all__ = ["TestCompaction", "TestHistory", "TestLifetime", "TestReads", "TestWatches", "TestWrites"]

OLD, NEW = ("old", os.urandom(32)), ("new", os.urandom(32))


class Keys:
    """A transformer with the same providers for every key."""

    def __init__(self, *keys: tuple[str, bytes]) -> None:
        self.chain = ProviderChain([build_provider("aesgcm", keys), IDENTITY])

    def to_storage(self, key: str, value: bytes) -> bytes:
        return self.chain.seal(value, key.encode())

    def from_storage(self, key: str, value: bytes) -> tuple[bytes, bool]:
        opened = self.chain.open(value, key.encode())
        return opened.data, opened.stale


class EncryptedStores:
    """Encrypted stores on one directory."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._store: Store | None = None

    async def open(self) -> Store:
        self._store = EncryptedStore(SqliteStore(self._directory), Keys(OLD))
        await self._store.start()
        return self._store

    async def reopen(self) -> Store:
        assert self._store is not None
        await self._store.close()
        return await self.open()


@pytest.fixture
def stores(tmp_path: Path) -> Stores:
    return EncryptedStores(tmp_path)


async def test_values_are_encrypted_and_unreadable_ones_are_named(tmp_path: Path) -> None:
    inner = SqliteStore(tmp_path)
    store = EncryptedStore(inner, Keys(OLD))
    await store.start()
    try:
        first = await store.put("/a", b'{"x":"visible"}', expect=0)
        raw = await inner.get("/a")
        assert raw is not None
        assert raw.value.startswith(b"k8s:enc:aesgcm:v1:old:")
        assert b"visible" not in raw.value
        await inner.put("/moved", raw.value, expect=0)
        recorder = Recorder()
        store.watch("/", first - 1, recorder)
        moved = await store.get("/moved")
        assert moved is not None
        assert (
            unreadable_reason(moved.value) == 'unable to transform key "/moved": cipher: message authentication failed'
        )
        assert [item.value for item in (await store.scan("/")).items] == [b'{"x":"visible"}', moved.value]
        await recorder.until(moved.revision)
        assert [event.value for event in recorder.events] == [b'{"x":"visible"}', moved.value]
        assert not await store.is_stale("/moved")
        # With another key, the watch ends, because the listener may hold values that are readable now.
        store.replace(Keys(NEW, OLD))
        assert len(recorder.lost) == 1
        assert await store.find_stale(["/a", "/moved", "/absent"]) == {"/a"}
        await store.put("/a", b'{"x":"visible"}', expect=first)
        assert await store.find_stale(["/a"]) == set()
        both = await store.put_twice("/b", b'{"x":1}', b'{"x":2}', expect=0)
        assert [await store.get("/b", at=at) for at in (both, both + 1)] == [
            KeyValue("/b", b'{"x":1}', both),
            KeyValue("/b", b'{"x":2}', both + 1),
        ]
        assert await store.find_stale(["/b"]) == set()
    finally:
        await store.close()


class Ends:
    """A transformer whose encrypted values end as JSON does."""

    def to_storage(self, key: str, value: bytes) -> bytes:
        return b"k8s:enc:test:" + value.rstrip(b"\n") + b"\n"

    def from_storage(self, key: str, value: bytes) -> tuple[bytes, bool]:
        if not value.endswith(b"}\n"):
            raise UnreadableValueError("a byte is missing")
        return value.removeprefix(b"k8s:enc:test:"), False


async def test_etcd_store_keeps_every_byte_of_an_encrypted_value(tmp_path: Path) -> None:
    for value in (b"k8s:enc:x}", b"k8s:enc:x}\n"):
        request = rpc_messages.put_request(b"/k", value, 0)
        assert value in request
        assert value + b"\n" not in request
    with etcd(tmp_path / "etcd") as cluster:
        store = EncryptedStore(EtcdStore(EtcdAccess(cluster.urls), "/registry/"), Ends())
        await store.start()
        try:
            revision = await store.put("/registry/a", b"{}", expect=0)
            assert await store.get("/registry/a") == KeyValue("/registry/a", b"{}", revision)
        finally:
            await store.close()
