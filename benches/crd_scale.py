"""A thousand CRDs with 50 fields and two versions: creation, discovery, memory, restart.

python -m benches.crd_scale [crds] [groups]
"""

from __future__ import annotations

import asyncio
import os
import platform
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import orjson
import uvloop

from benches.load import Target
from benches.process import cpu, rss
from benches.server_ratios import bare
from benches.widgets import CRDS
from tests.support.client import Client, Reply
from tests.support.server import ServerProcess

FIELDS, CONNECTIONS = 50, 4
WARM_UP, MORE = 10, 40
KUBE_APISERVER = 20.0
"""CRDs per second that kube-apiserver creates on a machine of this class."""
AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
TYPES: tuple[dict[str, Any], ...] = (
    {"type": "string", "maxLength": 256},
    {"type": "integer", "minimum": 0, "maximum": 1000},
    {"type": "boolean", "default": False},
    {"type": "array", "items": {"type": "string"}, "maxItems": 16},
    {"type": "object", "additionalProperties": {"type": "string"}},
)


def schema(kind: str, version: str) -> dict[str, Any]:
    """Return a schema that differs from all others, so that sharing cannot help."""
    fields = {
        f"field{i}": {"description": f"What field {i} of a {kind} is good for at {version}.", **TYPES[i % len(TYPES)]}
        for i in range(FIELDS)
    }
    status = {"type": "object", "properties": {"ready": {"type": "boolean"}}}
    return {"type": "object", "properties": {"spec": {"type": "object", "properties": fields}, "status": status}}


def crd(number: int, groups: int) -> dict[str, Any]:
    group, plural, kind = f"g{number % groups}.example.com", f"things{number}", f"Thing{number}"
    columns = [{"name": "Ready", "type": "boolean", "jsonPath": ".status.ready"}]
    common = {"served": True, "subresources": {"status": {}}, "additionalPrinterColumns": columns}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": plural, "singular": kind.lower(), "kind": kind},
            "versions": [
                {"name": name, "storage": name == "v1", "schema": {"openAPIV3Schema": schema(kind, name)}} | common
                for name in ("v1", "v2")
            ],
        },
    }


def show(what: str, ours: str, other: str, ratio: float, goal: str) -> None:
    print(f"{what:34} {ours:>16}   against {other:>18}   {ratio:7.2f}   goal {goal}", flush=True)


class Created(NamedTuple):
    seconds: float
    """Includes the lists."""
    cpu: float
    late: int
    """The number of CRDs that were not served when their create returned."""


async def create(target: Target, numbers: range, groups: int) -> Created:
    """Create CRDs over a few connections. After each response, list the CRD's objects."""
    bodies = {number: orjson.dumps(crd(number, groups)) for number in numbers}
    remaining, late = iter(numbers), 0

    async def work() -> None:
        nonlocal late
        async with target.client() as client:
            for number in remaining:
                reply = await client.call("POST", CRDS, bodies[number])
                assert reply.status == 201, reply.body
                version = "v1" if number % 2 else "v2"
                listed = await client.call("GET", f"/apis/g{number % groups}.example.com/{version}/things{number}")
                late += listed.status != 200

    before, begin = cpu(target.pid), time.perf_counter()
    await asyncio.gather(*(work() for _ in range(CONNECTIONS)))
    return Created(time.perf_counter() - begin, cpu(target.pid) - before, late)


