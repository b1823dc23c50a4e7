"""Many objects: restart, first list, memory, selections, watches with selectors, large responses.

python -m benches.scale [objects]
"""

from __future__ import annotations

import asyncio
import json
import os
import platform
import sys
import tempfile
import time
import uuid
from pathlib import Path
from statistics import median

import uvloop

from benches.load import Target
from benches.process import cpu, rss
from benches.server_ratios import bare
from benches.widgets import GROUP, WIDGETS, patches, prepare
from polykind.store.sqlite import SqliteStore
from tests.support.client import Client
from tests.support.server import ServerProcess

ALL = f"/apis/{GROUP}/v1/widgets"
APPS = 1000
"""The number of values of the label `app`. A selection of one value finds one object in a thousand."""
WATCHES = 1000
READ_AHEAD_SECONDS = 3.0
"""The time after which the server has begun to load its objects without a request for them."""
EVENTS = 500
"""The CPU time is counted in steps of 10 ms, so few events would give a rough figure."""


def show(what: str, ours: str, ceiling: str, ratio: float, goal: str) -> None:
    print(f"{what:46} {ours:>14}   ceiling {ceiling:>14}   {ratio:8.2f}   goal {goal}", flush=True)


async def fill(folder: Path, count: int) -> int:
    """Write copies of the first object into the store, as the server would write them. Return their size."""
    store = SqliteStore(folder)
    await store.start()
    first = await store.get(f"/registry/{GROUP}/widgets/default/w000000")
    assert first is not None
    obj, size = json.loads(first.value), 0
    for start in range(1, count, 512):
        writes = []
        for number in range(start, min(start + 512, count)):
            name = f"w{number:06d}"
            labels = {"app": f"app{number % APPS}"}
            obj["metadata"] |= {"name": name, "uid": str(uuid.uuid4()), "labels": labels}
            value = json.dumps(obj, sort_keys=True, separators=(",", ":")).encode()
            size += len(value)
            writes.append(store.put(f"/registry/{GROUP}/widgets/default/{name}", value, expect=0))
        await asyncio.gather(*writes)
    await store.close()
    return size


async def read(client: Client, path: str, *, encoding: str = "") -> tuple[float, float, int]:
    """Read a response without keeping it. Return the seconds until its first bytes and its last, and its length."""
    client.headers = (f"Accept-Encoding: {encoding}",) if encoding else ()
    begin = time.perf_counter()
    status, headers = await client.send("GET", path)
    assert status == 200
    first, length = time.perf_counter() - begin, 0
    if headers.get(b"transfer-encoding") == b"chunked":
        async for chunk in client.chunks():
            length += len(chunk)
    else:
        reader, _ = await client.connect()
        while length < int(headers[b"content-length"]):
            length += len(await reader.read(2**20))
    return first, time.perf_counter() - begin, length


async def read_measured(target: Target, path: str, *, encoding: str = "") -> tuple[float, float, float, int]:
    """Return the seconds until the first and the last byte, the server's CPU seconds, and the length."""
    async with target.client() as client:
        await client.call("GET", "/version")
        before = cpu(target.pid)
        first, last, length = await read(client, path, encoding=encoding)
        return first, last, cpu(target.pid) - before, length


async def wait_for_read_ahead(target: Target) -> None:
    """Wait until the server has loaded its objects without a request for them."""
    await asyncio.sleep(READ_AHEAD_SECONDS)
    async with target.client() as client:
        for _ in range(1000):
            if b"loading" not in (await client.call("GET", "/readyz?verbose")).body:
                break
            await asyncio.sleep(0.5)


async def load_all(target: Target) -> None:
    """List all objects. Repeat the request if it times out, because the server continues to load them."""
    status = 504
    while status == 504:
        async with target.client() as client:
            status = (await client.call("GET", f"{ALL}?limit=1")).status
    async with target.client() as client:
        await read(client, ALL)


async def select(target: Target, path: str, times: int = 30) -> tuple[float, bytes]:
    """Return the median seconds of a request, after a first one that is not counted, and the body."""
    async with target.client() as client:
        body, taken = (await client.call("GET", path)).body, []
        for _ in range(times):
            begin = time.perf_counter()
            body = (await client.call("GET", path)).body
            taken.append(time.perf_counter() - begin)
    return median(taken), body


async def patch_cpu(target: Target, watches: int) -> float:
    """Return the CPU microseconds of a patch while clients watch labels that the object does not have."""
    ready = asyncio.Semaphore(0)

    async def watch(number: int) -> None:
        async with target.client() as client:
            await client.send("GET", f"{WIDGETS}?watch=1&resourceVersion=0&labelSelector=app%3Dno{number}")
            ready.release()
            async for _ in client.chunks():
                raise AssertionError("an event for an object that is not selected")

    tasks = [asyncio.create_task(watch(number)) for number in range(watches)]
    for _ in tasks:
        await ready.acquire()
    async with target.client() as client:
        before = cpu(target.pid)
        for method, path, body, kind in patches(EVENTS):
            assert (await client.call(method, path, body, kind)).status == 200
        spent = cpu(target.pid) - before
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    return spent / EVENTS * 1e6


