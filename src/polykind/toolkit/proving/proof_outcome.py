"""The outcome of a proof run, from which all reports are written: terminal, JSON, HTML, JUnit, SARIF."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from polykind.contract import JsonObject
from polykind.toolkit.crd_versions import CRDVersion
from polykind.toolkit.proving import proof_report
from polykind.toolkit.proving.case import Finding
from polykind.toolkit.proving.losses import Loss
from polykind.toolkit.proving.progress import VersionPair
from polykind.toolkit.proving.proof_report import Remark
from polykind.toolkit.proving.proof_run import ProofRun
from polykind.toolkit.proving.properties import PROPERTIES
from polykind.toolkit.proving.round_trip import ConversionFailedError
from polykind.toolkit.reporting.source_positions import CRDFile

_ROUND_TRIPS = ("there-and-back", "back-and-there")


class Stage(NamedTuple):
    """One of the three objects that show a finding. `obj` is None if the conversion to it failed with `error`."""

    title: str
    version: str
    obj: JsonObject | None
    error: str = ""
    shows_differences: bool = False
    """True if the finding's differences are differences of this object."""


@dataclass
class ProofOutcome:
    """The results of a run for the pairs of versions that it tested."""

    run: ProofRun
    pairs: Sequence[VersionPair]
    findings: Sequence[tuple[VersionPair, Finding]]
    seconds: float = 0.0
    interrupted: bool = False
    settings: dict[str, str] = field(default_factory=dict)
    """The settings of the run by name, as the user would write them."""
    crd_file: CRDFile | None = None
    repeat: Callable[[str, VersionPair], str] = lambda name, pair: ""
    """A function that returns the command that tests one property of one pair again."""

    @property
    def remarks(self) -> list[Remark]:
        """Problems besides failed properties: rules on unknown fields, stale acknowledgements, too few objects."""
        out = proof_report.unknown_paths(self.run)
        if not self.interrupted:
            out += proof_report.stale_acknowledgements(self.run)
            few = [proof_report.too_few_objects(self.run, pair) for pair in self.pairs]
            out += [Remark(proof_report.TOO_FEW_OBJECTS, text) for text in few if text]
        return out

    @property
    def object_count(self) -> int:
        """The number of tested objects. An object of one version is counted for each pair."""
        return sum(self.run.result(pair).tested for pair in self.pairs)

    @property
    def problem_count(self) -> int:
        return len(self.findings) + len(self.remarks)

    @property
    def losses(self) -> list[Loss]:
        """The observed losses of the tested pairs, unacknowledged ones first."""
        return [loss for loss in self.run.losses.matrix() if (loss.origin, loss.goal) in self.pairs]

    @property
    def untested_losses(self) -> list[Loss]:
        """Unacknowledged losses that fail no property, because the user selected other properties."""
        if any(name in self.run.properties for name in _ROUND_TRIPS):
            return []
        return [loss for loss in self.losses if loss.reason is None]

    @property
    def level(self) -> Literal["ok", "warning", "error"]:
        if self.problem_count:
            return "error"
        return "warning" if self.interrupted or self.untested_losses or not self.object_count else "ok"

    @property
    def verdict(self) -> str:
        """One phrase that says how the run ended. It never says "proven", because a run only tests."""
        if self.problem_count:
            text = f"{self.problem_count} {'problem' if self.problem_count == 1 else 'problems'}"
        elif len(self.run.properties) < len(PROPERTIES):
            verb = "hold" if len(self.run.properties) > 1 else "holds"
            text = f"{', '.join(self.run.properties)} {verb}, no other property was tested"
        else:
            text = "all properties hold"
        if lost := self.untested_losses:
            count = f"{len(lost)} unacknowledged {'loss' if len(lost) == 1 else 'losses'}"
            text += f"; {count} seen, which {_ROUND_TRIPS[0]} and {_ROUND_TRIPS[1]} would report"
        return f"interrupted, so far {text}" if self.interrupted else text

    @property
    def summary(self) -> str:
        """The numbers behind the verdict."""
        pairs = f"{len(self.pairs)} {'pair' if len(self.pairs) == 1 else 'pairs'} of versions"
        return f"tested with {self.object_count} objects, {pairs}, seed {self.run.seed}, {self.seconds:.1f}s"


def collect(run: ProofRun, pairs: Sequence[VersionPair], **more: Any) -> ProofOutcome:
    """Run what has not run yet, and return the outcome for these pairs.

    If the caller interrupts the run (KeyboardInterrupt), return the results so far. Failing objects that were not yet
    simplified are reported as they are.
    """
    interrupted = False
    try:
        for pair in pairs:
            for name in run.properties:
                run.finding(name, pair)
    except KeyboardInterrupt:
        interrupted = True
    tested = [pair for pair in pairs if pair in run.tested_pairs()]
    findings = [
        (pair, run.result(pair).smallest.get(name) or run.result(pair).failed[name][1])
        for pair in tested
        for name in run.properties
        if name in run.result(pair).failed
    ]
    return ProofOutcome(run, tested, findings, interrupted=interrupted, **more)


def stages(run: ProofRun, pair: VersionPair, finding: Finding) -> tuple[Stage, Stage, Stage]:
    """Return the three objects that show a finding: before, converted and back.

    If a client edited the object in between, the first object is the edited one.
    """
    origin, goal = (run.crd.versions[name] for name in pair)
    if finding.edit is not None:
        return _edit_stages(run, origin, goal, finding)
    round_trip = finding.property in _ROUND_TRIPS
    failed = "" if finding.differences else finding.message
    back = (failed or "the conversion back failed") if finding.converted is not None else "not reached"
    return (
        Stage("Before", origin.name, finding.obj, "", round_trip),
        Stage("Converted", goal.name, finding.converted, failed or "the conversion failed", not round_trip),
        Stage("Back", origin.name, finding.returned, back, round_trip),
    )


def _edit_stages(run: ProofRun, origin: CRDVersion, goal: CRDVersion, finding: Finding) -> tuple[Stage, Stage, Stage]:
    assert finding.edit is not None
    written = finding.edit.obj
    here, there = (origin, goal) if written["apiVersion"] == origin.api_version else (goal, origin)
    stored: JsonObject | None = None
    again: JsonObject | None = None
    error = ""
    try:
        stored = run.converter.convert(written, there)
        again = run.converter.convert(stored, here)
    except ConversionFailedError as stop:
        error = str(stop)
    return (
        Stage("Edited", here.name, written, "", True),
        Stage("Converted", there.name, stored, error, True),
        Stage("Read again", here.name, again, error if stored is not None else "not reached", True),
    )
