"""Clients that read, write, list and watch through all servers, and record what they did and saw."""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tests.histories.history import (
    EVERYTHING,
    Event,
    History,
    ListPage,
    ListRead,
    Read,
    Selection,
    State,
    Stream,
    Write,
)
from tests.histories.registers import SIDES, client, path, state_of
from tests.support.client import Client, Reply
from tests.support.server import ServerProcess

ANSWER_SECONDS = 8.0
"""Seconds that a client waits for an answer before it counts the outcome as unknown."""
DELIVERY_SECONDS = 30.0
"""Seconds in which a watch must deliver the last event when all faults are over."""
BROKEN = (OSError, EOFError, TimeoutError)
STORE_UNAVAILABLE = (503, 504)
SELECTIONS = (
    EVERYTHING,
    Selection(side="left"),
    Selection(side="right"),
    Selection(name="r0"),
    Selection("left", "r1"),
)
LAST = "the-last"
"""The name of the object that is created when all writers have ended."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How one client watches, again and again."""

    selection: Selection = EVERYTHING
    version: str = "v1"
    hold: float = 1.0
    """The client disconnects after about this many seconds and resumes at another server."""
    initial: bool = False
    """True to begin each stream with initial events. Otherwise each stream resumes where the last one ended."""
    explicit: bool = True
    """False to get initial events without asking for them, by a watch without a resourceVersion."""
    bookmarks: bool = False
    """True to ask for bookmarks, and for an end of the stream soon after the first one."""

    def query(self, after: int) -> str:
        parts = ["watch=1"]
        if self.initial and self.explicit:
            parts += ["sendInitialEvents=true", "resourceVersionMatch=NotOlderThan", "allowWatchBookmarks=true"]
        elif not self.initial:
            parts.append(f"resourceVersion={after}")
        if self.bookmarks:
            # The server sends a bookmark two seconds before the end.
            parts += ["allowWatchBookmarks=true", "timeoutSeconds=3"]
        return "&".join(parts + _selectors(self.selection))

    @property
    def sees_last(self) -> bool:
        """True if the last object of a run is an event for this watch."""
        return not self.initial and not self.selection.name


def plans(versions: Sequence[str]) -> list[Plan]:
    other = versions[-1]
    return [
        Plan(hold=0.7),
        Plan(hold=300, version=other),
        Plan(Selection(side="left"), other, hold=5, bookmarks=True),
        Plan(hold=5, bookmarks=True),
        Plan(initial=True, version=other, hold=3),
        Plan(Selection(side="left"), initial=True, hold=2),
        Plan(Selection(side="right"), other, hold=5, initial=True, explicit=False, bookmarks=True),
        Plan(Selection(name="r0"), hold=2),
    ]


def _selectors(selection: Selection) -> list[str]:
    found = [f"labelSelector=side%3D{selection.side}"] if selection.side else []
    return found + ([f"fieldSelector=metadata.name%3D{selection.name}"] if selection.name else [])


