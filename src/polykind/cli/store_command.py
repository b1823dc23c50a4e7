"""`polykind store`: copies, verifies, backs up and restores the content of a store."""

from __future__ import annotations

import argparse

from polykind.cli import store_backup, store_copy


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    command = commands.add_parser(
        "store",
        help="copy, verify, back up or restore the content of a store",
        description="Copy, verify, back up or restore the content of a store.",
    )
    actions = command.add_subparsers(dest="action", required=True, metavar="ACTION")
    store_copy.add(actions)
    store_backup.add(actions)
