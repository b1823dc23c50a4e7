"""The server relative to ceilings measured in the same run. Only the ratios are meaningful.

python -m benches.server_ratios [objects]
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import uvloop

from benches import load
from benches.load import Target
from benches.process import rss
from benches.widgets import GROUP, WATCHERS, WIDGETS, fan_out, first, listed, newest, patches, prepare, widget
from polykind.store.sqlite import SqliteStore
from tests.support.server import ServerProcess

IMPORTS = "import uvloop, httptools, orjson, msgspec, apsw, re2, yaml, cryptography.x509, ssl, logging, argparse"
EVENTS = 40
TURNS = 3


def show(what: str, ours: str, ceiling: str, ratio: float) -> None:
    print(f"{what:34} {ours:>22}   ceiling {ceiling:>22}   {ratio:6.2f}", flush=True)


async def store_alone(folder: Path, value: bytes) -> float:
    """Return durable writes per second of the store alone."""
    store = SqliteStore(folder)
    await store.start()
    rate = await load.writers(lambda name: store.put(f"/registry/{GROUP}/widgets/default/{name}", value, expect=0))
    await store.close()
    return rate


@contextmanager
def bare(server: ServerProcess, folder: Path, body: bytes) -> Iterator[Target]:
    """Start the ceiling server with the certificate of the real one."""
    file = folder / "body"
    file.write_bytes(body)
    pki = server.data_dir / "pki"
    certificate = next(p for p in sorted(pki.glob("*.crt")) if "ca" not in p.stem)
    command = [sys.executable, "-m", "benches.bare_server", str(certificate), str(certificate.with_suffix(".key"))]
    process = subprocess.Popen([*command, str(file), str(folder / "bare")], stdout=subprocess.PIPE)
    assert process.stdout is not None
    try:
        yield Target(f"https://127.0.0.1:{int(process.stdout.readline())}", "none", process.pid)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def start_up(server: ServerProcess) -> tuple[float, int]:
    """Return the seconds until the server is ready, best of three, and its idle memory."""
    best, idle = 1e9, 0
    for _ in range(3):
        begin = time.perf_counter()
        server.start()
        best = min(best, time.perf_counter() - begin)
        idle = rss(server.pid)
        server.stop()
    return best, idle


def imports_alone() -> tuple[float, int]:
    """Return the seconds and bytes of an interpreter that only imports the dependencies."""
    code = f"{IMPORTS}\nfrom benches.process import rss; import os; print(rss(os.getpid()))"
    best, size = 1e9, 0
    for _ in range(3):
        begin = time.perf_counter()
        size = int(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout)
        best = min(best, time.perf_counter() - begin)
    return best, size


def measure(folder: Path, objects: int) -> None:
    server = ServerProcess(folder / "data")
    ready, idle = start_up(server)
    floor, floor_size = imports_alone()
    show("ready (ms), imports alone", f"{ready * 1e3:.0f}", f"{floor * 1e3:.0f}", ready / floor)
    show("RSS idle (MB), imports alone", f"{idle / 1e6:.1f}", f"{floor_size / 1e6:.1f}", idle / floor_size)
    with server:
        target = Target(server.url, server.token, server.pid)
        idle = rss(target.pid)
        uvloop.run(prepare(target, objects))
        one = uvloop.run(first(target))
        stored = len(one) * objects
        grown = rss(target.pid) - idle
        show("RSS per stored byte", f"{grown / 1e6:.1f} MB", f"{stored / 1e6:.1f} MB", grown / stored)
        with bare(server, folder, one) as ceiling:
            one_of = f"{WIDGETS}/w000001"
            turns = [
                (load.get(ceiling, "/"), load.get(target, one_of), load.get(target, one_of.replace("/v1/", "/v2/")))
                for _ in range(TURNS)
            ]
            top, got, other = (sorted(loads)[TURNS // 2] for loads in zip(*turns, strict=True))
            show("GET /s", f"{got.rate:.0f}", f"{top.rate:.0f}", got.rate / top.rate)
            show("GET CPU us", f"{got.cpu_us:.1f}", f"{top.cpu_us:.1f}", got.cpu_us / top.cpu_us)
            show("GET other version CPU us", f"{other.cpu_us:.1f}", f"{top.cpu_us:.1f}", other.cpu_us / top.cpu_us)
            watch_server(target, ceiling, one)
        seconds, spent, body = uvloop.run(listed(target, WIDGETS))
        with bare(server, folder, body) as ceiling:
            top_seconds, top_spent, _ = uvloop.run(listed(ceiling, "/"))
        show(f"LIST {objects} ms", f"{seconds * 1e3:.1f}", f"{top_seconds * 1e3:.1f}", seconds / top_seconds)
        show(f"LIST {objects} CPU ms", f"{spent * 1e3:.1f}", f"{top_spent * 1e3:.1f}", spent / (top_spent or 0.01))
        create_ratios(target, server, folder, one)


def create_ratios(target: Target, server: ServerProcess, folder: Path, one: bytes) -> None:
    """Compare creates with the store alone and with a handler that only stores.

    The store alone parses no requests. The handler shows how much of the difference is HTTP. All three alternate
    and the median of each counts, because the machine's other load varies.
    """
    body = json.dumps(widget("NAME"))
    made, stored, alone = [], [], []
    with bare(server, folder, one) as ceiling:
        for turn in range(TURNS):
            made.append(load.create(target, WIDGETS, body.replace("NAME", f"t{turn}-NAME")).rate)
            stored.append(load.create(ceiling, "/?store", body).rate)
            alone.append(uvloop.run(store_alone(folder / f"alone{turn}", one)))
    rate, handler, store = (sorted(rates)[TURNS // 2] for rates in (made, stored, alone))
    show("durable creates /s, 16 at once", f"{rate:.0f}", f"{store:.0f}", rate / store)
    show("the same, by a handler that stores", f"{rate:.0f}", f"{handler:.0f}", rate / handler)


def watch_server(target: Target, ceiling: Target, one: bytes) -> None:
    event = b'{"type":"MODIFIED","object":' + one.rstrip() + b"}\n"
    pushes = [("POST", "/", event, "application/json")] * EVENTS
    bytes_alone = uvloop.run(fan_out(ceiling, "/?watch=1", pushes))
    path = f"{WIDGETS}?watch=1&resourceVersion={uvloop.run(newest(target))}"
    ours = uvloop.run(fan_out(target, path, patches(EVENTS)))
    show(f"event to {WATCHERS} TLS watchers CPU us", f"{ours:.1f}", f"{bytes_alone:.1f}", ours / bytes_alone)


def main() -> None:
    objects = int(sys.argv[1]) if len(sys.argv) > 1 else 5000
    print(f"$ python -m benches.server_ratios {objects}")
    tool = "wrk" if shutil.which("wrk") else "our own clients"
    print(f"{platform.machine()}, {os.cpu_count()} CPUs, Python {platform.python_version()}, load by {tool}")
    with tempfile.TemporaryDirectory(dir=".") as folder:
        measure(Path(folder), objects)


if __name__ == "__main__":
    main()