class Worker:
    """One client that reads and writes."""

    def __init__(self, number: int, load: Load) -> None:
        self._load = load
        self._chance = random.Random(f"{load.seed} {number}")
        self._number = number
        self._steps = 0
        self._known: dict[str, int] = {}
        self._clients: dict[str, Client] = {}

    async def run(self) -> None:
        load = self._load
        try:
            while not load.stopping:
                await load.open.wait()
                load.busy += 1
                try:
                    await self._step()
                finally:
                    load.busy -= 1
                await asyncio.sleep(load.pace)
        finally:
            for made in self._clients.values():
                made.close()

    async def _connect(self) -> Client | None:
        """Return a client with a connection to any server, or None if the server does not accept one."""
        server = self._chance.choice(self._load.servers)
        made = self._clients.get(server.url)
        if made is None:
            made = self._clients[server.url] = client(server)
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                await made.connect()
        except BROKEN:
            made.close()
            await asyncio.sleep(0.02)
            return None
        return made

    async def _call(
        self, made: Client, method: str, where: str, body: object = None, kind: str = "application/json"
    ) -> Reply | None:
        """Send a request. Return None if no answer came."""
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                reply = await made.call(method, where, body, kind)
        except BROKEN:
            made.close()
            await asyncio.sleep(0.02)
            return None
        self._load.count(method, reply)
        if reply.status in STORE_UNAVAILABLE:
            await asyncio.sleep(0.02)
        return reply

    async def _step(self) -> None:
        self._steps += 1
        name, turn = self._chance.choice(self._load.names), self._chance.random()
        if turn < 0.25:
            await self._get(name)
        elif turn < 0.45:
            await self._list()
        elif name not in self._known:
            await self._write("create", name)
        elif turn < 0.75:
            await self._write("update", name)
        elif turn < 0.83:
            await self._write("patch", name)
        elif turn < 0.88:
            await self._write("apply", name)
        elif turn < 0.9:
            await self._write("update", name, dry_run=True)
        else:
            await self._write("delete", name)

    def _a_version(self) -> str:
        return self._chance.choice(self._load.versions)

    def _note(self, name: str, state: State | None) -> None:
        if state is None:
            self._known.pop(name, None)
        else:
            self._known[name] = state.revision
            self._load.newest = max(self._load.newest, state.revision)

    # ------------------------------------------------------------------ reads

    async def _get(self, name: str) -> None:
        if (made := await self._connect()) is None:
            return
        wanted = self._chance.choice([-1, -1, -1, 0, self._load.newest])
        query = f"?resourceVersion={wanted}" if wanted >= 0 else ""
        begin = time.monotonic()
        reply = await self._call(made, "GET", path(self._load.group, name, self._a_version()) + query)
        if reply is None or reply.status not in (200, 404):
            return
        state = state_of(reply.json()) if reply.status == 200 else None
        self._note(name, state)
        fresh, least = wanted < 0, max(wanted, 0)
        self._load.history.reads.append(Read(name, begin, time.monotonic(), state, fresh, least))

    async def _list(self) -> None:
        selection = self._chance.choice([EVERYTHING, EVERYTHING, *SELECTIONS])
        match = self._chance.choice(["", "", "", "0", "NotOlderThan", "Exact"])
        limit = self._chance.choice([0, 0, 0, self._load.page]) if match in ("", "Exact") else 0
        newest = self._load.newest
        parts = _selectors(selection)
        if match == "0":
            parts.append("resourceVersion=0")
        elif match:
            parts += [f"resourceVersion={newest}", f"resourceVersionMatch={match}"]
        if limit:
            parts.append(f"limit={limit}")
        begin = time.monotonic()
        pages, end = await self._pages(self._a_version(), parts, newest if match == "Exact" else 0)
        if pages:
            least, exact = newest if match == "NotOlderThan" else 0, newest if match == "Exact" else 0
            read = ListRead(begin, end, pages, selection, not match, least, exact)
            self._load.history.lists.append(read)

    async def _pages(self, version: str, parts: list[str], exact: int) -> tuple[list[ListPage], float]:
        """Return all pages of a list, or none if one cannot be read, and the time at which the first one came."""
        pages: list[ListPage] = []
        more, end = "", 0.0
        while True:
            query = "&".join([*(part for part in parts if not more or not part.startswith("resourceVersion")), more])
            if (made := await self._connect()) is None:
                return [], 0.0
            reply = await self._call(made, "GET", f"{path(self._load.group, version=version)}?{query}")
            if reply is not None and reply.status == 410:
                self._load.history.expired_reads.append(pages[0].revision if pages else exact)
            if reply is None or reply.status != 200:
                return [], 0.0
            end = end or time.monotonic()
            found = reply.json()
            page = list_page(found)
            for name, state in page.items:
                self._note(name, state)
            pages.append(page)
            if not found["metadata"].get("continue"):
                return pages, end
            more = f"continue={found['metadata']['continue']}"

    # ------------------------------------------------------------------ writes

    async def _write(self, verb: str, name: str, *, dry_run: bool = False) -> None:
        if (made := await self._connect()) is None:
            return
        load, version = self._load, self._a_version()
        write = Write(verb, name, 0.0, 0.0, "", value=f"{load.label}{self._number}.{self._steps}")
        write.side = self._chance.choice(SIDES)
        method, where, body, kind = self._request(write, version)
        write.begin = time.monotonic()
        reply = await self._call(made, method, f"{where}{'?dryRun=All' if dry_run else ''}", body, kind)
        write.end = time.monotonic()
        write.outcome = _outcome(reply, write.expect)
        if dry_run and write.outcome in ("done", "unknown"):
            write.outcome = "rejected"
        elif reply is not None and write.outcome == "done":
            self._read_answer(write, reply.json())
            load.acknowledged += 1
        elif write.outcome != "unknown":
            self._known.pop(name, None)
        load.history.writes.append(write)

    def _request(self, write: Write, version: str) -> tuple[str, str, dict[str, Any], str]:
        """Return the method, path, body and media type of a write, and set what the write expects."""
        load, chance, known = self._load, self._chance, self._known.get(write.name)
        where = path(load.group, write.name, version)
        body: dict[str, Any] = load.body(write.name, write.value, version)
        body["metadata"]["labels"] = {"side": write.side}
        match write.verb:
            case "create":
                write.expect = 0
                return "POST", path(load.group, version=version), body, "application/json"
            case "update":
                write.expect = known
            case "patch" if chance.random() < 0.3:
                write.expect = known
            case "apply":
                query = f"?force=true&fieldManager=worker{self._number}"
                return "PATCH", where + query, body, "application/apply-patch+yaml"
            case "delete":
                write.expect = known if chance.random() < 0.5 else None
                conditions = {"preconditions": {"resourceVersion": str(known)}}
                return "DELETE", where, conditions if write.expect else {}, "application/json"
        if write.expect:
            body["metadata"]["resourceVersion"] = str(write.expect)
        if write.verb == "patch":
            return "PATCH", where, body, "application/merge-patch+json"
        return "PUT", where, body, "application/json"

    def _read_answer(self, write: Write, answer: dict[str, Any]) -> None:
        if write.verb == "delete":
            write.uid = answer["details"]["uid"]
            self._note(write.name, None)
        else:
            state = state_of(answer)
            write.revision, write.uid = state.revision, state.uid
            self._note(write.name, state)


