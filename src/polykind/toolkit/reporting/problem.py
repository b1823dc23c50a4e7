"""A problem that a command reports, with its position in a file. The formats for CI systems are written from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from polykind.toolkit.reporting.source_positions import SourcePosition

Level = Literal["error", "warning", "note"]


@dataclass(frozen=True)
class Rule:
    """A check that can report problems. `id` is stable across releases, because users suppress problems by it."""

    id: str
    summary: str
    """One sentence that says what the check requires."""
    advice: str = ""
    """One sentence that says how to fix a problem."""


@dataclass(frozen=True)
class Problem:
    """A problem that a check found. `message` is one line; `details` is the text that follows it, with an example."""

    rule: str
    """The `id` of its Rule."""
    message: str
    level: Level = "error"
    details: str = ""
    position: SourcePosition | None = None
    related: Sequence[tuple[str, SourcePosition]] = ()
    """More positions that help to understand the problem, each with a text."""
    subject: str = ""
    """The thing that has the problem, such as `v1 to v2` or `spec.ports`. It tells problems of the same rule apart."""


@dataclass(frozen=True)
class CheckResult:
    """The result of one check of one subject, for formats that also list what passed."""

    name: str
    group: str
    """The thing that was checked, such as a pair of versions."""
    problems: Sequence[Problem] = field(default_factory=tuple)
    skipped: str = ""
    """The reason why the check did not run, or an empty string if it ran."""
    seconds: float = 0.0
