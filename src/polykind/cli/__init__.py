"""The command line: `polykind serve` and the other commands."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from polykind import __version__


def parser() -> argparse.ArgumentParser:
    # The launchers import this package too, and need none of the commands but `serve`.
    from polykind.cli import (
        assets,
        bench,
        check,
        convert,
        diff_versions,
        host,
        migrate,
        prove,
        rehearse,
        serve,
        show_versions,
        store_command,
        suggest,
        user_command,
    )

    root = argparse.ArgumentParser(
        prog="polykind", description="A Kubernetes API server for custom resources that needs no cluster."
    )
    root.add_argument("--version", action="version", version=f"polykind {__version__}")
    commands = root.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for command in (
        serve,
        user_command,
        assets,
        store_command,
        bench,
        host,
        convert,
        prove,
        check,
        diff_versions,
        suggest,
        rehearse,
        show_versions,
        migrate,
    ):
        command.add(commands)
    return root


def main(argv: Sequence[str] | None = None) -> int:
    # --converter may name a module in the current directory, as with `python -m`. Installed modules come first.
    if "" not in sys.path and not sys.flags.safe_path:
        sys.path.append("")
    args = parser().parse_args(argv)
    args.command_line = list(sys.argv[1:] if argv is None else argv)
    try:
        result: int = args.run(args)
    except KeyboardInterrupt:
        # 128 + SIGINT, the exit status that shells report for an interrupted program.
        return 130
    return result


if __name__ == "__main__":
    sys.exit(main())
