"""The environments of histories: one server with the embedded store, or replicas on a cluster of etcd."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from sqlite3 import Error
from typing import Any

from tests.histories.checker import Result, check
from tests.histories.history import Change, Log, State
from tests.histories.load import Load
from tests.histories.registers import CRDS, SIDES, client, define, definition, path, register
from tests.histories.store_log import CompactedLogError, Opener, etcd_changes, plain, sqlite_changes
from tests.support.etcd import Etcd
from tests.support.network import Network
from tests.support.proxy import Proxy
from tests.support.server import ServerProcess

POLL_SECONDS = 0.25
BALLAST_CLIENTS = 8


class AlteredServer(ServerProcess):
    """A server whose clock, syncs and history tests can alter."""

    @property
    def command(self) -> list[str]:
        module = [sys.executable, "-m", "tests.histories.altered_server", str(self.data_dir)]
        return [*module, *super().command[1:]]


class Environment:
    """Servers, and the log of the store that they share."""

    group = "histories.example.com"
    name = ""

    def __init__(self) -> None:
        self.servers: list[ServerProcess] = []
        self.crd = definition(self.group, "v2")
        self.opener: Opener = plain
        self.ballast = 0
        """The number of objects that exist from the beginning and never change, so that lists are long."""
        self.rewrites = False
        self.compacted = 0
        """The highest revision that may have been compacted."""
        self.changes_crd = False
        """True if faults change the CRD. Like kube-apiserver, the server then refuses watches from older revisions."""
        self.keeps_log = False
        """True to read the log all the time, because old revisions are compacted."""
        self.allowed: set[int] = set()
        """The statuses of errors that clients may get, in addition to the usual ones."""
        self.log = Log([])

    def read_changes(self, after: int) -> list[Change]:
        """Return the changes above a revision in the store's log."""
        raise NotImplementedError

    async def begin(self) -> None:
        """Start the servers and create the CRD."""
        await asyncio.to_thread(self._start_all)
        await define(self.servers, self.group, self.crd)
        await asyncio.gather(*(self._create_ballast(start) for start in range(BALLAST_CLIENTS)))

    async def _create_ballast(self, start: int) -> None:
        async with client(self.servers[0]) as creating:
            for number in range(start, self.ballast, BALLAST_CLIENTS):
                body = register(self.group, f"ballast-{number:05}", f"ballast {number}")
                # Few objects have a label that lists select by, so that the server uses an index.
                body["metadata"]["labels"] = {"side": SIDES[number % 2] if number % 20 < 2 else "none"}
                reply = await creating.call("POST", path(self.group), body)
                assert reply.status == 201, reply.body

    def _start_all(self) -> None:
        for server in self.servers:
            server.start()

    async def end(self) -> None:
        for server in self.servers:
            if server.alive():
                await asyncio.to_thread(server.kill)

    # ------------------------------------------------------------------ the log

    def start_log(self) -> None:
        """Begin a log at the present state, so that it explains the history that follows."""
        changes = [*self.log.changes, *self.read_changes(self._read_until)]
        current = dict(self.log.initial)
        for change in changes:
            current[change.name] = change.state or State(0, "", "", "")
        self.log = Log([], initial={n: s for n, s in current.items() if s.revision}, start=self._newest(changes))

    @property
    def _read_until(self) -> int:
        return self._newest(self.log.changes)

    def _newest(self, changes: Sequence[Change]) -> int:
        return changes[-1].revision if changes else self.log.start

    async def poll_log(self) -> None:
        """Read the new entries of the log again and again."""
        while self.keeps_log:
            with suppress(Error, OSError):
                await asyncio.to_thread(self.extend_log)
            await asyncio.sleep(POLL_SECONDS)

    def extend_log(self) -> None:
        self.log.changes = [*self.log.changes, *self.read_changes(self._read_until)]

    def finish_log(self) -> Log:
        """Read the rest of the log. Check that what was read earlier has not changed."""
        log = self.log
        log.rewrites = self.rewrites
        self.extend_log()
        start = self.oldest_readable(log.start)
        log.compacted = max(self.compacted, start if start > log.start else 0)
        if self.read_changes(start) != [change for change in log.changes if change.revision > start]:
            raise AssertionError("the store's log has changed afterwards")
        return log

    def oldest_readable(self, start: int) -> int:
        """Return the lowest revision from `start` behind which the store still has all changes."""
        raise NotImplementedError


