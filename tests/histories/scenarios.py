"""Scenarios: an environment, a fault, and clients whose history is checked."""

from __future__ import annotations

import asyncio
import os
import random
import shutil
import subprocess
import time
import urllib.request
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.histories import faults
from tests.histories.checker import Result
from tests.histories.environments import Environment, EtcdEnvironment, SqliteEnvironment, under_load
from tests.histories.faults import Chance, Converter, Fault, Keys
from tests.histories.history import Log
from tests.histories.load import ANSWER_SECONDS, BROKEN, Load, list_page
from tests.histories.registers import client, path
from tests.support.etcd import etcd
from tests.support.network import network

Opened = Callable[[Path], AbstractAsyncContextManager[Environment]]
"""Opens an environment in a folder."""
FAULTS_PER_LOAD = 100
"""A history is checked after this many faults, so that it fits into memory."""
SECONDS_PER_LOAD = 60.0
LONG_LIST = 600
"""A number of objects that the server converts, selects and reads in several portions."""
INDEXED_LIST = 2500
"""A number of objects for which the server uses indexes of labels."""
SMALL_DISK_BYTES = 64 * 1024 * 1024


@asynccontextmanager
async def begun(env: Environment) -> AsyncIterator[Environment]:
    try:
        await env.begin()
        yield env
    finally:
        await env.end()


@asynccontextmanager
async def sqlite(folder: Path) -> AsyncIterator[Environment]:
    async with begun(SqliteEnvironment(folder)) as env:
        yield env


@asynccontextmanager
async def long_sqlite(folder: Path) -> AsyncIterator[Environment]:
    """A server with many objects, so that lists use indexes and take turns."""
    env = SqliteEnvironment(folder)
    env.ballast = INDEXED_LIST
    async with begun(env):
        yield env


@asynccontextmanager
async def altered_sqlite(folder: Path) -> AsyncIterator[Environment]:
    async with begun(SqliteEnvironment(folder, altered=True)) as env:
        yield env


@asynccontextmanager
async def forgetful_sqlite(folder: Path) -> AsyncIterator[Environment]:
    """A server that compacts its history all the time."""
    env = SqliteEnvironment(folder, altered=True)
    env.server.data_dir.mkdir()
    (env.server.data_dir / "keep").write_text("300")
    env.keeps_log = True
    async with begun(env):
        yield env


@asynccontextmanager
async def sqlite_on_a_small_disk(folder: Path) -> AsyncIterator[Environment]:
    """A server whose data is on a file system that is nearly full. Only root can mount one."""
    disk = folder / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SMALL_DISK_BYTES}", "none", disk], check=True)
    try:
        async with begun(SqliteEnvironment(disk)) as env:
            yield env
    finally:
        subprocess.run(["umount", disk], check=True)


def may_mount() -> bool:
    """True if this process may mount a file system."""
    return os.geteuid() == 0 and shutil.which("mount") is not None and Path("/proc/mounts").exists()


def with_changing_storage(opened: Opened) -> Opened:
    """Return an environment in which objects are written again without a change, as migrations do."""

    @asynccontextmanager
    async def open_(folder: Path) -> AsyncIterator[Environment]:
        async with opened(folder) as env:
            env.rewrites = env.changes_crd = True
            yield env

    return open_


@asynccontextmanager
async def members(folder: Path, number: int, replicas: int, *flags: str, altered: bool = False) -> AsyncIterator[Any]:
    with etcd(folder / "etcd", members=number) as cluster:
        async with begun(EtcdEnvironment(cluster, folder, replicas, *flags, altered=altered)) as env:
            yield env


@asynccontextmanager
async def one_member(folder: Path) -> AsyncIterator[Environment]:
    async with members(folder, 1, 2) as env:
        yield env


@asynccontextmanager
async def three_members(folder: Path) -> AsyncIterator[Environment]:
    async with members(folder, 3, 2) as env:
        yield env


@asynccontextmanager
async def three_members_three_replicas(folder: Path) -> AsyncIterator[Environment]:
    async with members(folder, 3, 3) as env:
        yield env


@asynccontextmanager
async def three_members_altered(folder: Path) -> AsyncIterator[Environment]:
    async with members(folder, 3, 2, altered=True) as env:
        yield env


@asynccontextmanager
async def three_members_in_a_network(folder: Path) -> AsyncIterator[Environment]:
    """A cluster whose members can be cut off from each other. Only root can create one."""
    with network(3) as made, etcd(folder / "etcd", members=3, network=made) as cluster:
        env = EtcdEnvironment(cluster, folder, 3)
        env.network = made
        async with begun(env):
            yield env


@dataclass(slots=True)
class Scenario:
    """A fault in an environment."""

    environment: str
    name: str
    opened: Opened
    fault: Fault
    options: dict[str, Any] = field(default_factory=dict)
    """Options of the load."""


async def run(scenario: Scenario, times: int, folder: Path, seed: int = 0) -> Result:
    """Inject a fault a number of times under load. Return the result of the checker."""
    result, chance = Result(), random.Random(f"{scenario.name} {seed}")
    started = time.monotonic()
    folder.mkdir(parents=True, exist_ok=True)
    async with scenario.opened(folder) as env:
        for start in range(0, times, FAULTS_PER_LOAD):
            async with under_load(env, result, seed=seed, label=f"{start}-", **scenario.options) as load:
                for _ in range(min(FAULTS_PER_LOAD, times - start)):
                    load.check_tasks()
                    await scenario.fault(env, load, chance)
                    result.times += 1
    result.seconds = time.monotonic() - started
    return result


