"""Annotations of GitHub Actions: a workflow prints them, and GitHub shows them beside the lines of a pull request.

GitHub reads them from stdout and stderr of a step, and shows the first ten errors and ten warnings of a step.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from polykind.toolkit.reporting.problem import Problem

_COMMANDS = {"error": "error", "warning": "warning", "note": "notice"}


def in_github_actions(environ: Mapping[str, str] = os.environ) -> bool:
    """True if this process runs in a step of a GitHub workflow."""
    return environ.get("GITHUB_ACTIONS") == "true"


def workflow_commands(problems: Iterable[Problem], environ: Mapping[str, str] = os.environ) -> list[str]:
    """Return one workflow command, such as `::error file=crd.yaml,line=3::text`, for each problem.

    File names are relative to the checkout (GITHUB_WORKSPACE), because GitHub finds only such files.
    """
    root = environ.get("GITHUB_WORKSPACE") or os.getcwd()
    out = []
    for problem in problems:
        properties = {"title": f"{problem.rule}, {problem.subject}" if problem.subject else problem.rule}
        if problem.position is not None:
            properties["file"] = _relative(problem.position.file, root)
            if problem.position.line:
                properties["line"] = str(problem.position.line)
        listed = ",".join(f"{name}={_escape_property(properties[name])}" for name in sorted(properties))
        text = f"{problem.message}\n\n{problem.details}" if problem.details else problem.message
        out.append(f"::{_COMMANDS[problem.level]} {listed}::{_escape(text)}")
    return out


def _relative(file: str, root: str) -> str:
    path = Path(os.path.abspath(file))
    return str(path.relative_to(root)) if path.is_relative_to(root) else str(path)


def _escape(text: str) -> str:
    """Escape a text as GitHub's toolkit does, so that it cannot end the command or start another one."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escape_property(text: str) -> str:
    return _escape(text).replace(":", "%3A").replace(",", "%2C")
