"""The same workloads against several running servers in turn, and the ratios between the first two.

python -m benches.sidebyside [--objects N] NAME=URL,TOKEN,PID [NAME=...]
"""

from __future__ import annotations

import argparse
import json

import uvloop

from benches import load
from benches.load import Target
from benches.process import cpu, rss
from benches.widgets import WIDGETS, fan_out, listed, newest, patches, prepare, widget

Figures = dict[str, float]


def named(text: str) -> tuple[str, Target]:
    name, _, rest = text.partition("=")
    url, token, pid = rest.split(",")
    return name, Target(url, token, int(pid))


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
    for what, path in (("list", WIDGETS), ("list other version", WIDGETS.replace("/v1/", "/v2/"))):
        seconds, spent, _ = uvloop.run(listed(target, path))
        out |= {f"{what} ms": seconds * 1e3, f"{what} cpu ms": spent * 1e3}
    path = f"{WIDGETS}?watch=1&resourceVersion={uvloop.run(newest(target))}"
    out["event to a watcher cpu us"] = uvloop.run(fan_out(target, path, patches(40)))
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
