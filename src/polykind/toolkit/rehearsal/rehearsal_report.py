"""The report of a rehearsal as JSON, as an HTML timeline, and for CI systems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from polykind.contract import JsonObject
from polykind.toolkit.proving.object_diff import MISSING
from polykind.toolkit.rehearsal.rehearsal import PhaseResult, StageResult
from polykind.toolkit.rehearsal.rehearsal_finding import Finding, group_findings, shorten, with_count
from polykind.toolkit.reporting import html_components as html
from polykind.toolkit.reporting.html_builder import Child, element
from polykind.toolkit.reporting.html_page import html_page
from polykind.toolkit.reporting.problem import CheckResult, Level, Problem, Rule
from polykind.toolkit.reporting.source_positions import CRDFile

_LEVELS: dict[str, html.Level] = {"error": "error", "warning": "warning", "acknowledged": "note"}
_MAX_CARDS = 200


def as_json(results: Sequence[StageResult]) -> JsonObject:
    return {
        "ok": all(result.ok for result in results),
        "steps": [
            {
                "release": result.stage.name,
                "direction": "back" if result.back else "forward",
                "versions": result.stage.versions.split(),
                "objects": result.objects,
                "migrated": result.migrated,
                "stuck": result.stuck,
                "ok": result.ok,
                "phases": [{"name": p.name, "text": p.text, "seconds": round(p.seconds, 3)} for p in result.phases],
                "findings": [finding.as_json() for finding in result.findings],
            }
            for result in results
        ],
    }


RULES = (
    Rule("crd", "Every release can be applied after the one before it, and rolled back."),
    Rule("create", "Every object can be created at the first release."),
    Rule("read", "Every object can be read at every served version, unchanged."),
    Rule("migration", "Every object can be migrated to the storage version, unchanged."),
    Rule("clients", "Clients of every served version can edit objects without changing other fields."),
    Rule("restart", "The results do not depend on the process of the converter."),
    Rule("outage", "An outage of the converter destroys nothing."),
)
"""The phases of a step, as rules that a problem violates."""


def check_results(results: Sequence[StageResult], files: Mapping[str, CRDFile]) -> list[CheckResult]:
    """Return the result of each phase of each step. `files` maps the name of a release to the file of its CRD."""
    out = []
    for result in results:
        step = _title(result)
        names = dict.fromkeys([*(phase.name for phase in result.phases), *(each.phase for each in result.findings)])
        seconds = {phase.name: phase.seconds for phase in result.phases}
        for name in names:
            found = [_problem(each, step, files[result.stage.name]) for each in result.findings if each.phase == name]
            out.append(CheckResult(name, step, found, seconds=seconds.get(name, 0.0)))
    return out


def _problem(finding: Finding, step: str, crd_file: CRDFile) -> Problem:
    levels: dict[str, Level] = {"error": "error", "warning": "warning", "acknowledged": "note"}
    position = crd_file.position(finding.version, finding.field)
    subject = " ".join(part for part in (step, finding.object) if part)
    return Problem(finding.phase, finding.text, levels[finding.level], finding.advice, position, subject=subject)


def page(crd: str, results: Sequence[StageResult]) -> str:
    """Return a self-contained HTML page with the timeline of a rehearsal."""
    problems = sum(len(result.problems) for result in results)
    warnings = sum(finding.level == "warning" for result in results for finding in result.findings)
    ok, stuck = not problems, any(result.stuck for result in results)
    verdict = (
        "Nothing got lost" if ok else "Stuck" if stuck else f"{problems} problems" if problems > 1 else "1 problem"
    )
    facts: list[tuple[str, Child]] = [
        ("Steps", len(results)),
        ("Objects", max((result.objects for result in results), default=0)),
        ("Problems", problems),
        ("Warnings", warnings),
    ]
    level: html.Level = "error" if problems else "warning" if warnings else "ok"
    return html_page(
        f"Rehearsal of {crd}",
        html.header("Rehearsal of an upgrade", crd, level, verdict, facts),
        html.contents(html.section("timeline", "Timeline", html.timeline("Steps", map(_entry, results)))),
    )


def _entry(result: StageResult) -> html.TimelineEntry:
    levels = {finding.level for finding in result.findings}
    level: html.Level = "error" if "error" in levels else "warning" if "warning" in levels else "ok"
    title = _title(result)
    groups = group_findings(result.findings)
    cards: list[Child] = [_card(finding, number) for finding, number in groups[:_MAX_CARDS]]
    if len(groups) > _MAX_CARDS:
        cards.append(html.paragraph(f"And {len(groups) - _MAX_CARDS} more."))
    phases = element("ul", *(element("li", _phase(phase, result)) for phase in result.phases))
    seconds = sum(phase.seconds for phase in result.phases)
    return html.TimelineEntry(
        title,
        level,
        f"{result.stage.versions} · {_count(result.objects, 'object')}",
        f"{seconds:.1f} s",
        [phases, *cards],
    )


def _title(result: StageResult) -> str:
    return f"Back to {result.stage.name}" if result.back else result.stage.name


def _phase(phase: PhaseResult, result: StageResult) -> str:
    found = sum(finding.phase == phase.name and finding.level == "error" for finding in result.findings)
    return f"{phase.text[0].upper()}{phase.text[1:]}: {_count(found, 'problem') if found else 'ok'}"


def _count(number: int, noun: str) -> str:
    return f"1 {noun}" if number == 1 else f"{number} {noun}s"


def _card(finding: Finding, number: int) -> Child:
    compared = finding.before is not MISSING or finding.after is not MISSING
    values = (
        ("Object", finding.object),
        ("Client", finding.client),
        ("Seen at", finding.version),
        ("Field", finding.field),
        ("Before", _value(finding.before) if compared else ""),
        ("After", _value(finding.after) if compared else ""),
    )
    facts: list[tuple[Child, Child]] = [(name, html.code(value)) for name, value in values if value]
    advice = html.paragraph("What to do: ", finding.advice, level="note") if finding.advice else None
    text = html.paragraph(with_count(finding, number), level=_LEVELS[finding.level])
    return element("article", text, html.terms(facts) if facts else None, advice, class_="card")


def _value(value: Any) -> str:
    return "missing" if value is MISSING else shorten(value)
