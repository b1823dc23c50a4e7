"""The problems of a proof run for CI systems, each with the rule that it violates and its position in a file."""

from __future__ import annotations

import inspect
import re
from textwrap import dedent

from polykind.toolkit.proving import proof_report
from polykind.toolkit.proving.case import Finding
from polykind.toolkit.proving.object_diff import format_path
from polykind.toolkit.proving.progress import VersionPair
from polykind.toolkit.proving.proof_outcome import ProofOutcome
from polykind.toolkit.proving.properties import PROPERTIES
from polykind.toolkit.reporting.problem import CheckResult, Problem, Rule
from polykind.toolkit.reporting.source_positions import SourcePosition, parse_position

_AT_GOAL = ("output-validates", "output-settled", "metadata-kept", "deterministic", "batch-independence")
"""Properties whose differences are fields of the version that the object is converted to."""
_REMARK_RULES = (
    Rule(proof_report.ACKNOWLEDGED, "Every acknowledged loss happens.", "Remove the loss from loses=."),
    Rule(proof_report.UNKNOWN_PATH, "Every field that a rule names is in the schema.", "Correct the path."),
    Rule(proof_report.TOO_FEW_OBJECTS, "Enough generated objects are valid.", "Pass real objects with --samples."),
)


def rules() -> list[Rule]:
    """Return all properties and the checks of a run as a whole."""
    return [*(property_rule(name) for name in PROPERTIES), *_REMARK_RULES]


def property_rule(name: str) -> Rule:
    """Return a property as a rule. Its summary is the first sentence of the docstring of its function."""
    doc = " ".join((inspect.getdoc(PROPERTIES[name]) or name).split())
    sentence = re.split(r"(?<=\.) ", doc)[0].removeprefix("Check that ")
    return Rule(name, sentence[:1].upper() + sentence[1:], proof_report.general_advice(name))


def problems(outcome: ProofOutcome) -> list[Problem]:
    """Return a problem for each failed property of each pair of versions, and for each remark."""
    out = [finding_problem(outcome, pair, finding) for pair, finding in outcome.findings]
    return out + [Problem(remark.check, remark.message, position=remark.position) for remark in outcome.remarks]


def finding_problem(outcome: ProofOutcome, pair: VersionPair, finding: Finding) -> Problem:
    """Return a failed property as a problem at the author's function or rule, or else at the field in the CRD file."""
    # The first line of the text repeats the property and the message.
    text = proof_report.failure(outcome.run, pair, finding, outcome.repeat(finding.property, pair)).partition("\n")[2]
    steps = proof_report.conversion_steps(outcome.run, pair, finding)
    places = [(f"{step.origin} to {step.goal}: {step.name}", step.position) for step in steps]
    known = [(label, position) for label, position in places if position is not None]
    raised = parse_position(finding.location)
    if raised is not None:
        known.insert(0, ("raised here", raised))
    fields = _field_positions(outcome, pair, finding)
    related = known + fields
    position = related[0][1] if related else None
    return Problem(
        finding.property,
        finding.message,
        details=dedent(text).strip(),
        position=position,
        related=related[1:],
        subject=" to ".join(pair),
    )


def _field_positions(outcome: ProofOutcome, pair: VersionPair, finding: Finding) -> list[tuple[str, SourcePosition]]:
    """Return the lines of the differing fields in the CRD file."""
    if outcome.crd_file is None:
        return []
    version = pair[1] if finding.property in _AT_GOAL or finding.edit is not None else pair[0]
    paths = [re.sub(r"\[[0-9]+\]", "[*]", format_path(each.path)) for each in finding.differences[:12]]
    fields = [
        (f"{path} of {version}", outcome.crd_file.position(version, path))
        for path in dict.fromkeys(paths)
        if not path.startswith("metadata")
    ]
    return fields or [(outcome.run.crd.name, outcome.crd_file.position(version))]


def check_results(outcome: ProofOutcome) -> list[CheckResult]:
    """Return the result of every property for every pair, and of the checks of the run as a whole."""
    failed = {(finding.property, pair): finding for pair, finding in outcome.findings}
    out = []
    for name, pair in outcome.run.cases():
        group = " to ".join(pair)
        if pair not in outcome.pairs:
            if outcome.interrupted:
                out.append(CheckResult(name, group, skipped="the run was interrupted"))
            continue
        finding = failed.get((name, pair))
        skipped = "" if outcome.run.result(pair).tested or finding else "no valid object was generated"
        found = (finding_problem(outcome, pair, finding),) if finding is not None else ()
        out.append(CheckResult(name, group, found, skipped))
    remarks = outcome.remarks
    for rule in _REMARK_RULES:
        about = [Problem(each.check, each.message, position=each.position) for each in remarks if each.check == rule.id]
        out.append(CheckResult(rule.id, outcome.run.crd.kind, about))
    return out
