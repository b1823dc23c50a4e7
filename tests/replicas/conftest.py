from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.support.etcd import Etcd, etcd
from tests.support.server import ServerProcess

Replicas = Callable[[int], list[ServerProcess]]


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Etcd]:
    with etcd(tmp_path / "etcd") as running:
        yield running


@pytest.fixture
def three(tmp_path: Path) -> Iterator[Etcd]:
    with etcd(tmp_path / "etcd", members=3) as running:
        yield running


class Fleet:
    """Replicas that tests start on demand. The fixture stops all of them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._made: list[ServerProcess] = []
        self._stack = ExitStack()

    def start(self, number: int, servers: str, *flags: str) -> list[ServerProcess]:
        new = []
        for _ in range(number):
            server = ServerProcess(self._folder / f"replica{len(self._made)}", f"--etcd-servers={servers}", *flags)
            self._made.append(server)
            self._stack.callback(self._end, server)
            server.start()
            new.append(server)
        return new

    @staticmethod
    def _end(server: ServerProcess) -> None:
        if server.alive():
            server.kill()

    def close(self) -> None:
        self._stack.close()


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[Fleet]:
    running = Fleet(tmp_path)
    yield running
    running.close()
