"""The command line: `polykind serve` and the commands beside it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from polykind import __version__
from polykind.cli import convert, host, prove, rehearse, serve, store, versions

COMMANDS = (serve, store, host, convert, prove, rehearse, versions)


def parser() -> argparse.ArgumentParser:
    out = argparse.ArgumentParser(
        prog="polykind", description="A Kubernetes API server for custom resources that needs no cluster."
    )
    out.add_argument("--version", action="version", version=f"polykind {__version__}")
    commands = out.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for command in COMMANDS:
        command.add(commands)
    return out


def main(arguments: Sequence[str] | None = None) -> int:
    # What --converter names may lie in the current directory, as with `python -m`; what is installed comes first.
    if "" not in sys.path and not sys.flags.safe_path:
        sys.path.append("")
    chosen = parser().parse_args(arguments)
    result: int = chosen.run(chosen)
    return result


if __name__ == "__main__":
    sys.exit(main())