def ready_seconds(server: ServerProcess) -> float:
    begin = time.perf_counter()
    server.start()
    return time.perf_counter() - begin


def measure(folder: Path, count: int) -> None:
    # A million objects may take longer to load than the default timeout, if the machine has other load.
    server = ServerProcess(folder / "data", "--request-timeout=10m")
    with server:
        uvloop.run(prepare(Target(server.url, server.token, server.pid), 1))
    empty = ready_seconds(server)
    idle = rss(server.pid)
    server.stop()
    size = uvloop.run(fill(server.data_dir, count))
    print(f"{count} objects, {size / count:.0f} bytes each")
    full = ready_seconds(server)
    show("ready (ms), without objects", f"{full * 1e3:.0f}", f"{empty * 1e3:.0f}", full / empty, "< 1000 ms")
    unknown = Target(server.url, server.token, server.pid)
    before = cpu(unknown.pid)
    uvloop.run(load_all(unknown))
    with_unknown = cpu(unknown.pid) - before
    server.stop()
    with server:
        target = Target(server.url, server.token, server.pid)
        uvloop.run(wait_for_read_ahead(target))
        _, ahead, ahead_cpu, _ = uvloop.run(read_measured(target, ALL))
    with server:
        target = Target(server.url, server.token, server.pid)
        _, cold, cold_cpu, length = uvloop.run(read_measured(target, ALL))
        kept = rss(target.pid) - idle
        warm = [uvloop.run(read_measured(target, ALL)) for _ in range(3)]
        first, last, spent = (min(column) for column in list(zip(*warm, strict=True))[:3])
        show("first list (s), after read-ahead", f"{ahead:.2f}", f"{last:.2f}", ahead / last, "<= 2")
        show("first list after read-ahead, CPU (s)", f"{ahead_cpu:.2f}", f"{spent:.2f}", ahead_cpu / spent, "")
        show("first list (s), at once", f"{cold:.2f}", f"{last:.2f}", cold / last, "")
        show("first list at once, CPU (s)", f"{cold_cpu:.2f}", f"{spent:.2f}", cold_cpu / spent, "")
        show("the same without a marker, CPU", f"{with_unknown:.2f}", f"{spent:.2f}", with_unknown / spent, "")
        show("RSS per stored byte", f"{kept / 1e6:.0f} MB", f"{size / 1e6:.0f} MB", kept / size, "<= 1.3")
        show("first byte of a list (ms), 50 ms", f"{first * 1e3:.1f}", "50", first / 0.05, "<= 1")
        before = rss(target.pid)
        first, _, _, compressed = uvloop.run(read_measured(target, ALL, encoding="gzip"))
        grown = max(rss(target.pid) - before, 0)
        show("first byte of a gzip list (ms), 50 ms", f"{first * 1e3:.1f}", "50", first / 0.05, "<= 1")
        show("RSS growth of a gzip list, its body", f"{grown / 1e6:.1f} MB", f"{compressed / 1e6:.1f} MB",
             grown / compressed, "< 100 MB")  # fmt: skip
        chosen, body = uvloop.run(select(target, f"{ALL}?labelSelector=app%3Dapp7"))
        some, _ = uvloop.run(select(target, f"{ALL}?labelSelector=app+in+(app7,app8)"))
        with bare(server, folder, body) as ceiling:
            static, _ = uvloop.run(select(ceiling, "/"))
        show("label = value, 1 in 1,000 (ms), static bytes", f"{chosen * 1e3:.2f}", f"{static * 1e3:.2f}",
             chosen / static, "< 5 ms")  # fmt: skip
        show("label in two values (ms), static bytes", f"{some * 1e3:.2f}", f"{static * 1e3:.2f}", some / static, "")
        # Alternate, because other load on the machine changes the CPU time of the same work.
        runs = [[uvloop.run(patch_cpu(target, watches)) for watches in (0, WATCHES)] for _ in range(3)]
        alone, watched = (min(column) for column in zip(*runs, strict=True))
        show(
            f"patch CPU us, {WATCHES} unconcerned watches", f"{watched:.0f}", f"{alone:.0f}", watched / alone, "<= 1.2"
        )
    assert length > size


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 200_000
    print(f"$ python -m benches.scale {count}")
    load = " ".join(f"{part:.1f}" for part in os.getloadavg())
    print(f"{platform.machine()}, {os.cpu_count()} CPUs, Python {platform.python_version()}, load average {load}")
    with tempfile.TemporaryDirectory(dir=".") as folder:
        measure(Path(folder), count)


if __name__ == "__main__":
    main()