def _outcome(reply: Reply | None, expect: int | None) -> str:
    """Return the outcome of a write as its answer states it."""
    if reply is None or reply.status in (500, 504):
        return "unknown"
    if reply.status in (200, 201):
        return "done"
    if reply.status == 404:
        return "absent"
    if reply.status == 409:
        return "exists" if expect == 0 else "conflict" if expect else "rejected"
    return "rejected"


def list_page(answer: dict[str, Any]) -> ListPage:
    metadata = answer["metadata"]
    items = [(item["metadata"]["name"], state_of(item)) for item in answer["items"]]
    return ListPage(int(metadata["resourceVersion"]), items, metadata.get("remainingItemCount"))


class Watching:
    """One client that watches as its plan says, and resumes at any server."""

    def __init__(self, number: int, plan: Plan, load: Load) -> None:
        self.plan = plan
        self.revision = load.start_revision
        self.stream: Stream | None = None
        self._load = load
        self._chance = random.Random(f"{load.seed} watch {number}")
        self._client: Client | None = None

    async def run(self) -> None:
        while True:
            await self._load.open.wait()
            try:
                await self._watch()
            except BROKEN:
                await asyncio.sleep(0.02)
            except AssertionError:
                # The server answered with an error, because its store is not available.
                await asyncio.sleep(0.05)

    def disconnect(self) -> None:
        if self._client is not None:
            self._client.close()

    async def _watch(self) -> None:
        plan = self.plan
        server = self._chance.choice(self._load.servers)
        stream = Stream(time.monotonic(), -1 if plan.initial else self.revision, plan.selection)
        where = f"{path(self._load.group, version=plan.version)}?{plan.query(self.revision)}"
        async with client(server) as self._client, asyncio.timeout(plan.hold * (0.5 + self._chance.random())):
            async for line in self._client.lines(where):
                found = json.loads(line)
                if found["type"] == "ERROR":
                    await self._on_error(stream, found["object"])
                    return
                if not stream.events:
                    self.stream = stream
                    self._load.history.streams.append(stream)
                stream.events.append(_event(found))
                self.revision = stream.events[-1].state.revision

    async def _on_error(self, stream: Stream, status: dict[str, Any]) -> None:
        if status["code"] != 410:
            self._load.errors["watch", status["code"]] += 1
            await asyncio.sleep(0.05)
            return
        self._load.expired += 1
        stream.expired = str(status["message"])
        if not stream.events:
            self._load.history.streams.append(stream)
        self.revision = await self._load.list_all(self.plan.version)


def _event(found: dict[str, Any]) -> Event:
    kind, item, at = found["type"], found["object"], time.monotonic()
    metadata = item["metadata"]
    if kind == "BOOKMARK":
        ended = (metadata.get("annotations") or {}).get("k8s.io/initial-events-end") == "true"
        return Event(kind, "", State(int(metadata["resourceVersion"]), "", "", ""), at, ended)
    return Event(kind, metadata["name"], state_of(item), at)


