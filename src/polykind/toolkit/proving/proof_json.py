"""The report of a proof run as JSON. Later releases may add fields, but do not change or remove these."""

from __future__ import annotations

from polykind.contract import JsonObject
from polykind.toolkit.proving import proof_report
from polykind.toolkit.proving.case import Finding
from polykind.toolkit.proving.object_diff import MISSING, Difference, format_path
from polykind.toolkit.proving.progress import VersionPair
from polykind.toolkit.proving.proof_outcome import ProofOutcome


def to_json(outcome: ProofOutcome) -> JsonObject:
    """Return the outcome of a run as a JSON object."""
    run, pairs = outcome.run, outcome.pairs
    failed = {(finding.property, pair): finding for pair, finding in outcome.findings}
    return {
        "definition": run.crd.name,
        "seed": run.seed,
        "ok": outcome.level == "ok",
        "interrupted": outcome.interrupted,
        "tested": outcome.object_count,
        "seconds": round(outcome.seconds, 3),
        "settings": outcome.settings,
        "examples": {f"{origin}:{goal}": run.result((origin, goal)).tested for origin, goal in pairs},
        "results": [
            _result(outcome, name, pair, failed.get((name, pair))) for name, pair in run.cases() if pair in pairs
        ],
        "losses": [
            {
                "from": loss.origin,
                "to": loss.goal,
                "path": loss.path,
                "kind": loss.kind,
                "count": loss.count,
                "acknowledged": loss.reason,
                "example": _difference(loss.example),
            }
            for loss in outcome.losses
        ],
        "stale": [
            {"from": s.step.origin, "to": s.step.goal, "path": s.path, "why": s.reason} for s in run.losses.stale()
        ],
        "unmet": {":".join(pair): run.result(pair).uncovered for pair in pairs},
        "coverage": {
            ":".join(pair): {
                path: {"objects": use.objects, "values": use.values, "distinct": use.distinct}
                for path, use in sorted(run.result(pair).coverage.items())
            }
            for pair in pairs
        },
        "health": [message for pair in pairs if (message := proof_report.too_few_objects(run, pair))],
        "remarks": [
            {"check": remark.check, "message": remark.message, "position": _text(remark.position)}
            for remark in outcome.remarks
        ],
    }


def _result(outcome: ProofOutcome, name: str, pair: VersionPair, finding: Finding | None) -> JsonObject:
    out: JsonObject = {"property": name, "from": pair[0], "to": pair[1], "ok": finding is None}
    if finding is None:
        return out
    steps = proof_report.conversion_steps(outcome.run, pair, finding)
    out |= {
        "said": finding.message,
        "object": finding.obj,
        "converted": finding.converted,
        "returned": finding.returned,
        "differences": [*map(_difference, finding.differences)],
        "way": [str(step) for step in steps],
        "positions": [text for step in steps if (text := _text(step.position)) is not None],
        "advice": proof_report.advice(finding),
        "repeat": outcome.repeat(name, pair),
    }
    if finding.edit is not None:
        out["edit"] = _difference(Difference(*finding.edit[:3]))
    if finding.location:
        out["raised"] = finding.location
    return out


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _difference(difference: Difference) -> JsonObject:
    out: JsonObject = {"path": format_path(difference.path), "kind": difference.kind}
    if difference.before is not MISSING:
        out["before"] = difference.before
    if difference.after is not MISSING:
        out["after"] = difference.after
    return out
