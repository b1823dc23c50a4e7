"""The etcd store agrees with the model."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import pytest
from hypothesis import Phase, settings

from polykind.contract import Store
from polykind.store.etcd import EtcdAccess, EtcdStore
from tests.store.machine import StoreMachine
from tests.support.etcd import etcd

pytestmark = pytest.mark.etcd


class EtcdMachine(StoreMachine):
    """The state machine on a cluster that is emptied before each run."""

    urls: ClassVar[list[str]] = []

    def __init__(self) -> None:
        super().__init__()
        self._emptied = False

    async def open(self) -> Store:
        store = EtcdStore(EtcdAccess(self.urls))
        await store.start()
        if not self._emptied:
            self._emptied = True
            for item in (await store.range("")).items:
                await store.delete(item.key, expect=None)
        return store


@pytest.fixture(scope="module", autouse=True)
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with etcd(tmp_path_factory.mktemp("etcd")) as running:
        EtcdMachine.urls = running.urls
        yield


TestEtcd = EtcdMachine.TestCase
# No shrinking of failures: it would take hundreds of runs on a real cluster.
TestEtcd.settings = settings(
    max_examples=12, stateful_step_count=20, deadline=None, database=None, phases=(Phase.explicit, Phase.generate)
)
