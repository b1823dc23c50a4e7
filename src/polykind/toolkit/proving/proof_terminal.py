"""The report of a proof run in a terminal or as plain text, and its progress bar."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polykind.toolkit.proving import proof_report
from polykind.toolkit.proving.case import Finding
from polykind.toolkit.proving.object_diff import Difference, format_path
from polykind.toolkit.proving.progress import (
    ObjectTested,
    PairStarted,
    ProgressEvent,
    PropertyFailed,
    VersionPair,
)
from polykind.toolkit.proving.proof_outcome import ProofOutcome, stages
from polykind.toolkit.reporting.source_positions import relative_file
from polykind.toolkit.reporting.terminal import (
    ProgressBar,
    Style,
    Styled,
    Table,
    print_line,
    print_lines,
    print_table,
)

if TYPE_CHECKING:
    from rich.console import Console

_KIND_STYLES: dict[str, Style] = {"dropped": "removed", "invented": "added", "changed": "changed"}
_LINE_STYLES: dict[str, Style] = {"removed": "removed", "added": "added", "changed": "changed", "other": "path"}
_COLUMNS_WIDTH = 110
"""The width from which a terminal shows the three objects of a finding side by side."""


class ProgressDisplay:
    """An observer of a proof run that moves a progress bar. `bar` may be replaced when the run starts."""

    def __init__(self) -> None:
        self.bar = ProgressBar()
        self._number = self._total = 1
        self._failed = self._objects = 0

    def __call__(self, event: ProgressEvent) -> None:
        if isinstance(event, PairStarted):
            self._number, self._total = event.number, event.total
        elif isinstance(event, PropertyFailed):
            self._failed += 1
        elif isinstance(event, ObjectTested):
            self._objects += 1
            failed = f", {self._failed} failed" if self._failed else ""
            self.bar.update(
                f"{' to '.join(event.pair)} ({self._number} of {self._total})",
                self._number - 1 + event.fraction,
                self._total,
                f"{self._objects:,} {'object' if self._objects == 1 else 'objects'}{failed}",
            )


def print_outcome(console: Console, outcome: ProofOutcome) -> None:
    """Print the table of properties, the failures, the losses, the remarks and the verdict."""
    run = outcome.run
    if outcome.pairs:
        print_table(console, proof_report.table(run, outcome.pairs))
        print_line(console)
    for pair, finding in outcome.findings:
        print_finding(console, outcome, pair, finding)
        print_line(console)
    if losses := outcome.losses:
        print_line(console, Styled("lost on the way there and back:", "heading"))
        print_table(console, proof_report.loss_table(losses))
        print_line(console)
    for remark in outcome.remarks:
        print_line(console, Styled(remark.message, "warning"))
        print_line(console)
    for hint in proof_report.uncovered_fields(run, outcome.pairs):
        print_line(console, Styled(hint, "muted"))
        print_line(console)
    verdict = Styled(outcome.verdict, outcome.level)
    print_line(console, Styled(run.crd.kind, "heading"), ": ", verdict, f" ({outcome.summary})")


def print_finding(console: Console, outcome: ProofOutcome, pair: VersionPair, finding: Finding) -> None:
    """Print a failure. In a pipe, its text is the one that pytest shows; a wide terminal shows three objects."""
    rerun = outcome.repeat(finding.property, pair)
    if not console.is_terminal:
        print_lines(console, proof_report.failure(outcome.run, pair, finding, rerun))
        return
    print_line(console, Styled(f"{finding.property}, {' to '.join(pair)}", "error"), f": {finding.message}")
    if finding.location:
        print_line(console, "  raised at ", Styled(relative_file(finding.location), "path"))
    _print_objects(console, outcome, pair, finding)
    if finding.edit is not None:
        edit = Difference(finding.edit.path, finding.edit.before, finding.edit.after)
        print_line(console, "  edited: ", Styled(proof_report.format_differences([edit], edit=True), "changed"))
    if finding.differences:
        print_line(console, Styled("  what differs:", "heading"))
        print_table(console, _difference_table(finding), indent=4)
    if steps := proof_report.conversion_steps(outcome.run, pair, finding):
        print_line(console, Styled("  conversion path:", "heading"))
        rows = [
            [f"{step.origin} to {step.goal}", step.name, Styled(str(step.position or ""), "path")] for step in steps
        ]
        print_table(console, Table(rows=[*rows]), indent=4)
    print_line(console, "  ", Styled(proof_report.advice(finding), "ok"))
    if rerun:
        print_line(console, Styled(f"  Run again: {rerun}", "muted"))


def _difference_table(finding: Finding) -> Table:
    out = Table()
    for each in finding.differences[:12]:
        style = _KIND_STYLES[each.kind]
        out.rows.append(
            [Styled(format_path(each.path), "path"), Styled(each.kind, style), proof_report.format_change(each)]
        )
    if len(finding.differences) > 12:
        out.rows.append([f"and {len(finding.differences) - 12} more", "", ""])
    return out


def _print_objects(console: Console, outcome: ProofOutcome, pair: VersionPair, finding: Finding) -> None:
    """Print the objects before, converted and back: side by side if the terminal is wide, else only the first one."""
    shown = stages(outcome.run, pair, finding)
    if console.width < _COLUMNS_WIDTH:
        print_line(console, Styled("  the smallest object found that shows it:", "heading"))
        print_lines(console, proof_report.yaml(finding.obj), indent=4)
        return
    from polykind.toolkit.reporting.line_diff import align

    texts = [proof_report.yaml(finding.obj if stage.obj is None else stage.obj) for stage in shown]
    columns = align(texts[0], texts[1], texts[2])
    out = Table([f"{stage.title} ({stage.version})" for stage in shown])
    for number, row in enumerate(zip(*columns, strict=True)):
        out.rows.append(
            [
                Styled(line.text, _LINE_STYLES.get(line.mark, ""))
                if stage.obj is not None
                else Styled("" if number else stage.error, "error")
                for stage, line in zip(shown, row, strict=True)
            ]
        )
    print_table(console, out, indent=2)
