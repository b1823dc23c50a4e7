"""Measure the cost of a server per test, for several methods: `python -m tests.testing.measure`."""

from __future__ import annotations

import json
import os
import platform
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from polykind.contract import JsonObject
from polykind.testing import ApiServer, Factory
from tests.support.server import ServerProcess
from tests.testing.crontabs import DEFINITION, crontab

ROUNDS = 15
CLUSTER = "/apis/stable.example.com/v1"


def crds(count: int) -> list[JsonObject]:
    """Return CronTab CRDs that differ only in their names."""
    text = json.dumps(DEFINITION)
    others = (text.replace("crontabs", f"crontab{n}s").replace("CronTab", f"CronTab{n}") for n in range(1, count))
    return [DEFINITION, *map(json.loads, others)]


def median(once: Callable[[], None], rounds: int = ROUNDS) -> float:
    once()
    took = []
    for _ in range(rounds):
        began = time.perf_counter()
        once()
        took.append(time.perf_counter() - began)
    return statistics.median(took) * 1000


def emptied(server: ApiServer) -> None:
    """Delete all objects of a test through the API, but keep the CRDs."""
    server.apply(crontab())
    for resource in server.request("GET", CLUSTER)["resources"]:
        if "/" not in resource["name"]:
            server.request("DELETE", f"{CLUSTER}/namespaces/default/{resource['name']}")
    server.wait_for(crontab(), "delete")


def measured(factory: Factory, folder: Path, crds: list[JsonObject]) -> list[tuple[str, float]]:
    def own() -> None:
        with factory.serve(crds=crds):
            pass

    def anew() -> None:
        with factory.serve() as server:
            server.apply(*crds)

    def process() -> None:
        shutil.rmtree(folder / "process", ignore_errors=True)
        with ServerProcess(folder / "process"):
            pass

    out = [("a server of its own, from a checkpoint (`polykind`)", median(own))]
    with factory.serve(crds=crds) as shared:
        out.append(("one server, `rollback()` between tests", median(shared.rollback)))
        out.append(("one server, objects deleted through the API, definitions kept", median(lambda: emptied(shared))))
    out.append(("a server of its own, definitions applied anew", median(anew)))
    out.append(("a process of its own (`polykind serve`), without any definition", median(process, 3)))
    return out


def main() -> None:
    folder = Path(tempfile.mkdtemp())
    factory = Factory(folder / "servers", folder)
    try:
        few, many = measured(factory, folder, crds(1)), measured(factory, folder, crds(20))
    finally:
        factory.close()
        shutil.rmtree(folder)
    print(f"{os.cpu_count()} CPUs, Python {platform.python_version()}, median of {ROUNDS}\n")
    print("| way | 1 definition | 20 definitions |\n|---|---|---|")
    for (way, first), (_, second) in zip(few, many, strict=True):
        print(f"| {way} | {first:.0f} ms | {second:.0f} ms |")


if __name__ == "__main__":
    main()
