"""The workload of the benchmarks: widgets of two kilobytes, written, listed and watched."""

from __future__ import annotations

import asyncio
import time

from benches.load import Target
from benches.process import cpu
from polykind.benchmark.workload import CRDS, GROUP, definition, widget

__all__ = ["CRDS", "GROUP", "WATCHERS", "WIDGETS", "definition", "widget"]

WIDGETS = f"/apis/{GROUP}/v1/namespaces/default/widgets"
WATCHERS = 300


async def first(target: Target) -> bytes:
    """Return the first object's bytes as the server returns them."""
    async with target.client() as client:
        return (await client.call("GET", f"{WIDGETS}/w000000")).body


async def newest(target: Target) -> str:
    """Return the resourceVersion to watch from, so that the watch replays nothing."""
    async with target.client() as client:
        found: str = (await client.call("GET", f"{WIDGETS}?limit=1")).json()["metadata"]["resourceVersion"]
        return found


def patches(count: int) -> list[tuple[str, str, bytes, str]]:
    """Yield requests that each change the first object a little."""
    body, kind = b'{"metadata":{"labels":{"tick":"%d"}}}', "application/merge-patch+json"
    return [("PATCH", f"{WIDGETS}/w000000", body % i, kind) for i in range(count)]


async def prepare(target: Target, objects: int) -> float:
    """Create the resource and its objects over 16 connections. Return the seconds that the creates took."""
    async with target.client() as client:
        reply = await client.call("POST", CRDS, definition())
        assert reply.status in (201, 409), reply.body
        for _ in range(2000):
            if (await client.call("GET", WIDGETS)).status == 200:
                break
            await asyncio.sleep(0.01)
    names = iter(range(objects))

    async def fill() -> None:
        async with target.client() as client:
            for i in names:
                reply = await client.call("POST", WIDGETS, widget(f"w{i:06d}"))
                assert reply.status in (201, 409), reply.body

    begin = time.perf_counter()
    await asyncio.gather(*(fill() for _ in range(16)))
    return time.perf_counter() - begin


async def listed(target: Target, path: str, times: int = 5) -> tuple[float, float, bytes]:
    """Return the best seconds and CPU seconds of one LIST, and its body."""
    best, body = 1e9, b""
    async with target.client() as client:
        before = cpu(target.pid)
        for _ in range(times):
            begin = time.perf_counter()
            body = (await client.call("GET", path)).body
            best = min(best, time.perf_counter() - begin)
    return best, (cpu(target.pid) - before) / times, body


async def fan_out(target: Target, watch: str, events: list[tuple[str, str, bytes, str]]) -> float:
    """Return the server's CPU microseconds for the delivery of one event to one of many TLS watchers."""
    ready, heard = asyncio.Semaphore(0), 0
    done = asyncio.Event()

    async def follow() -> None:
        nonlocal heard
        async with target.client() as client:
            status, _ = await client.send("GET", watch)
            assert status == 200
            ready.release()
            async for chunk in client.chunks():
                heard += chunk.count(b"\n")
                if heard >= WATCHERS * len(events):
                    done.set()

    tasks = [asyncio.create_task(follow()) for _ in range(WATCHERS)]
    for _ in tasks:
        await ready.acquire()
    async with target.client() as client:
        before = cpu(target.pid)
        for method, path, body, kind in events:
            reply = await client.call(method, path, body, kind)
            assert reply.status == 200, reply.body
        await asyncio.wait_for(done.wait(), 60)
        spent = cpu(target.pid) - before
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    return spent / (WATCHERS * len(events)) * 1e6
