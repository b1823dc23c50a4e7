"""Faults of the process, the disk and etcd, each of which disturbs a running storm and ends with a healthy server."""

from __future__ import annotations

import asyncio
import base64
import json
import random
import resource
import shutil
import signal
import urllib.request
from pathlib import Path
from typing import Any

from tests.robustness.storm import TABS, WATCHERS, Storm
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

    async def set_back(self, storm: Storm, times: int) -> None:
        """Restore an old backup of etcd. The server must tell watchers 410 and serve what the backup has."""
        for _ in range(times):
            await calm(storm)
            await storm.pause_writers()
            truth = await _listed(storm)
            known = dict(storm.acknowledged), dict(storm.state), set(storm.unsure)
            backup = self._member.folder / "backup"
            self._member.stop()
            shutil.copytree(self._member.folder / "data", backup)
            # The term of the raft grows with each start. The backup must have an older one than the server has seen.
            for _ in range(2):
                await asyncio.to_thread(self._cluster.restart, self._member)
                await _listed(storm)
                self._member.stop()
            await asyncio.to_thread(self._cluster.restart, self._member)
            await _listed(storm)
            storm.writing.set()
            await calm(storm, 1.0)
            await storm.pause_writers()
            storm.set_back_to, storm.resumed_watchers = int(truth["metadata"]["resourceVersion"]), 0
            self._proxy.cut()
            self._member.stop()
            shutil.rmtree(self._member.folder / "data")
            backup.rename(self._member.folder / "data")
            await asyncio.to_thread(self._cluster.restart, self._member)
            for _ in range(chance.choice([0, 500])):
                # More revisions than the server has seen must not hide that etcd was set back.
                await asyncio.to_thread(_put, self._member.url)
            self._proxy.heal()
            async with asyncio.timeout(60):
                while storm.resumed_watchers < WATCHERS:
                    await asyncio.sleep(0.02)
            assert (await _listed(storm))["items"] == truth["items"], "the server does not serve what etcd has"
            storm.acknowledged, storm.state, storm.unsure = known
            storm.set_back_to = None
            storm.writing.set()


async def _listed(storm: Storm) -> Any:
    """Return the list of all objects as soon as the server can read its store."""
    async with asyncio.timeout(60), storm.client() as client:
        while (reply := await client.call("GET", TABS)).status != 200:
            await asyncio.sleep(0.02)
    return reply.json()


def _put(url: str) -> None:
    """Write a key that the server does not read."""
    body = json.dumps({"key": base64.b64encode(b"other").decode(), "value": ""}).encode()
    with urllib.request.urlopen(f"{url}/v3/kv/put", body, timeout=10) as reply:
        reply.read()
