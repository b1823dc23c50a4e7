"""`polykind bench`: measures the capacity of a server on this machine, or of a given server."""

from __future__ import annotations

import argparse
import os
import platform
import secrets
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from polykind import __version__

if TYPE_CHECKING:
    from polykind.benchmark.measurements import Capacity

_STOP_SECONDS = 30


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    command = commands.add_parser(
        "bench",
        help="measure the capacity of a server",
        description="Start a server in a new data directory, or use the server of --kubeconfig, and measure requests "
        "per second, latencies, the fan-out of watches, and memory per object and per CRD. Everything that the "
        "command creates is deleted at the end. Exit codes: 0 success; 1 a request failed; 2 invalid usage.",
    )
    flag = command.add_argument
    flag("--kubeconfig", type=Path, metavar="FILE", help="measure this server instead of a new one")
    flag(
        "--data-dir",
        type=Path,
        metavar="DIR",
        help="parent of the new server's data directory, on the disk to measure (default: the current directory)",
    )
    flag("--seconds", type=float, default=3.0, metavar="N", help="duration of each measurement (default: %(default)s)")
    flag("--connections", type=int, default=16, metavar="N", help="concurrent requests (default: %(default)s)")
    flag("--objects", type=int, default=2000, metavar="N", help="stored objects of 2 KB (default: %(default)s)")
    flag("--watchers", type=int, default=100, metavar="N", help="concurrent watches (default: %(default)s)")
    flag("--output", choices=("text", "json"), default="text", help="output format (default: %(default)s)")
    command.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    import uvloop

    from polykind.benchmark.load_client import LoadError
    from polykind.benchmark.measurements import Benchmark, Options
    from polykind.cluster.cluster_access import KubeconfigError, read_kubeconfigs

    if not (0 < args.seconds <= 600 and 1 <= args.connections <= 1000 and 1 <= args.objects <= 1_000_000):
        print("polykind bench: --seconds, --connections and --objects must be positive", file=sys.stderr)
        return 2
    options = Options(args.seconds, args.connections, args.objects, max(0, args.watchers))
    name = f"bench-{secrets.token_hex(3)}"
    try:
        with _server(args) as kubeconfig:
            access = read_kubeconfigs([kubeconfig])
            capacity = uvloop.run(Benchmark(access, options, name, _report_progress).run())
    except (LoadError, OSError) as error:
        print(f"polykind bench: {error}", file=sys.stderr)
        return 1
    except KubeconfigError as error:
        print(f"polykind bench: {error}", file=sys.stderr)
        return 2
    own = args.kubeconfig is None
    print(_json(capacity, options) if args.output == "json" else _text(capacity, own=own), end="")
    return 0


@contextmanager
def _server(args: argparse.Namespace) -> Iterator[Path]:
    """Yield the kubeconfig of the server to measure. Start and stop a server if none is given."""
    if args.kubeconfig is not None:
        yield args.kubeconfig
        return
    with tempfile.TemporaryDirectory(prefix="polykind-bench-", dir=args.data_dir or Path.cwd()) as directory:
        command = [sys.executable, "-m", "polykind", "serve", f"--data-dir={directory}", "--secure-port=0"]
        if getattr(sys, "frozen", False):
            command[1:3] = []
        environment = {name: value for name, value in os.environ.items() if not name.startswith("POLYKIND_")}
        log = Path(directory, "log")
        with log.open("wb") as errors:
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, env=environment)  # noqa: S603
        try:
            assert process.stdout is not None
            if not process.stdout.readline():
                raise OSError(f"the server has not started: {log.read_text(errors='replace')[-500:]}")
            yield Path(directory, "admin.kubeconfig")
        finally:
            process.terminate()
            process.wait(_STOP_SECONDS)
            if process.stdout is not None:
                process.stdout.close()


def _report_progress(text: str) -> None:
    print(f"bench: {text}", file=sys.stderr)


def _machine() -> str:
    return f"{os.cpu_count()} CPUs ({platform.machine()}), Python {platform.python_version()}, Polykind {__version__}"


def _json(capacity: Capacity, options: object) -> str:
    import msgspec

    figures = [figure._asdict() for figure in capacity.figures]
    document = {
        "machine": _machine(),
        "options": options._asdict(),  # type: ignore[attr-defined]
        "figures": figures,
        "bytesPerObject": capacity.bytes_per_object,
        "objectBytes": capacity.object_bytes,
        "bytesPerCrd": capacity.bytes_per_crd,
    }
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode() + "\n"


def _text(capacity: Capacity, *, own: bool) -> str:
    rows = [("MEASUREMENT", "PER SECOND", "P50 MS", "P90 MS", "P99 MS", "SERVER CPU US", "PER CORE")]
    for figure in capacity.figures:
        cpu = figure.cpu_us
        rows.append(
            (
                figure.name,
                f"{figure.rate:,.0f}",
                f"{figure.p50_ms:.2f}",
                f"{figure.p90_ms:.2f}",
                f"{figure.p99_ms:.2f}",
                "-" if cpu is None else f"{cpu:,.0f}",
                "-" if not cpu else f"{1e6 / cpu:,.0f}",
            )
        )
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = [
        "  ".join(cell.ljust(widths[i]) if i == 0 else cell.rjust(widths[i]) for i, cell in enumerate(row))
        for row in rows
    ]
    for text, value in (
        (f"memory per object of {capacity.object_bytes:,} bytes", capacity.bytes_per_object),
        ("memory per CRD", capacity.bytes_per_crd),
    ):
        lines.append(f"{text}: {'not reported' if value is None else f'{value:,} bytes'}")
    lines.append(f"machine: {_machine()}{'' if own else ' (the client; the server may run elsewhere)'}")
    lines.append("per second: as seen by this client; per core: 1 s divided by the server's CPU time per request")
    return "\n".join(lines) + "\n"
