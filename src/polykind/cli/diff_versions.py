"""`polykind diff`: shows how two versions of a CRD differ."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from polykind.cli.report_flags import add_color_flag

if TYPE_CHECKING:
    from polykind.toolkit.crd_versions import CRD


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    command = commands.add_parser(
        "diff",
        help="show how two versions of a CRD differ",
        description="Compare the schemas of two versions of a CRD: fields that were added, removed or probably moved, "
        "and changes of types, defaults, limits, list types and rules. Exit codes: 0 success; 2 invalid usage.",
    )
    add_versions(command)
    flag = command.add_argument
    flag("--descriptions", action="store_true", help="compare descriptions, too")
    flag("--json", action="store_true", help="print the differences as JSON")
    flag("--html", type=Path, metavar="FILE", help="write the differences as one self-contained HTML page")
    add_color_flag(command)
    command.set_defaults(run=run)


def add_versions(command: argparse.ArgumentParser) -> None:
    """Add the arguments that name a CRD and two of its versions."""
    command.add_argument("crd", type=Path, metavar="CRD", help="file of the CRD")
    command.add_argument("old", metavar="V1", help="the older version")
    command.add_argument("new", metavar="V2", help="the newer version")


def read_versions(args: argparse.Namespace) -> CRD:
    """Return the CRD of the arguments. Raise ValueError if it cannot be read or lacks one of the versions."""
    from polykind.toolkit.crd_versions import read_crd

    crd = read_crd(args.crd)
    for name in (args.old, args.new):
        if name not in crd.versions:
            raise ValueError(f"{crd.name} has no version {name}, only {', '.join(crd.versions)}")
    if args.old == args.new:
        raise ValueError("name two different versions")
    return crd


def run(args: argparse.Namespace) -> int:
    from polykind.toolkit.drafting import version_diff

    try:
        crd = read_versions(args)
        differences = version_diff.compare_versions(crd, args.old, args.new, descriptions=args.descriptions)
        title = f"{crd.kind}, {args.old} to {args.new}"
        if args.html is not None:
            args.html.write_text(version_diff.to_html(differences, title), "utf-8")
    except (ValueError, OSError) as error:
        print(f"polykind diff: {error}", file=sys.stderr)
        return 2
    if args.json:
        json.dump(version_diff.to_json(differences, args.old, args.new), sys.stdout, indent=2)
        print()
        return 0
    from polykind.toolkit.reporting.terminal import open_console

    version_diff.print_diff(open_console(args.color), differences, title)
    return 0
