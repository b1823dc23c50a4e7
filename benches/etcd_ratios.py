"""The server on etcd relative to etcd itself and to the same server on the embedded store.

python -m benches.etcd_ratios [objects]
"""

from __future__ import annotations

import json
import os
import platform
import sys
import tempfile
import time
from pathlib import Path

import uvloop

from benches import load
from benches.load import Target
from benches.server_ratios import show
from benches.widgets import GROUP, WIDGETS, first, listed, prepare, widget
from polykind.store.etcd import EtcdAccess, rpc_messages
from polykind.store.etcd.etcd_client import EtcdClient
from tests.support.etcd import Etcd, etcd
from tests.support.server import ServerProcess

ROUNDS = 3


async def bare(cluster: Etcd, value: bytes) -> float:
    """Return transactions per second of the store's own etcd client, without a server."""
    client = EtcdClient(EtcdAccess(cluster.urls))

    async def write(name: str) -> None:
        key = f"/bare/{GROUP}/widgets/default/{time.time_ns()}-{name}".encode()
        answer = rpc_messages.parse_txn(await client.write(rpc_messages.TXN, rpc_messages.put_request(key, value, 0)))
        assert answer.succeeded

    rate = await load.writers(write)
    await client.close()
    return rate


def measure(folder: Path, objects: int) -> None:
    with (
        etcd(folder / "etcd") as cluster,
        ServerProcess(folder / "one", f"--etcd-servers={cluster.servers}") as distributed,
        ServerProcess(folder / "two") as embedded,
    ):
        ours, other = (Target(s.url, s.token, s.pid) for s in (distributed, embedded))
        for target in (ours, other):
            uvloop.run(prepare(target, objects))
        one = uvloop.run(first(ours))
        for connections in (16, 64):
            gets = [
                (
                    load.get(ours, f"{WIDGETS}/w000001", connections=connections).rate,
                    load.get(other, f"{WIDGETS}/w000001", connections=connections).rate,
                )
                for _ in range(ROUNDS)
            ]
            mine, theirs = (sorted(column)[ROUNDS // 2] for column in zip(*gets, strict=True))
            show(f"GET /s, {connections} at once, on SQLite", f"{mine:.0f}", f"{theirs:.0f}", mine / theirs)
        lists = [(uvloop.run(listed(ours, WIDGETS))[0], uvloop.run(listed(other, WIDGETS))[0]) for _ in range(ROUNDS)]
        mine, theirs = (sorted(1 / seconds for seconds in column)[ROUNDS // 2] for column in zip(*lists, strict=True))
        show(f"LIST {objects} /s, on SQLite", f"{mine:.1f}", f"{theirs:.1f}", mine / theirs)
        page = f"{WIDGETS}?limit=10"
        mine, theirs = load.get(ours, page).rate, load.get(other, page).rate
        show("LIST 10 /s, 16 at once, on SQLite", f"{mine:.0f}", f"{theirs:.0f}", mine / theirs)
        made = load.create(ours, WIDGETS, json.dumps(widget("NAME")))
        alone = uvloop.run(bare(cluster, one))
        show("creates /s, 16 at once, bare etcd", f"{made.rate:.0f}", f"{alone:.0f}", made.rate / alone)


def main() -> None:
    objects = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    print(f"$ python -m benches.etcd_ratios {objects}")
    print(f"{platform.machine()}, {os.cpu_count()} CPUs, Python {platform.python_version()}")
    with tempfile.TemporaryDirectory(dir=".") as folder:
        measure(Path(folder), objects)


if __name__ == "__main__":
    main()