class SqliteEnvironment(Environment):
    """One server with the embedded store."""

    name = "SQLite"

    def __init__(self, folder: Path, *flags: str, altered: bool = False) -> None:
        super().__init__()
        kind = AlteredServer if altered else ServerProcess
        # Without RBAC, because a server with a damaged default role is not ready until an administrator repairs it.
        self.server = kind(folder / "data", "--authorization-mode=AlwaysAllow", *flags)
        self.servers = [self.server]

    def read_changes(self, after: int) -> list[Change]:
        return sqlite_changes(self.server.data_dir / "polykind.db", self.group, after, self.opener)

    def oldest_readable(self, start: int) -> int:
        low, high = start, self._read_until
        while low < high:
            middle = (low + high) // 2
            try:
                self.read_changes(middle)
                high = middle
            except CompactedLogError:
                low = middle + 1
        return low


class EtcdEnvironment(Environment):
    """Replicas on a cluster of etcd. Each replica reaches each member through a proxy of its own."""

    name = "etcd"

    def __init__(self, cluster: Etcd, folder: Path, replicas: int = 2, *flags: str, altered: bool = False) -> None:
        super().__init__()
        self.cluster, self._folder, self._replicas, self._flags = cluster, folder, replicas, flags
        self._kind = AlteredServer if altered else ServerProcess
        self._stack = AsyncExitStack()
        self.proxies: list[list[Proxy]] = []
        """The proxies of each replica, one for each member."""
        self.network: Network | None = None
        """The network of the members, if they have one of their own."""
        self.disagreement = ""
        """Set if the members of etcd have different logs, which no server can make good."""

    async def begin(self) -> None:
        for number in range(self._replicas):
            proxies = [
                await self._stack.enter_async_context(Proxy(member.port, member.host))
                for member in self.cluster.members
            ]
            self.proxies.append(proxies)
            servers = "--etcd-servers=" + ",".join(proxy.url for proxy in proxies)
            data = self._folder / f"replica{number}"
            self.servers.append(self._kind(data, servers, "--authorization-mode=AlwaysAllow", *self._flags))
        await super().begin()

    async def end(self) -> None:
        await super().end()
        await self._stack.aclose()

    def read_changes(self, after: int) -> list[Change]:
        return etcd_changes(self.cluster.members[0], self.group, max(after, self.compacted), self.opener)

    def finish_log(self) -> Log:
        log = super().finish_log()
        start = max(log.start, self.compacted)
        mine = [change for change in log.changes if change.revision > start]
        for member in self.cluster.members[1:]:
            if etcd_changes(member, self.group, start, self.opener) != mine:
                self.disagreement = f"etcd's members {self.cluster.members[0].name} and {member.name} disagree"
        return log

    def oldest_readable(self, start: int) -> int:
        return max(start, self.compacted)


@asynccontextmanager
async def under_load(environment: Environment, result: Result, **options: Any) -> AsyncIterator[Load]:
    """Run clients while the body injects faults, then add what the checker says to the result.

    The environment must have begun.
    """
    versions = [version["name"] for version in environment.crd["spec"]["versions"]]
    load = Load(
        environment.servers, environment.group, versions=versions, page=max(3, environment.ballast // 3), **options
    )
    load.allowed |= environment.allowed
    await asyncio.to_thread(environment.start_log)
    polling = asyncio.create_task(environment.poll_log())
    try:
        await load.start()
        await load.progress()
        yield load
        load.resume()
        await load.progress()
        await load.stop()
    finally:
        polling.cancel()
        await asyncio.gather(polling, return_exceptions=True)
        await load.close()
    log = await asyncio.to_thread(environment.finish_log)
    if environment.changes_crd:
        log.watchable_since = await crd_revision(environment)
    found = await asyncio.to_thread(check, load.history, log)
    found.violations += load.unexpected
    found.violations += await stored_state(environment, log)
    if isinstance(environment, EtcdEnvironment) and environment.disagreement:
        # The guarantees of etcd are broken, so those of its clients cannot hold (etcd issue 13766).
        found.disagreements, found.violations = [environment.disagreement], []
    result.add(found)


async def crd_revision(environment: Environment) -> int:
    """Return the revision of the CRD."""
    async with client(environment.servers[0]) as reading:
        reply = await reading.call("GET", f"{CRDS}/registers.{environment.group}")
    return int(reply.json()["metadata"]["resourceVersion"])


async def stored_state(environment: Environment, log: Log) -> list[str]:
    """Compare what each server serves at the end with the state that the log leads to."""
    current = dict(log.initial)
    for change in log.changes:
        current[change.name] = change.state or State(0, "", "", "")
    expected = sorted((name, state) for name, state in current.items() if state.revision)
    found = []
    for server in environment.servers:
        load = Load([server], environment.group)
        await load.list_all()
        [page] = load.history.lists[0].pages
        if page.items != expected:
            found.append(f"{server.url} serves {page.items}, but the log leads to {expected}")
    return found
