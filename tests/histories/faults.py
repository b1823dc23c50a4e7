"""Faults. Each disturbs an environment under load once, and leaves it healthy."""

from __future__ import annotations

import asyncio
import base64
import json
import random
import resource
import shutil
import signal
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import yaml

from polykind.store.value_encryption import ProviderChain, build_provider
from tests.histories.environments import Environment, EtcdEnvironment, SqliteEnvironment
from tests.histories.load import Load
from tests.histories.registers import CRDS, client, definition, path
from tests.histories.store_log import compact, move_leader
from tests.support.client import Reply
from tests.support.etcd import Member
from tests.support.hook import Call, Hook
from tests.support.hook import Reply as HookReply
from tests.support.migrations import MIGRATIONS, condition_of, migration
from tests.support.network import pairs
from tests.support.server import ServerProcess

MERGE = "application/merge-patch+json"
HEALTHY_SECONDS = 60.0
Chance = random.Random
Fault = Callable[[Any, Load, Chance], Awaitable[None]]
"""A fault of an environment of a certain kind."""


async def calm(chance: Chance, longest: float = 0.25) -> None:
    """Let the clients work for a moment."""
    await asyncio.sleep(0.02 + longest * chance.random())


async def stopped(process: ServerProcess | Member, chance: Chance, longest: float) -> None:
    """Stop a process with SIGSTOP for a moment."""
    assert process.process is not None
    process.process.send_signal(signal.SIGSTOP)
    try:
        await calm(chance, longest)
    finally:
        process.process.send_signal(signal.SIGCONT)


async def asked(load: Load, method: str, where: str, body: object = None, kind: str = "application/json") -> Reply:
    """Send a request to any server until one answers it without an error of the server."""
    async with asyncio.timeout(HEALTHY_SECONDS):
        while True:
            for server in load.servers:
                try:
                    async with asyncio.timeout(10), client(server) as asking:
                        reply = await asking.call(method, where, body, kind)
                except (OSError, EOFError, TimeoutError):
                    continue
                if reply.status < 500:
                    return reply
            await asyncio.sleep(0.05)


# ---------------------------------------------------------------------- the server's process


async def kill(env: Environment, load: Load, chance: Chance) -> None:
    """Kill a server with SIGKILL and restart it."""
    await calm(chance)
    server = chance.choice(env.servers)
    server.kill()
    if len(env.servers) > 1:
        # The other replicas work on meanwhile.
        await calm(chance)
    await asyncio.to_thread(server.start)


async def pause(env: Environment, load: Load, chance: Chance) -> None:
    """Stop a server's process for a moment."""
    await calm(chance)
    await stopped(chance.choice(env.servers), chance, 1.0)


async def clock_jump(env: Environment, load: Load, chance: Chance) -> None:
    """Set the clock of a server forward or back, by up to two days. The server must be an AlteredServer."""
    await calm(chance)
    server = chance.choice(env.servers)
    (server.data_dir / "clock").write_text(str(chance.choice([-172_800, -3600, -30, 0, 30, 3600, 172_800])))
    await calm(chance, 0.5)


# ---------------------------------------------------------------------- the disk of the embedded store


