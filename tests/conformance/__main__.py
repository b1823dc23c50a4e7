"""Replay recorded API conversations against a server and print where its responses differ.

  python -m tests.conformance [-j N] [-v] [AREA or SCENARIO ...]              against a server started for the run
  python -m tests.conformance --http2 [...]                                  over HTTP/2
  python -m tests.conformance --server URL --token T [...]                   against a running server
  python -m tests.conformance record --server URL --token T [SCENARIO ...]   save its responses as the recording

Record kube-apiserver only, never this project's own server.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from tests.conformance.client import Server
from tests.conformance.grades import by_area, check_all, details, table
from tests.conformance.http2_client import Http2Server
from tests.conformance.scenario import Scenario
from tests.support.server import ServerProcess

SCENARIOS = Path(__file__).parent / "scenarios"
FLAGS = ("--conversion-cache=false", "--garbage-collector=false")
"""The recordings count the calls of a server that caches no conversions and runs no garbage collector."""
BUILTIN_FLAGS = (
    *FLAGS,
    "--authorization-mode=RBAC",
    "--service-cluster-ip-range=10.0.0.0/24",
    "--disable-admission-plugins=ServiceAccount",
    "--quota-controller=false",
    "--runtime-config=api/beta=false",
)
"""The areas `builtin-*` were recorded with these flags. kube-apiserver serves no beta versions by default."""
OTHER_FLAGS = (*FLAGS, "--authorization-mode=AlwaysAllow", "--runtime-config=storagemigration.k8s.io/v1=false")
"""The other areas were recorded without RBAC, and before Kubernetes 1.37 added this version."""


class Servers(NamedTuple):
    """The servers under test: one for the areas `builtin-*`, one for the others."""

    builtin: Server
    other: Server

    def of(self, path: Path) -> Server:
        return self.builtin if path.parent.name.startswith("builtin-") else self.other


def paths(wanted: list[str]) -> list[Path]:
    """Return the scenario files for areas, scenario names (area/name), files or folders.

    Return all of them if none is named.
    """
    out: list[Path] = []
    for one in wanted or [str(SCENARIOS)]:
        place = next((p for p in (SCENARIOS / one, SCENARIOS / f"{one}.yaml", Path(one)) if p.exists()), None)
        if place is None:
            raise SystemExit(f"no such area or scenario: {one}")
        out += sorted(place.rglob("*.yaml")) if place.is_dir() else [place]
    return out


@contextmanager
def target(url: str, token: str, client: type[Server] = Server) -> Iterator[Servers]:
    if url:
        yield Servers(client(url, token), client(url, token))
        return
    with (
        tempfile.TemporaryDirectory(prefix="conformance-") as folder,
        ServerProcess(Path(folder) / "builtin", *BUILTIN_FLAGS) as builtin,
        ServerProcess(Path(folder) / "other", *OTHER_FLAGS) as other,
    ):
        yield Servers(client(builtin.url, builtin.token), client(other.url, other.token))


def record(scenarios: list[Scenario]) -> None:
    for scenario in scenarios:
        scenario.recording.write_text(json.dumps(scenario.run(), indent=1, sort_keys=True) + "\n")
        print(f"recorded {scenario.name}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wanted", nargs="*", help="areas or scenarios; `record` first writes recordings")
    parser.add_argument("--server", default="")
    parser.add_argument("--token", default="")
    parser.add_argument("-j", type=int, default=6, help="scenarios at a time")
    parser.add_argument("-v", action="store_true", help="show every difference")
    parser.add_argument("--http2", action="store_true", help="send the requests over HTTP/2")
    parser.add_argument("--json", type=Path, help="write the grades here")
    args = parser.parse_intermixed_args()
    recording = args.wanted[:1] == ["record"]
    if recording and not args.server:
        parser.error("record needs --server with the address of kube-apiserver")
    with target(args.server, args.token, Http2Server if args.http2 else Server) as servers:
        settle = 0.3 if recording else 0.0
        scenarios = [Scenario(p, servers.of(p), settle=settle) for p in paths(args.wanted[recording:])]
        if recording:
            record(scenarios)
            return 0
        reports = []
        for report in check_all(scenarios, args.j):
            reports.append(report)
            print("\n".join(details(report, verbose=args.v)), flush=True)
    areas = by_area(reports)
    print("\n" + table(areas))
    if args.json:
        args.json.write_text(json.dumps(areas, indent=1) + "\n")
    return 0 if all(report.worst == "exact" for report in reports) else 1


if __name__ == "__main__":
    sys.exit(main())