async def run_for(scenario: Scenario, seconds: float, folder: Path, seed: int = 0) -> Result:
    """Run load for a time, with a fault now and then. Return the result of the checker."""
    result, chance = Result(), random.Random(f"{scenario.name} {seed}")
    started = time.monotonic()
    folder.mkdir(parents=True, exist_ok=True)
    async with scenario.opened(folder) as env:
        while (left := started + seconds - time.monotonic()) > 0:
            until = time.monotonic() + min(left, SECONDS_PER_LOAD)
            async with under_load(env, result, seed=seed, label=f"{left}-", **scenario.options) as load:
                while time.monotonic() < until:
                    await asyncio.sleep(2 * chance.random())
                    load.check_tasks()
                    await scenario.fault(env, load, chance)
                    result.times += 1
    result.seconds = time.monotonic() - started
    return result


def any_of(*choices: Fault) -> Fault:
    """Return a fault that is one of several, by chance."""

    async def disturb(env: Any, load: Load, chance: Chance) -> None:
        await chance.choice(choices)(env, load, chance)

    return disturb


async def run_encrypted(environment: str, times: int, folder: Path, seed: int = 0) -> Result:
    """Rotate the encryption key."""
    chance = random.Random(f"keys {seed}")
    folder.mkdir(parents=True, exist_ok=True)
    keys = Keys(folder / "encryption.yaml", chance)
    flag = f"--encryption-provider-config={folder / 'encryption.yaml'}"

    @asynccontextmanager
    async def opened(folder: Path) -> AsyncIterator[Environment]:
        plain: Any = members(folder, 3, 2, flag) if environment == "etcd" else begun(SqliteEnvironment(folder, flag))
        async with plain as env:
            env.opener = keys.open
            env.rewrites = env.changes_crd = True
            yield env

    return await run(Scenario(environment, "key rotation", opened, keys.rotate), times, folder, seed)


async def run_converted(environment: str, times: int, folder: Path, seed: int = 0) -> Result:
    """Change and break the conversion webhook under watches at both versions."""
    converter = Converter()

    @asynccontextmanager
    async def opened(folder: Path) -> AsyncIterator[Environment]:
        with etcd(folder / "etcd", members=3) if environment == "etcd" else nullcontext() as cluster:
            env: Environment = EtcdEnvironment(cluster, folder) if cluster is not None else SqliteEnvironment(folder)
            env.crd, env.allowed, env.changes_crd = converter.crd(env.group), {500}, True
            env.ballast = LONG_LIST
            async with begun(env):
                yield env

    async with converter.hook:
        disturb = any_of(converter.change, converter.fail)
        scenario = Scenario(environment, "converter", opened, disturb, {"field": "text"})
        return await run(scenario, times, folder, seed)


async def run_set_back(times: int, folder: Path, seed: int = 0) -> Result:
    """Restore an old backup of etcd. The server must tell watchers 410 and serve what the backup has."""
    result, chance = Result(), random.Random(f"set back {seed}")
    started = time.monotonic()
    async with members(folder, 1, 1) as env:
        for number in range(times):
            await _set_back(env, result, chance, str(number))
            result.times += 1
    result.seconds = time.monotonic() - started
    return result


async def _set_back(env: EtcdEnvironment, result: Result, chance: Chance, label: str) -> None:
    [member], [server], [[proxy]] = env.cluster.members, env.servers, env.proxies
    async with under_load(env, result, label=f"before{label}-"):
        await faults.calm(chance)
    truth = await _listed(env)
    await asyncio.to_thread(member.stop)
    backup = member.folder / "backup"
    shutil.copytree(member.folder / "data", backup)
    # The term of the raft grows with each start. The backup must have an older one than the server has seen.
    for _ in range(2):
        await asyncio.to_thread(env.cluster.restart, member)
        await _listed(env)
        await asyncio.to_thread(member.stop)
    await asyncio.to_thread(env.cluster.restart, member)
    await _listed(env)
    async with under_load(env, result, label=f"lost{label}-"):
        await faults.calm(chance, 1.0)
    newest = (await _listed(env)).revision
    proxy.cut()
    await asyncio.to_thread(member.stop)
    shutil.rmtree(member.folder / "data")
    backup.rename(member.folder / "data")
    await asyncio.to_thread(env.cluster.restart, member)
    for _ in range(chance.choice([0, 500])):
        # More revisions than the server has seen must not hide that etcd was set back.
        await asyncio.to_thread(_put, member.url)
    proxy.heal()
    await _until_expired(env, newest)
    served = await _listed(env)
    if served.items != truth.items:
        result.violations.append(f"{server.url} serves {served.items}, but the backup has {truth.items}")
    env.log, env.compacted = Log([]), 0


async def _listed(env: Environment) -> Any:
    """Return the list of all objects as soon as the server can read its store."""
    async with asyncio.timeout(faults.HEALTHY_SECONDS), client(env.servers[0]) as asking:
        while (reply := await asking.call("GET", path(env.group))).status != 200:
            await asyncio.sleep(0.02)
    return list_page(reply.json())


async def _until_expired(env: Environment, revision: int) -> None:
    """Watch from a revision that the store has lost until the server says that it is too old."""
    where = f"{path(env.group)}?watch=1&resourceVersion={revision}"
    async with asyncio.timeout(faults.HEALTHY_SECONDS):
        while True:
            with suppress(*BROKEN, AssertionError):
                async with client(env.servers[0]) as watching, asyncio.timeout(ANSWER_SECONDS):
                    async for line in watching.lines(where):
                        if b'"code":410' in line:
                            return
            await asyncio.sleep(0.02)


def _put(url: str) -> None:
    """Write a key that the server does not read."""
    with urllib.request.urlopen(f"{url}/v3/kv/put", b'{"key": "b3RoZXI=", "value": ""}', timeout=10) as reply:
        reply.read()