async def discover(client: Client) -> Reply:
    reader, writer = await client.connect()
    head = f"GET /apis HTTP/1.1\r\nHost: it\r\nAuthorization: Bearer {client.token}\r\nAccept: {AGGREGATED}\r\n\r\n"
    writer.write(head.encode())
    lines = (await reader.readuntil(b"\r\n\r\n")).split(b"\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(b":") for line in lines[1:])}
    return Reply(int(lines[0].split()[1]), headers, await reader.readexactly(int(headers[b"content-length"])))


async def discovered(target: Target, times: int = 30) -> tuple[float, float, float, bytes]:
    """Return the seconds of the first and of the best aggregated discovery request, the CPU seconds of one, and the
    body.
    """
    async with target.client() as client:
        await client.call("GET", "/version")
        begin = time.perf_counter()
        body = (await discover(client)).body
        first, best, before = time.perf_counter() - begin, 1e9, cpu(target.pid)
        for _ in range(times):
            begin = time.perf_counter()
            body = (await discover(client)).body
            best = min(best, time.perf_counter() - begin)
        return first, best, (cpu(target.pid) - before) / times, body


def restart(server: ServerProcess, times: int = 3) -> tuple[float, float]:
    """Return the seconds and CPU seconds until the server is ready, the best of several starts."""
    best, spent = 1e9, 1e9
    for _ in range(times):
        begin = time.perf_counter()
        server.start()
        best, spent = min(best, time.perf_counter() - begin), min(spent, cpu(server.pid))
        server.stop()
    return best, spent


def measure(folder: Path, count: int, groups: int) -> None:
    server = ServerProcess(folder / "data")
    with server:
        pass
    empty, empty_cpu = restart(server)
    with server:
        target = Target(server.url, server.token, server.pid)
        idle = rss(target.pid)
        uvloop.run(create(target, range(WARM_UP), groups))
        few = uvloop.run(create(target, range(WARM_UP, WARM_UP + MORE), groups)).cpu / MORE
        begun = WARM_UP + MORE
        made = uvloop.run(create(target, range(begun, count - MORE), groups))
        many = uvloop.run(create(target, range(count - MORE, count), groups)).cpu / MORE
        grown = (rss(target.pid) - idle) / count
        created = count - MORE - begun
        rate, busy = created / made.seconds, created / made.cpu
        show("created /s, reference", f"{rate:.0f}", f"{KUBE_APISERVER:.0f}", rate / KUBE_APISERVER, ">= 10")
        show("created / processor s, reference", f"{busy:.0f}", f"{KUBE_APISERVER:.0f}", busy / KUBE_APISERVER, ">= 10")
        show("served when answered", f"{created - made.late}", f"{created}", (created - made.late) / created, "= 1")
        show(f"one more of {count} CPU ms, of {begun}", f"{many * 1e3:.1f}", f"{few * 1e3:.1f}", many / few, "<= 1.2")
        show("RSS for each, 60 kB", f"{grown / 1e3:.0f} kB", "60 kB", grown / 60e3, "< 1")
        first, best, spent, body = uvloop.run(discovered(target))
        with bare(server, folder, body) as ceiling:
            _, top, top_spent, _ = uvloop.run(discovered(ceiling))
        size = f"ms, {len(body) / 1e6:.1f} MB static"
        show(f"discovery first {size}", f"{first * 1e3:.1f}", f"{top * 1e3:.1f}", first / top, "<= 3")
        show(f"discovery {size}", f"{best * 1e3:.1f}", f"{top * 1e3:.1f}", best / top, "<= 3")
        show("discovery CPU ms", f"{spent * 1e3:.1f}", f"{top_spent * 1e3:.1f}", spent / (top_spent or 1e-3), "<= 3")
    full, full_cpu = restart(server)
    show("restart ms, empty", f"{full * 1e3:.0f}", f"{empty * 1e3:.0f}", full / empty, "<= 10")
    show("restart CPU ms, empty", f"{full_cpu * 1e3:.0f}", f"{empty_cpu * 1e3:.0f}", full_cpu / empty_cpu, "<= 10")
    with server:
        kept = (rss(server.pid) - idle) / count
        show("RSS for each after a restart", f"{kept / 1e3:.0f} kB", "60 kB", kept / 60e3, "< 1")


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    groups = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    print(f"$ python -m benches.crd_scale {count} {groups}")
    load = " ".join(f"{part:.1f}" for part in os.getloadavg())
    print(f"{platform.machine()}, {os.cpu_count()} CPUs, Python {platform.python_version()}, load average {load}")
    print(f"one CRD: {len(orjson.dumps(crd(0, groups)))} bytes of JSON")
    with tempfile.TemporaryDirectory(dir=".") as folder:
        measure(Path(folder), count, groups)


if __name__ == "__main__":
    main()
