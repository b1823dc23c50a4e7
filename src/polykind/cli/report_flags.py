"""The flags of commands that report problems: --color, --html, --junit, --sarif and --annotations.

A command adds the flags, checks them before it starts, and writes what was asked for at the end:

    add_report_flags(command)
    check_report_files(args)                                     # raises ValueError
    write_reports(args, problems, html=..., junit=..., sarif=...)
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from polykind.contract import JsonObject
    from polykind.toolkit.reporting.problem import Problem

_FILES = ("html", "junit", "sarif")


def add_color_flag(command: argparse.ArgumentParser) -> None:
    """Add --color, for commands without report files."""
    command.add_argument(
        "--color",
        choices=("auto", "always", "never"),
        default="auto",
        metavar="WHEN",
        help="auto, always or never; auto means on a terminal, and obeys NO_COLOR and FORCE_COLOR (default: "
        "%(default)s)",
    )


def add_report_flags(command: argparse.ArgumentParser) -> None:
    """Add --color, the report files and --annotations."""
    add_color_flag(command)
    flag = command.add_argument
    flag("--html", type=Path, metavar="FILE", help="write a report as one self-contained HTML page")
    flag("--junit", type=Path, metavar="FILE", help="write the results as JUnit XML")
    flag("--sarif", type=Path, metavar="FILE", help="write the problems as SARIF 2.1.0")
    flag(
        "--annotations",
        choices=("auto", "github", "none"),
        default="auto",
        metavar="FORMAT",
        help="github prints problems on stderr as annotations of GitHub Actions, none prints nothing, and auto means "
        "github in a GitHub workflow (default: %(default)s)",
    )


def check_report_files(args: argparse.Namespace) -> None:
    """Raise ValueError if a report file cannot be written, so that the command fails before it starts to work."""
    for name in _FILES:
        file: Path | None = getattr(args, name)
        if file is None:
            continue
        if file.is_dir():
            raise ValueError(f"--{name} {file}: is a directory")
        if not os.access(file if file.exists() else file.absolute().parent, os.W_OK):
            raise ValueError(f"--{name} {file}: cannot be written")


def write_reports(
    args: argparse.Namespace,
    problems: Iterable[Problem],
    *,
    html: Callable[[], str],
    junit: Callable[[], str],
    sarif: Callable[[], JsonObject],
) -> None:
    """Write the report files that the flags ask for, and print annotations. Each report is built only if needed.

    Raise ValueError if a file cannot be written.
    """
    builders: dict[str, Callable[[], str]] = {
        "html": html,
        "junit": junit,
        "sarif": lambda: json.dumps(sarif(), indent=2, ensure_ascii=False) + "\n",
    }
    for name in _FILES:
        file: Path | None = getattr(args, name)
        if file is not None:
            try:
                file.write_text(builders[name](), "utf-8", errors="backslashreplace")
            except OSError as error:
                raise ValueError(f"--{name} {file}: {error.strerror}") from None
    from polykind.toolkit.reporting.github_annotations import in_github_actions, workflow_commands

    if args.annotations == "github" or (args.annotations == "auto" and in_github_actions()):
        for line in workflow_commands(problems):
            print(line, file=sys.stderr)