class Load:
    """Several clients at once, on a resource that exists. `close` must follow `start`."""

    def __init__(
        self,
        servers: Sequence[ServerProcess],
        group: str,
        *,
        seed: int = 0,
        workers: int = 5,
        versions: Sequence[str] = ("v1",),
        field: str = "value",
        pace: float = 0.002,
        label: str = "",
        page: int = 3,
        crowd: int = 0,
    ) -> None:
        """`field` is the name of the value at other versions than v1. `label` makes the values of this load unique, and
        `page` is the number of objects on a page of a list, `crowd` the number of further watches, which are all equal.
        """
        self.servers, self.group, self.seed, self.versions = list(servers), group, seed, list(versions)
        self.pace, self.label, self._field, self.page, self._crowd = pace, label, field, page, crowd
        self.names = [f"r{number}" for number in range(12)]
        self.history = History()
        self.errors: Counter[tuple[str, int]] = Counter()
        """The number of answers with an error, by method and status."""
        self.unexpected: list[str] = []
        """Answers with a status that no fault explains."""
        self.allowed: set[int] = {404, 409, 410, *STORE_UNAVAILABLE}
        """The statuses of errors that are expected."""
        self.stopping = False
        self.open = asyncio.Event()
        """Set while clients may send requests."""
        self.open.set()
        self.busy = self.acknowledged = self.expired = 0
        self.start_revision = self.newest = 0
        self._workers = [Worker(number, self) for number in range(workers)]
        self.watching: list[Watching] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._watches: list[asyncio.Task[None]] = []

    def body(self, name: str, value: str, version: str) -> dict[str, Any]:
        field = "value" if version == "v1" else self._field
        kind = {"apiVersion": f"{self.group}/{version}", "kind": "Register"}
        return {**kind, "metadata": {"name": name}, "spec": {field: value}}

    def count(self, method: str, reply: Reply) -> None:
        if reply.status >= 400:
            self.errors[method, reply.status] += 1
            if reply.status not in self.allowed:
                self.unexpected.append(f"{method} was answered with {reply.status}: {reply.body[:300].decode()}")

    async def list_all(self, version: str = "v1") -> int:
        """List until it succeeds, record the list, and return its revision."""
        while True:
            await self.open.wait()
            for server in self.servers:
                begin = time.monotonic()
                try:
                    async with asyncio.timeout(ANSWER_SECONDS), client(server) as listing:
                        reply = await listing.call("GET", path(self.group, version=version))
                except BROKEN:
                    continue
                if reply.status == 200:
                    page = list_page(reply.json())
                    self.history.lists.append(ListRead(begin, time.monotonic(), [page]))
                    return page.revision
            await asyncio.sleep(0.02)

    async def start(self) -> None:
        self.start_revision = self.newest = await self.list_all()
        chosen = plans(self.versions) + [Plan(version=self.versions[-1], hold=8, bookmarks=True)] * self._crowd
        self.watching = [Watching(number, plan, self) for number, plan in enumerate(chosen)]
        self._tasks = [asyncio.create_task(worker.run()) for worker in self._workers]
        self._watches = [asyncio.create_task(watching.run()) for watching in self.watching]

    async def pause(self, *, watches: bool = False) -> None:
        """Let workers finish their requests and wait. With `watches`, end all watches, too."""
        self.open.clear()
        while self.busy:
            await asyncio.sleep(0.005)
        if watches:
            for watching in self.watching:
                watching.disconnect()

    def resume(self) -> None:
        self.open.set()

    async def progress(self, writes: int = 20, seconds: float = 30) -> None:
        """Wait until the clients have made progress."""
        until = self.acknowledged + writes
        async with asyncio.timeout(seconds):
            while self.acknowledged < until:
                self.check_tasks()
                await asyncio.sleep(0.01)

    def check_tasks(self) -> None:
        """Raise the exception of a client that has failed."""
        for task in (*self._tasks, *self._watches):
            if task.done() and task.exception() is not None:
                task.result()

    async def stop(self) -> None:
        """End the writers, write a last object, and wait until all watches that see it have delivered it."""
        self.resume()
        self.stopping = True
        await asyncio.gather(*self._tasks)
        last = await self._write_last()
        deadline = time.monotonic() + DELIVERY_SECONDS
        for watching in self.watching:
            while watching.plan.sees_last and watching.revision < last:
                self.check_tasks()
                if time.monotonic() > deadline:
                    watching.stream = watching.stream or Stream(time.monotonic(), watching.revision)
                    watching.stream.must_reach = last
                    break
                await asyncio.sleep(0.01)

    async def _write_last(self) -> int:
        async with asyncio.timeout(60):
            for attempt in range(1000):
                name = f"{LAST}-{self.label}{attempt}"
                body = self.body(name, name, "v1")
                body["metadata"]["labels"] = {"side": "left"}
                begin = time.monotonic()
                try:
                    async with asyncio.timeout(ANSWER_SECONDS), client(self.servers[0]) as creating:
                        reply: Reply | None = await creating.call("POST", path(self.group), body)
                except BROKEN:
                    reply = None
                write = Write("create", name, begin, time.monotonic(), _outcome(reply, 0), 0, name, "left")
                self.history.writes.append(write)
                if reply is not None and reply.status == 201:
                    state = state_of(reply.json())
                    write.revision, write.uid = state.revision, state.uid
                    return state.revision
                await asyncio.sleep(0.05)
        raise AssertionError("no server accepts a write after all faults are over")

    async def close(self) -> None:
        tasks = [*self._tasks, *self._watches]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        # An aborted connection is closed only in the next iteration of the event loop.
        await asyncio.sleep(0.01)
