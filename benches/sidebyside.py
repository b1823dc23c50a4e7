"""The same workloads against several running servers in turn, and the ratios between the first two.

python -m benches.sidebyside [--objects N] NAME=URL,TOKEN,PID [NAME=...]
"""

from __future__ import annotations

import argparse
import json
import shutil
import time

import uvloop

from benches import load
from benches.load import Target
from benches.process import cpu, rss
from benches.widgets import CRDS, WIDGETS, definition, fan_out, listed, newest, patches, prepare, widget

Figures = dict[str, float]
MORE_CRDS = 100


def named(text: str) -> tuple[str, Target]:
    name, _, rest = text.partition("=")
    url, token, pid = rest.split(",")
    return name, Target(url, token, int(pid))


async def define_more(target: Target) -> None:
    """Create CRDs over one connection."""
    async with target.client() as client:
        for number in range(MORE_CRDS):
            crd = definition(f"thing{number}s")
            assert (await client.call("POST", CRDS, crd)).status in (201, 409)


def measure(target: Target, objects: int) -> Figures:
    """Measure one server.

    Rates should be high. Microseconds, milliseconds and megabytes are the server's own and should be low.
    """
    out: Figures = {"rss idle MB": rss(target.pid) / 1e6}
    before = cpu(target.pid)
    out["create /s"] = objects / uvloop.run(prepare(target, objects))
    out["create cpu us"] = (cpu(target.pid) - before) / objects * 1e6
    out["rss filled MB"] = rss(target.pid) / 1e6
    for what, path in (("get", WIDGETS), ("get other version", WIDGETS.replace("/v1/", "/v2/"))):
        got = load.get(target, f"{path}/w000001")
        out |= {f"{what} /s": got.rate, f"{what} cpu us": got.cpu_us}
    made = load.create(target, WIDGETS, json.dumps(widget("NAME")))
    out |= {"create under load /s": made.rate, "create under load cpu us": made.cpu_us}
    if shutil.which("wrk"):
        template = json.dumps(widget("NAME"))
        for what, script in (("merge patch", load.MERGE_PATCH), ("update", load.UPDATE), ("apply", load.APPLY)):
            changed = load.change(target, WIDGETS, script, template)
            out |= {f"{what} /s": changed.rate, f"{what} cpu us": changed.cpu_us}
    for what, path in (("list", WIDGETS), ("list other version", WIDGETS.replace("/v1/", "/v2/"))):
        seconds, spent, _ = uvloop.run(listed(target, path))
        out |= {f"{what} ms": seconds * 1e3, f"{what} cpu ms": spent * 1e3}
    path = f"{WIDGETS}?watch=1&resourceVersion={uvloop.run(newest(target))}"
    out["event to a watcher cpu us"] = uvloop.run(fan_out(target, path, patches(40)))
    before, begin = cpu(target.pid), time.perf_counter()
    uvloop.run(define_more(target))
    out["CRD create /s"] = MORE_CRDS / (time.perf_counter() - begin)
    out["CRD create cpu us"] = (cpu(target.pid) - before) / MORE_CRDS * 1e6
    out["rss end MB"] = rss(target.pid) / 1e6
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", nargs="+", type=named, metavar="NAME=URL,TOKEN,PID")
    parser.add_argument("--objects", type=int, default=5000)
    args = parser.parse_args()
    results = [(name, measure(target, args.objects)) for name, target in args.targets]
    for what in results[0][1]:
        row = [figures[what] for _, figures in results]
        ratio = f"{row[0] / row[1]:8.2f}x" if len(row) > 1 and row[1] else ""
        print(f"{what:28}", *(f"{value:12.1f}" for value in row), ratio)


if __name__ == "__main__":
    main()
