"""Findings of a rehearsal: what a step of an upgrade or rollback does to an object, and what to do about it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from polykind.contract import JsonObject
from polykind.toolkit.proving.object_diff import MISSING, Difference, format_path

Phase = Literal["crd", "create", "read", "migration", "clients", "restart", "outage"]
_SHOWN_CHARS = 60


@dataclass(frozen=True)
class Finding:
    """A problem, a warning, or an acknowledged loss.

    `text` is the whole sentence. The other fields are its parts, for machines and tables.
    """

    text: str
    phase: Phase
    level: Literal["error", "warning", "acknowledged"] = "error"
    object: str = ""
    """The object's name with its namespace."""
    client: str = ""
    """The version and the method of the client that wrote, such as "v1 (PUT)"."""
    version: str = ""
    """The version at which the problem is visible."""
    field: str = ""
    before: Any = MISSING
    after: Any = MISSING
    advice: str = ""

    def as_json(self) -> JsonObject:
        out = {
            name: getattr(self, name)
            for name in ("phase", "level", "text", "object", "client", "version", "field", "advice")
        }
        values = {name: getattr(self, name) for name in ("before", "after") if getattr(self, name) is not MISSING}
        return {name: value for name, value in out.items() if value} | values


def group_findings(findings: Iterable[Finding]) -> list[tuple[Finding, int]]:
    """Return the first of all findings that differ only in their objects and values, each with their number."""
    groups: dict[tuple[object, ...], list[Finding]] = {}
    for finding in findings:
        name = finding.object.rpartition("/")[2]
        subject = re.sub(r"\[\d+\]", "[*]", finding.field)
        if finding.field:
            subject += f" {finding.before is MISSING} {finding.after is MISSING}"
        else:
            subject = re.sub(r" \(uid [^)]*\)", "", finding.text.replace(name, "") if name else finding.text)
        key = (finding.phase, finding.level, finding.client, finding.version, subject)
        groups.setdefault(key, []).append(finding)
    return [(group[0], len(group)) for group in groups.values()]


def with_count(finding: Finding, number: int) -> str:
    """Return the text of a finding that stands for several objects."""
    if number == 1:
        return finding.text
    return f"{finding.text} (and {number - 1} more of this kind)"


def describe_difference(difference: Difference) -> str:
    """Return a short text about a difference, such as "spec.host was removed, it was ..."."""
    path = format_path(difference.path)
    if difference.kind == "dropped":
        return f"{path} was removed, it was {shorten(difference.before)}"
    if difference.kind == "invented":
        return f"{path} was added: {shorten(difference.after)}"
    return f"{path} changed from {shorten(difference.before)} to {shorten(difference.after)}"


def shorten(value: Any) -> str:
    """Return a value as JSON, without its end if it is long."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SHOWN_CHARS else f"{text[: _SHOWN_CHARS - 3]}..."
