"""The report of a check as text, JSON, HTML, JUnit XML and SARIF."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from polykind.contract import JsonObject
from polykind.evolution.change_finding import TRAPS, Severity
from polykind.evolution.effect_totals import EffectGroup
from polykind.toolkit.checking.object_check import ObjectCheck
from polykind.toolkit.checking.release_check import CheckReport, ReportedFinding
from polykind.toolkit.reporting import html_components as parts
from polykind.toolkit.reporting.html_builder import Child, Html
from polykind.toolkit.reporting.html_page import html_page
from polykind.toolkit.reporting.junit_report import junit_xml
from polykind.toolkit.reporting.problem import CheckResult, Level, Problem, Rule
from polykind.toolkit.reporting.sarif_report import sarif_log
from polykind.toolkit.reporting.source_positions import SourcePosition
from polykind.toolkit.reporting.terminal import Style, Styled, print_line, print_lines

if TYPE_CHECKING:
    from rich.console import Console

_LEVELS: dict[Severity, Level] = {Severity.BREAKING: "error", Severity.DANGEROUS: "warning", Severity.INFO: "note"}
_STYLES: dict[Severity, Style] = {Severity.BREAKING: "error", Severity.DANGEROUS: "warning", Severity.INFO: "muted"}
_EFFECTS: dict[str, tuple[Severity, str, str]] = {
    "invalid": (Severity.BREAKING, "become invalid", "Creates and updates of these objects are rejected."),
    "lost": (Severity.BREAKING, "lose a field", "The API server prunes the field on the next read or write."),
    "changed": (Severity.DANGEROUS, "change by a default", "Objects get another value without an edit."),
    "not-served": (Severity.BREAKING, "are at a version that is not served", "Clients cannot apply these manifests."),
    "unconvertible": (Severity.BREAKING, "cannot be converted", "Requests at the other version fail, lists entirely."),
}
"""For each effect on objects: its severity, a verb phrase that follows a number, and what it means."""


def print_report(console: Console, report: CheckReport, *, verbose: bool = False) -> None:
    """Print the report as text. Without `verbose`, info findings take one line."""
    for each in report.findings:
        _print_finding(console, each, verbose)
    for name, check in report.objects.items():
        _print_objects(console, name, check)
    for entry in report.stale:
        print_line(console, Styled("note: ", "muted"), f"nothing was found for the accepted finding: {entry}")
    print_line(console, summary(report))


def _print_finding(console: Console, each: ReportedFinding, verbose: bool) -> None:
    finding = each.finding
    label = "accepted" if each.accepted else finding.severity.label
    style: Style = "muted" if each.accepted else _STYLES[finding.severity]
    version = f" {finding.version}" if finding.version else ""
    print_line(console, Styled(label, style), f"  {finding.crd}{version}: {finding.message}  ", _trap(finding.trap))
    place = str(SourcePosition(each.file, each.line))
    if each.accepted:
        print_lines(console, f"{place}\naccepted: {each.accepted}", "muted", indent=4)
    elif verbose or finding.severity > Severity.INFO:
        print_lines(console, place, "path", indent=4)
        print_lines(console, finding.meaning, indent=4)
        print_lines(console, f"Instead: {finding.advice}", indent=4)
        print_line(console)


def _trap(name: str) -> Styled:
    return Styled(f"[{name}]", "muted")


def _print_objects(console: Console, name: str, check: ObjectCheck) -> None:
    totals = check.totals
    print_line(console, Styled(f"{name}: {totals.objects:,} objects", "heading"))
    if not totals.affected:
        print_lines(console, "none is affected", "ok", indent=4)
    for effect, count in counts(check):
        severity, phrase, meaning = _EFFECTS[effect]
        print_line(console, Styled(f"    {count:,} {phrase}. ", _STYLES[severity]), meaning)
        for group in groups_of(check, effect):
            print_lines(console, f"{group.count:,} x {group.version}: {group.path}", "path", indent=8)
            print_lines(console, "\n".join(group.examples), "muted", indent=12)
    if totals.were_invalid:
        print_lines(console, f"{totals.were_invalid:,} were invalid before", "muted", indent=4)
    print_line(console)


def counts(check: ObjectCheck) -> list[tuple[str, int]]:
    """Return the number of objects for each effect that occurs."""
    totals = check.totals
    numbers = {
        "invalid": totals.invalid,
        "lost": totals.lost,
        "changed": totals.changed,
        "not-served": totals.not_served,
        "unconvertible": totals.unconvertible,
    }
    return [(effect, number) for effect, number in numbers.items() if number]


def groups_of(check: ObjectCheck, effect: str) -> list[EffectGroup]:
    """Return the groups of objects with an effect, the largest first."""
    groups = [group for group in check.totals.groups.values() if group.effect == effect]
    return sorted(groups, key=lambda group: -group.count)


def summary(report: CheckReport) -> str:
    """Return the last line of the report."""
    numbers = ", ".join(f"{report.count(severity)} {severity.label}" for severity in sorted(Severity, reverse=True))
    accepted = sum(1 for each in report.findings if each.accepted)
    crds = f"{report.crds} {'CRD' if report.crds == 1 else 'CRDs'}"
    parts_ = [f"{crds} checked: {numbers}"]
    if accepted:
        parts_.append(f"{accepted} accepted")
    if report.objects:
        checked = sum(check.totals.objects for check in report.objects.values())
        affected = sum(number for check in report.objects.values() for _, number in counts(check))
        parts_.append(f"{checked:,} objects, {affected:,} effects")
    if report.skipped_objects:
        parts_.append(f"{report.skipped_objects:,} objects of other kinds skipped")
    return "; ".join(parts_)


def to_json(report: CheckReport) -> JsonObject:
    """Return the report as a JSON object."""
    return {
        "findings": [_finding_json(each) for each in report.findings],
        "objects": {name: _objects_json(check) for name, check in report.objects.items()},
        "skippedObjects": report.skipped_objects,
        "staleAcceptances": [str(entry) for entry in report.stale],
        "counts": {severity.label: report.count(severity) for severity in Severity},
    }


def _finding_json(each: ReportedFinding) -> JsonObject:
    finding = each.finding
    out: JsonObject = {
        "finding": finding.trap,
        "severity": finding.severity.label,
        "crd": finding.crd,
        "version": finding.version,
        "path": finding.path,
        "message": finding.message,
        "meaning": finding.meaning,
        "advice": finding.advice,
        "file": each.file,
        "line": each.line,
    }
    if each.accepted:
        out["accepted"] = each.accepted
    if finding.existed:
        out["inOldRelease"] = True
    return out


def _objects_json(check: ObjectCheck) -> JsonObject:
    totals = check.totals
    return {
        "objects": totals.objects,
        "wereInvalid": totals.were_invalid,
        "counts": dict(counts(check)),
        "groups": [
            {
                "effect": group.effect,
                "version": group.version,
                "path": group.path,
                "count": group.count,
                "examples": group.examples,
            }
            for effect, _ in counts(check)
            for group in groups_of(check, effect)
        ],
    }


def problems(report: CheckReport) -> list[Problem]:
    """Return the findings that are not accepted, and the effects on objects, for CI systems."""
    out = [
        Problem(
            each.finding.trap,
            each.finding.message,
            _LEVELS[each.finding.severity],
            f"{each.finding.meaning}\nInstead: {each.finding.advice}",
            SourcePosition(each.file, each.line),
            subject=" ".join(filter(None, (each.finding.crd, each.finding.version, each.finding.path))),
        )
        for each in report.findings
        if not each.accepted
    ]
    for name, check in report.objects.items():
        for effect, count in counts(check):
            severity, phrase, meaning = _EFFECTS[effect]
            examples = [line for group in groups_of(check, effect) for line in (group.path, *group.examples)]
            message = f"{count:,} of {check.totals.objects:,} objects {phrase}"
            out.append(
                Problem(f"objects-{effect}", message, _LEVELS[severity], "\n".join((meaning, *examples)), subject=name)
            )
    return out


def rules() -> list[Rule]:
    """Return all kinds of findings."""
    out = [Rule(name, trap.meaning, trap.advice) for name, trap in TRAPS.items()]
    return out + [
        Rule(f"objects-{effect}", f"Objects {phrase}. {meaning}") for effect, (_, phrase, meaning) in _EFFECTS.items()
    ]


def to_sarif(report: CheckReport) -> JsonObject:
    """Return the report as a SARIF log."""
    return sarif_log("check", rules(), problems(report))


def to_junit(report: CheckReport) -> str:
    """Return the report as JUnit XML, with a test case for each kind of finding that occurs, and one per CRD."""
    by_rule: dict[tuple[str, str], list[Problem]] = {}
    for problem in problems(report):
        by_rule.setdefault((problem.subject.partition(" ")[0], problem.rule), []).append(problem)
    results = [CheckResult(rule, group, each) for (group, rule), each in by_rule.items()]
    return junit_xml("polykind check", results or [CheckResult("no findings", "all CRDs")])


def to_html(report: CheckReport, title: str, failed: bool) -> str:
    """Return the report as one HTML page."""
    levels: list[tuple[str, Child]] = [(each.label, str(report.count(each))) for each in sorted(Severity, reverse=True)]
    if report.objects:
        levels.append(("objects", f"{sum(check.totals.objects for check in report.objects.values()):,}"))
    verdict = "This change breaks users." if failed else "No breaking change."
    level: parts.Level = "error" if failed else "warning" if report.count(Severity.DANGEROUS) else "ok"
    sections = list(_sections(report))
    return html_page(
        title,
        parts.header("polykind check", title, level, verdict, levels, summary(report)),
        parts.navigation([(anchor, name, count) for anchor, name, count, _ in sections]),
        parts.contents(*(section for *_, section in sections)),
    )


def _sections(report: CheckReport) -> Iterator[tuple[str, str, str, Html]]:
    """Yield the sections of the HTML page: the anchor, the name and the count in the navigation, and the content."""
    open_findings = [each for each in report.findings if not each.accepted]
    info = [each for each in open_findings if each.finding.severity == Severity.INFO]
    severe = [each for each in open_findings if each.finding.severity > Severity.INFO]
    cards = [_card(number, each) for number, each in enumerate(severe)]
    nothing = parts.paragraph("No breaking or dangerous change was found.", level="ok")
    yield "findings", "Findings", str(len(cards) or ""), parts.section("findings", "Findings", *cards or [nothing])
    if report.objects:
        yield "objects", "Objects", "", parts.section("objects", "Objects", *_object_tables(report))
    if info:
        yield "info", "Info", str(len(info)), parts.section("info", "Info", _info_table(info))
    rows: list[list[Child]] = [
        [parts.code(each.finding.trap), each.finding.message, each.accepted]
        for each in report.findings
        if each.accepted
    ]
    if rows:
        table = parts.data_table("Accepted findings", ["Finding", "Message", "Why"], rows)
        yield "accepted", "Accepted", str(len(rows)), parts.section("accepted", "Accepted findings", table)


def _card(number: int, each: ReportedFinding) -> Html:
    finding = each.finding
    level: parts.Level = _LEVELS[finding.severity]
    return parts.card(
        f"finding-{number}",
        finding.message,
        parts.paragraph(
            parts.badge(finding.severity.label, level),
            " ",
            parts.code(finding.trap),
            f" {finding.crd} {finding.version} ",
            parts.code(str(SourcePosition(each.file, each.line))),
        ),
        parts.paragraph(finding.meaning),
        parts.paragraph(f"Instead: {finding.advice}", level="note"),
        level=level,
    )


def _info_table(findings: list[ReportedFinding]) -> Html:
    rows: list[list[Child]] = [
        [
            parts.code(each.finding.trap),
            f"{each.finding.crd} {each.finding.version}",
            each.finding.message,
            parts.code(str(SourcePosition(each.file, each.line))),
        ]
        for each in findings
    ]
    return parts.data_table("Findings of the severity info", ["Finding", "CRD", "Message", "Position"], rows)


def _object_tables(report: CheckReport) -> Iterator[Html]:
    for name, check in report.objects.items():
        total = check.totals.objects
        bars = [
            parts.Bar(_EFFECTS[effect][1], count, total, _EFFECTS[effect][2], _LEVELS[_EFFECTS[effect][0]])
            for effect, count in counts(check)
        ]
        yield parts.paragraph(f"{name}: {total:,} objects" + ("" if bars else ", none is affected"))
        if bars:
            yield parts.bar_list(f"Effects on objects of {name}", ("Effect", "Share", "Meaning"), bars)
            rows: list[list[Child]] = [
                [group.effect, group.version, parts.code(group.path), f"{group.count:,}", "; ".join(group.examples)]
                for effect, _ in counts(check)
                for group in groups_of(check, effect)
            ]
            head = ["Effect", "Version", "Field or error", "Objects", "First examples"]
            yield parts.data_table(f"Affected objects of {name}", head, rows, numbers=(3,))
