"""Faults of the process, the disk and etcd, each of which disturbs a running storm and ends with a healthy server."""

from __future__ import annotations

import asyncio
import random
import resource
import shutil
import signal
from pathlib import Path

from tests.robustness.storm import TABS, Storm
from tests.support.etcd import Etcd
from tests.support.proxy import Proxy

chance = random.Random(0)


async def calm(storm: Storm, longest: float = 0.25) -> None:
    """Let writers and watchers work for a moment."""
    storm.up.set()
    await asyncio.sleep(0.02 + longest * chance.random())


async def kill(storm: Storm, times: int) -> None:
    """Kill the server with SIGKILL and restart it."""
    for _ in range(times):
        await calm(storm)
        storm.server.kill()
        storm.up.clear()
        await asyncio.to_thread(storm.server.start)


async def full_disk(storm: Storm, times: int) -> None:
    """Let every write beyond the current size of the write-ahead log fail, as on a full disk."""
    for _ in range(times):
        await calm(storm)
        size = (storm.server.data_dir / "polykind.db-wal").stat().st_size
        _, hard = resource.prlimit(storm.server.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(storm.server.pid, resource.RLIMIT_FSIZE, (size, hard))
        await calm(storm)
        resource.prlimit(storm.server.pid, resource.RLIMIT_FSIZE, (hard, hard))


async def failed_sync(storm: Storm, times: int) -> None:
    """Let fsync fail with EIO. The server must run with `tests.robustness.failing_sync`."""
    switch = storm.server.data_dir / "fail-sync"
    for _ in range(times):
        await calm(storm)
        switch.touch()
        await calm(storm, 0.1)
        switch.unlink()


async def missing_file(storm: Storm, times: int) -> None:
    """Move a database file away and back."""
    for _ in range(times):
        await calm(storm)
        path = storm.server.data_dir / chance.choice(["polykind.db", "polykind.db-wal"])
        aside = path.with_name("aside")
        path.rename(aside)
        await calm(storm, 0.1)
        aside.rename(path)


async def flipped_bits(storm: Storm, times: int) -> None:
    """Flip a bit in a database file of the stopped server. The server must not serve a changed value."""
    for _ in range(times):
        await _damage(storm, _flip)


async def truncation(storm: Storm, times: int) -> None:
    """Truncate the database file of the stopped server. The server must not serve a part of the data as the whole."""
    for _ in range(times):
        await _damage(storm, _truncate)


def _flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    path.write_bytes(data)


def _truncate(path: Path) -> None:
    with path.open("r+b") as file:
        file.truncate(chance.randrange(path.stat().st_size))


async def _damage(storm: Storm, change: object) -> None:
    """Damage a copy of the data, compare what a server on it serves with the truth, and go on with the original."""
    server = storm.server
    await calm(storm)
    storm.up.clear()
    while storm.running_writes:
        await asyncio.sleep(0.005)
    async with storm.client() as client:
        truth = {i["metadata"]["name"]: i for i in (await client.call("GET", TABS)).json()["items"]}
    server.stop()
    original = server.data_dir.with_name("original")
    shutil.copytree(server.data_dir, original)
    assert callable(change)
    change(server.data_dir / "polykind.db")
    try:
        server.start()
    except AssertionError:
        assert "damaged" in server.tail() or "cannot be opened" in server.tail() or "cannot be read" in server.tail()
    else:
        await _compare(storm, truth)
        server.kill()
    shutil.rmtree(server.data_dir)
    original.rename(server.data_dir)
    await asyncio.to_thread(server.start)


async def _compare(storm: Storm, truth: dict[str, object]) -> None:
    async with storm.client() as client:
        listed = await client.call("GET", TABS)
        for name, expected in truth.items():
            reply = await client.call("GET", f"{TABS}/{name}")
            if reply.status == 200:
                assert reply.json() == expected, f"{name} was changed by damage"
            else:
                assert reply.status in (404, 500, 503), reply.body
                # A missing object is acceptable only if the log names the damage.
                assert "is damaged" in storm.server.log.read_text(errors="replace"), name
        if listed.status == 200:
            assert all(truth[item["metadata"]["name"]] == item for item in listed.json()["items"])


class EtcdFaults:
    """Faults of an etcd that the server reaches through a proxy."""

    def __init__(self, cluster: Etcd, proxy: Proxy) -> None:
        self._cluster = cluster
        self._member = cluster.members[0]
        self._proxy = proxy

    async def restart(self, storm: Storm, times: int) -> None:
        """Stop etcd and restart it.

        SIGTERM, not SIGKILL: etcd 3.5.0 to 3.5.2 can lose an acknowledged write when it is killed under load, and then
        gives its revision to another write (etcd issue 13766).
        """
        for _ in range(times):
            await calm(storm)
            self._member.stop()
            await calm(storm)
            await asyncio.to_thread(self._cluster.restart, self._member)

    async def pause(self, storm: Storm, times: int) -> None:
        """Stop the etcd process for a moment."""
        for _ in range(times):
            await calm(storm)
            self._member.signal(signal.SIGSTOP)
            await calm(storm, 1.0)
            self._member.signal(signal.SIGCONT)

    async def partition(self, storm: Storm, times: int) -> None:
        """Cut the connections to etcd for a moment."""
        for _ in range(times):
            await calm(storm)
            self._proxy.cut()
            await calm(storm, 1.0)
            self._proxy.heal()