async def full_disk(env: SqliteEnvironment, load: Load, chance: Chance) -> None:
    """Let every write beyond the current size of the write-ahead log fail."""
    await calm(chance)
    size = (env.server.data_dir / "polykind.db-wal").stat().st_size
    _, hard = resource.prlimit(env.server.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(env.server.pid, resource.RLIMIT_FSIZE, (size, hard))
    await calm(chance)
    resource.prlimit(env.server.pid, resource.RLIMIT_FSIZE, (hard, hard))


async def filled_disk(env: SqliteEnvironment, load: Load, chance: Chance) -> None:
    """Fill the file system of the data directory, which must be small."""
    await calm(chance)
    filler = env.server.data_dir.parent / "filler"
    with suppress(OSError), filler.open("wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))
    await calm(chance)
    filler.unlink(missing_ok=True)


async def failed_sync(env: SqliteEnvironment, load: Load, chance: Chance) -> None:
    """Let fsync fail with EIO. The server must be an AlteredServer."""
    await calm(chance)
    switch = env.server.data_dir / "fail-sync"
    switch.touch()
    await calm(chance, 0.1)
    switch.unlink()


async def missing_file(env: SqliteEnvironment, load: Load, chance: Chance) -> None:
    """Move a database file away and back."""
    await calm(chance)
    file = env.server.data_dir / chance.choice(["polykind.db", "polykind.db-wal"])
    aside = file.with_name("aside")
    file.rename(aside)
    await calm(chance, 0.1)
    aside.rename(file)


async def flipped_bits(env: SqliteEnvironment, load: Load, chance: Chance) -> None:
    """Flip a bit in a database file of the stopped server. The server must not serve a changed value."""

    def flip(file: Path) -> None:
        data = bytearray(file.read_bytes())
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        file.write_bytes(data)

    await _damage(env, load, chance, flip)


async def truncation(env: SqliteEnvironment, load: Load, chance: Chance) -> None:
    """Truncate the database file of the stopped server. The server must not serve a part of the data as the whole."""

    def truncate(file: Path) -> None:
        with file.open("r+b") as opened:
            opened.truncate(chance.randrange(file.stat().st_size))

    await _damage(env, load, chance, truncate)


async def _damage(env: SqliteEnvironment, load: Load, chance: Chance, change: Callable[[Path], None]) -> None:
    """Damage a copy of the data, compare what a server on it serves with the truth, and go on with the original."""
    server = env.server
    await calm(chance)
    await load.pause(watches=True)
    listed = (await asked(load, "GET", path(env.group))).json()["items"]
    truth = {item["metadata"]["name"]: item for item in listed}
    await asyncio.to_thread(server.stop)
    original = server.data_dir.with_name("original")
    shutil.copytree(server.data_dir, original)
    change(server.data_dir / "polykind.db")
    try:
        await asyncio.to_thread(server.start)
    except AssertionError:
        reasons = ("damaged", "cannot be opened", "cannot be read")
        assert any(reason in server.tail() for reason in reasons), server.tail()
    else:
        await _compare(env, truth)
        server.kill()
    shutil.rmtree(server.data_dir)
    original.rename(server.data_dir)
    await asyncio.to_thread(server.start)
    load.resume()


async def _compare(env: SqliteEnvironment, truth: dict[str, object]) -> None:
    async with client(env.server) as asking:
        listed = await asking.call("GET", path(env.group))
        for name, expected in truth.items():
            reply = await asking.call("GET", path(env.group, name))
            if reply.status == 200:
                assert reply.json() == expected, f"{name} was changed by damage"
            else:
                assert reply.status in (404, 500, 503), reply.body
                # A missing object is acceptable only if the log names the damage.
                assert "is damaged" in env.server.log.read_text(errors="replace"), name
        if listed.status == 200:
            assert all(truth[item["metadata"]["name"]] == item for item in listed.json()["items"])


# ---------------------------------------------------------------------- etcd


async def kill_member(env: EtcdEnvironment, load: Load, chance: Chance) -> None:
    """Kill a member of etcd with SIGKILL and restart it. With one member, all requests wait for it."""
    await calm(chance)
    member = chance.choice(env.cluster.members)
    member.kill()
    await calm(chance, 0.5)
    await asyncio.to_thread(env.cluster.restart, member)


async def restart_member(env: EtcdEnvironment, load: Load, chance: Chance) -> None:
    """Stop a member of etcd with SIGTERM and restart it.

    etcd 3.5.0 to 3.5.2 can lose an acknowledged write when it is killed under load, and then gives its revision to
    another write (etcd issue 13766).
    """
    await calm(chance)
    member = chance.choice(env.cluster.members)
    await asyncio.to_thread(member.stop)
    await calm(chance, 0.5)
    await asyncio.to_thread(env.cluster.restart, member)


async def pause_member(env: EtcdEnvironment, load: Load, chance: Chance) -> None:
    """Stop the process of a member of etcd for a moment, often that of the leader."""
    await calm(chance)
    leader = await asyncio.to_thread(env.cluster.leader)
    await stopped(chance.choice([leader, *env.cluster.members]), chance, 2.0)
    await asyncio.to_thread(env.cluster.await_health)


async def change_leader(env: EtcdEnvironment, load: Load, chance: Chance) -> None:
    """Let the leader of etcd hand over to another member."""
    await calm(chance)
    await asyncio.to_thread(move_leader, env.cluster, chance.randrange(100))


async def partition(env: EtcdEnvironment, load: Load, chance: Chance) -> None:
    """Cut a replica off from one member of etcd, or from all, for a moment."""
    await calm(chance)
    proxies = chance.choice(env.proxies)
    cut = proxies if chance.random() < 0.5 else [chance.choice(proxies)]
    for proxy in cut:
        proxy.cut()
    await calm(chance, 2.0)
    for proxy in cut:
        proxy.heal()


async def peer_partition(env: EtcdEnvironment, load: Load, chance: Chance) -> None:
    """Cut a member of etcd, often the leader, off from the others for a moment. Replicas still reach it.

    The members must be in a network of their own.
    """
    assert env.network is not None
    await calm(chance)
    leader = await asyncio.to_thread(env.cluster.leader)
    member = chance.choice([leader, *env.cluster.members])
    cut = pairs(member.host, [other.host for other in env.cluster.members])
    for pair in cut:
        await asyncio.to_thread(env.network.cut, *pair)
    await calm(chance, 3.0)
    for pair in cut:
        await asyncio.to_thread(env.network.heal, *pair)
    await asyncio.to_thread(env.cluster.await_health)


async def delays(env: EtcdEnvironment, load: Load, chance: Chance) -> None:
    """Delay all bytes between a replica and etcd, for a moment."""
    await calm(chance)
    proxies = chance.choice(env.proxies)
    for proxy in proxies:
        proxy.delay = 0.2 * chance.random()
    await calm(chance, 1.5)
    for proxy in proxies:
        proxy.delay = 0.0


async def compaction(env: EtcdEnvironment, load: Load, chance: Chance) -> None:
    """Compact all but the last few revisions of etcd. The log of the environment must be read before."""
    await calm(chance, 0.5)
    await asyncio.to_thread(env.extend_log)
    env.compacted = max(env.compacted, env.log.changes[-1].revision if env.log.changes else env.log.start)
    await asyncio.to_thread(compact, env.cluster, env.compacted)
    if chance.random() < 0.5:
        # A server that has just started knows no history, so that it must refuse or read what clients ask for.
        await kill(env, load, chance)


# ---------------------------------------------------------------------- changes of the CRD and of stored bytes


async def _set_versions(env: Environment, load: Load, storage: str) -> None:
    """Make a version of the CRD the storage version."""
    versions = definition(env.group, "v2", storage=storage)["spec"]["versions"]
    body = {"spec": {"versions": versions}}
    reply = await asked(load, "PATCH", f"{CRDS}/registers.{env.group}", body, MERGE)
    assert reply.status == 200, reply.body
    env.crd["spec"]["versions"] = versions


def _other_storage(env: Environment) -> str:
    [stored] = (version["name"] for version in env.crd["spec"]["versions"] if version["storage"])
    return "v2" if stored == "v1" else "v1"


async def storage_version(env: Environment, load: Load, chance: Chance) -> None:
    """Change the storage version forth or back, and restart a server in the middle of it."""
    await calm(chance)
    await _set_versions(env, load, _other_storage(env))
    await kill(env, load, chance)


async def interrupted_migration(env: Environment, load: Load, chance: Chance) -> None:
    """Migrate all objects to another storage version, and kill a server meanwhile."""
    await calm(chance)
    await _set_versions(env, load, _other_storage(env))
    await _migrate(env, load, chance)


async def _migrate(env: Environment, load: Load, chance: Chance) -> None:
    name = f"m{chance.randrange(10**9)}"
    reply = await asked(load, "POST", MIGRATIONS, migration(name, "registers", env.group))
    assert reply.status == 201, reply.body
    await asyncio.sleep(0.15 * chance.random())
    server = chance.choice(env.servers)
    server.kill()
    await asyncio.to_thread(server.start)
    async with asyncio.timeout(HEALTHY_SECONDS):
        while True:
            found = (await asked(load, "GET", f"{MIGRATIONS}/{name}")).json()
            assert condition_of(found, "Failed")[0] != "True", found
            if condition_of(found, "Succeeded")[0] == "True":
                return
            await asyncio.sleep(0.05)


class Keys:
    """The keys with which an environment encrypts its objects. `rotate` is a fault."""

    def __init__(self, file: Path, chance: Chance) -> None:
        self._file = file
        self._chance = chance
        self._keys: list[tuple[str, bytes]] = []
        self._add()

    def _add(self) -> None:
        """Put a new key first, keep one older key, and write the configuration for the servers."""
        self._keys.insert(0, (f"key{len(self._keys)}", self._chance.randbytes(32)))
        self.chain = ProviderChain([build_provider("aesgcm", self._keys)])
        keys = [{"name": name, "secret": _base64(secret)} for name, secret in self._keys[:2]]
        rule = {
            "resources": [f"registers.{Environment.group}"],
            "providers": [{"aesgcm": {"keys": keys}}, {"identity": {}}],
        }
        config = {"apiVersion": "apiserver.config.k8s.io/v1", "kind": "EncryptionConfiguration", "resources": [rule]}
        self._file.write_text(yaml.safe_dump(config))
        self._file.chmod(0o600)

    def open(self, key: str, value: bytes) -> bytes:
        """Return the plain value, whichever key encrypted it."""
        return self.chain.open(value, key.encode()).data

    async def rotate(self, env: Environment, load: Load, chance: Chance) -> None:
        """Rotate the key: restart all servers with a new one, and write all objects again, with a kill meanwhile."""
        await calm(chance)
        self._add()
        for server in env.servers:
            server.kill()
            await asyncio.to_thread(server.start)
        await _migrate(env, load, chance)


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


class Converter:
    """A conversion webhook whose answers change. `change` and `fail` are faults.

    v1 has `value`, v2 has `text`: the value, a bar and the number of the webhook's release.
    """

    def __init__(self) -> None:
        self.release = 0
        self.failing = False
        self.hook = Hook(behaviour=self._answer)

    def _answer(self, call: Call) -> HookReply:
        if self.failing:
            return HookReply(b"broken", 500)
        request = call.review["request"]
        version = request["desiredAPIVersion"]
        objects = [self._convert(item, version) for item in request["objects"]]
        answer = {"uid": request["uid"], "convertedObjects": objects, "result": {"status": "Success"}}
        return HookReply(json.dumps({**call.review, "response": answer}).encode())

    def _convert(self, item: dict[str, Any], version: str) -> dict[str, Any]:
        spec = dict(item.get("spec") or {})
        if version.endswith("/v2") and "value" in spec:
            spec["text"] = f"{spec.pop('value')}|{self.release}"
        elif version.endswith("/v1") and "text" in spec:
            spec["value"] = spec.pop("text").partition("|")[0]
        return {**item, "apiVersion": version, "spec": spec}

    def crd(self, group: str) -> dict[str, Any]:
        crd = definition(group, "v2", field="text")
        access = {"url": f"{self.hook.url}/convert", "caBundle": self.hook.bundle}
        webhook = {"conversionReviewVersions": ["v1"], "clientConfig": access}
        crd["spec"]["conversion"] = {"strategy": "Webhook", "webhook": webhook}
        return crd

    async def change(self, env: Environment, load: Load, chance: Chance) -> None:
        """Change what the webhook answers, and drop the cached conversions."""
        await calm(chance)
        self.release += 1
        annotations = {"polykind.dev/conversions-refreshed-at": str(self.release)}
        body = {"metadata": {"annotations": annotations}}
        await asked(load, "PATCH", f"{CRDS}/registers.{env.group}", body, MERGE)

    async def fail(self, env: Environment, load: Load, chance: Chance) -> None:
        """Let the webhook answer with errors, or not at all, for a moment."""
        await calm(chance)
        if chance.random() < 0.5:
            self.failing = True
            await calm(chance, 0.5)
            self.failing = False
        else:
            await self.hook.stop()
            await calm(chance, 0.5)
            await self.hook.start()
