"""The etcd store passes the behaviour tests of all stores, on a real etcd."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from polykind.contract import Store
from polykind.store.etcd import EtcdAccess, EtcdStore
from tests.store.behaviour import (
    Stores,
    TestCompaction,
    TestHistory,
    TestLifetime,
    TestReads,
    TestWatches,
    TestWrites,
)
from tests.support.etcd import Etcd, etcd

__all__ = ["TestCompaction", "TestHistory", "TestLifetime", "TestReads", "TestWatches", "TestWrites"]


class EtcdStores:
    """etcd stores on one cluster, which is emptied before the first one opens."""

    def __init__(self, cluster: Etcd, prefix: str) -> None:
        self._access = EtcdAccess(cluster.urls)
        self._prefix = prefix
        self._store: Store | None = None

    async def open(self) -> Store:
        first = self._store is None
        self._store = EtcdStore(self._access, self._prefix)
        await self._store.start()
        if first:
            for item in (await self._store.range("")).items:
                await self._store.delete(item.key, expect=None)
        return self._store

    async def reopen(self) -> Store:
        assert self._store is not None
        await self._store.close()
        return await self.open()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Etcd]:
    with etcd(tmp_path_factory.mktemp("etcd")) as running:
        yield running


@pytest.fixture(params=["", "/"], ids=["all", "prefix"])
def stores(cluster: Etcd, request: pytest.FixtureRequest) -> Stores:
    return EtcdStores(cluster, request.param)
