"""The measurements: requests by verb, the fan-out of watches, and memory. They end after a fixed time."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from itertools import count, repeat
from typing import NamedTuple

import msgspec

from polykind.benchmark.load_client import LoadClient, LoadError, Samples, context_of, run_load
from polykind.benchmark.workload import CRDS, GROUP, definition, widget
from polykind.cluster.cluster_access import ClusterAccess

_LIST_LIMIT = 500
_CRDS_FOR_MEMORY = 20
_READY_SECONDS = 10.0
_EVENT_SECONDS = 20.0
_DELETION_SECONDS = 60.0


class Figure(NamedTuple):
    """A measured load. `cpu_us` is the server's CPU time per request in microseconds, if the server reports it."""

    name: str
    rate: float
    p50_ms: float
    p90_ms: float
    p99_ms: float
    cpu_us: float | None


class Capacity(msgspec.Struct):
    """All results."""

    figures: list[Figure]
    bytes_per_object: int | None = None
    object_bytes: int = 0
    bytes_per_crd: int | None = None


class Options(NamedTuple):
    """The sizes of a benchmark."""

    seconds: float
    connections: int
    objects: int
    watchers: int


class Benchmark:
    """Measures a server with objects in a namespace and a CRD of its own, and deletes them at the end."""

    def __init__(self, access: ClusterAccess, options: Options, name: str, progress: Callable[[str], None]) -> None:
        self._access, self._options, self._progress = access, options, progress
        self._context = context_of(access)
        self._namespace = name
        self._plural = f"{name.replace('-', '')}s"
        self._kind = self._plural.removesuffix("s").capitalize()
        self._collection = f"/apis/{GROUP}/v1/namespaces/{name}/{self._plural}"
        self._figures: list[Figure] = []

    async def run(self) -> Capacity:
        async with self._connected(1) as (admin,), self._connected(self._options.connections) as clients:
            try:
                await self._prepare(admin)
                capacity = await self._measure(admin, clients)
            finally:
                await self._clean_up(admin)
            return capacity

    async def _measure(self, admin: LoadClient, clients: list[LoadClient]) -> Capacity:
        options = self._options
        before = await self._process(admin)
        self._progress(f"creating {options.objects} objects")
        names = iter(range(options.objects))
        await run_load(clients, (self._create(admin, f"o{i:06d}") for i in names), 600.0)
        after = await self._process(admin)
        size = len((await admin.send(admin.prepare("GET", f"{self._collection}/o000000"))).body)
        capacity = Capacity(self._figures, object_bytes=size)
        if before is not None and after is not None and options.objects:
            capacity.bytes_per_object = max(0, round((after[1] - before[1]) / options.objects))
        one = f"{self._collection}/o000000"
        await self._load(admin, clients, "get", repeat(admin.prepare("GET", one)))
        listing = admin.prepare("GET", f"{self._collection}?limit={_LIST_LIMIT}")
        await self._load(admin, clients, f"list of {min(_LIST_LIMIT, options.objects)}", repeat(listing))
        await self._load(admin, clients, "create", (self._create(admin, f"c{i:08d}") for i in count()))
        await self._load(admin, clients, "patch", self._patches(admin))
        await self._fan_out(admin)
        capacity.bytes_per_crd = await self._memory_of_crds(admin)
        return capacity

    async def _load(self, admin: LoadClient, clients: list[LoadClient], name: str, requests: Iterator[bytes]) -> None:
        self._progress(f"{name}, {self._options.seconds:g} s")
        before = await self._process(admin)
        samples = await run_load(clients, requests, self._options.seconds)
        self._add(name, samples, before, await self._process(admin), len(samples.latencies))

    def _add(
        self,
        name: str,
        samples: Samples,
        before: tuple[float, float] | None,
        after: tuple[float, float] | None,
        requests: int,
    ) -> None:
        cpu = (after[0] - before[0]) / requests * 1e6 if before and after and requests else None
        p50, p90, p99 = (samples.percentile(share) * 1000 for share in (0.5, 0.9, 0.99))
        self._figures.append(Figure(name, samples.rate, p50, p90, p99, cpu))

    async def _fan_out(self, admin: LoadClient) -> None:
        """Patch one object again and again, and measure the time until every watcher has the event."""
        watchers = self._options.watchers
        if not watchers:
            return
        self._progress(f"{watchers} watches, {self._options.seconds:g} s")
        reply = await admin.send(admin.prepare("GET", f"{self._collection}?limit=1"))
        revision = msgspec.json.decode(reply.body)["metadata"]["resourceVersion"]
        path = f"{self._collection}?watch=1&resourceVersion={revision}"
        async with self._connected(watchers) as clients:
            streams = [client.lines(client.prepare("GET", path)) for client in clients]
            before, latencies, events = await self._process(admin), [], 0
            started = time.perf_counter()
            for patch in self._patches(admin, one=True):
                sent = time.perf_counter()
                if sent - started >= self._options.seconds:
                    break
                await admin.send(patch)
                try:
                    async with asyncio.timeout(_EVENT_SECONDS):
                        await asyncio.gather(*(anext(stream) for stream in streams))
                except (TimeoutError, StopAsyncIteration):
                    raise LoadError(f"not all watches have received an event within {_EVENT_SECONDS:g} s") from None
                latencies.append(time.perf_counter() - sent)
                events += watchers
            samples = Samples(latencies, time.perf_counter() - started)
            after = await self._process(admin)
            for stream in streams:
                await stream.aclose()  # type: ignore[attr-defined]
        self._add(f"event to {watchers} watches", samples, before, after, events)

    async def _memory_of_crds(self, admin: LoadClient) -> int | None:
        self._progress(f"creating {_CRDS_FOR_MEMORY} CRDs")
        before = await self._process(admin)
        for plural in self._extra_plurals():
            await admin.send(admin.prepare("POST", CRDS, definition(plural)))
        for plural in self._extra_plurals():
            await self._await_resource(admin, f"/apis/{GROUP}/v1/namespaces/{self._namespace}/{plural}")
        after = await self._process(admin)
        if before is None or after is None:
            return None
        return max(0, round((after[1] - before[1]) / _CRDS_FOR_MEMORY))

    def _extra_plurals(self) -> list[str]:
        return [f"{self._plural.removesuffix('s')}x{i}s" for i in range(_CRDS_FOR_MEMORY)]

    def _create(self, client: LoadClient, name: str) -> bytes:
        return client.prepare("POST", self._collection, widget(name, self._kind))

    def _patches(self, client: LoadClient, *, one: bool = False) -> Iterator[bytes]:
        """Yield patches that each change a label, of one object or of all in turn. No two have the same value."""
        prefix = "f" if one else "t"
        objects = 1 if one else max(1, self._options.objects)
        for i in count():
            body = {"metadata": {"labels": {"tick": f"{prefix}{i}"}}}
            path = f"{self._collection}/o{i % objects:06d}"
            yield client.prepare("PATCH", path, body, "application/merge-patch+json")

    async def _prepare(self, admin: LoadClient) -> None:
        self._progress("creating a namespace and a CRD")
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self._namespace}}
        await admin.send(admin.prepare("POST", "/api/v1/namespaces", namespace))
        await admin.send(admin.prepare("POST", CRDS, definition(self._plural)))
        await self._await_resource(admin, self._collection)

    async def _await_resource(self, admin: LoadClient, collection: str) -> None:
        deadline = time.monotonic() + _READY_SECONDS
        while True:
            try:
                await admin.send(admin.prepare("GET", f"{collection}?limit=1"))
                return
            except LoadError:
                if time.monotonic() > deadline:
                    raise
            await asyncio.sleep(0.02)

    async def _clean_up(self, admin: LoadClient) -> None:
        self._progress("deleting the objects")
        paths = [f"{CRDS}/{plural}.{GROUP}" for plural in (self._plural, *self._extra_plurals())]
        paths.append(f"/api/v1/namespaces/{self._namespace}")
        for path in paths:
            try:
                await admin.send(admin.prepare("DELETE", path))
            except LoadError:
                # The measurement failed before this object was created.
                continue
        for path in (paths[0], paths[-1]):
            await self._await_deletion(admin, path)

    async def _await_deletion(self, admin: LoadClient, path: str) -> None:
        """Wait until an object is gone with its content. Give up after a while: the server goes on by itself."""
        deadline = time.monotonic() + _DELETION_SECONDS
        while time.monotonic() < deadline:
            try:
                await admin.send(admin.prepare("GET", path))
            except LoadError:
                return
            await asyncio.sleep(0.05)

    async def _process(self, admin: LoadClient) -> tuple[float, float] | None:
        """Return the server's CPU seconds and resident memory, or None if it does not report them."""
        try:
            page = (await admin.send(admin.prepare("GET", "/metrics"))).body.decode()
        except LoadError:
            return None
        found = [
            re.search(rf"^{name} (\S+)$", page, re.M)
            for name in ("process_cpu_seconds_total", "process_resident_memory_bytes")
        ]
        return (float(found[0][1]), float(found[1][1])) if found[0] and found[1] else None

    @asynccontextmanager
    async def _connected(self, connections: int) -> AsyncIterator[list[LoadClient]]:
        clients = [LoadClient(self._access, self._context) for _ in range(connections)]
        await asyncio.gather(*(client.connect() for client in clients))
        try:
            yield clients
        finally:
            await asyncio.gather(*(client.close() for client in clients))
