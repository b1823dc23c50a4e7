"""The texts of a proof run's report: a table of results, each failure with its smallest object, and the losses."""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import orjson

from polykind.codec import yaml_codec
from polykind.contract import JsonObject
from polykind.schema.node import SchemaNode
from polykind.toolkit.declare.conversions import NoWay
from polykind.toolkit.proving.case import Finding
from polykind.toolkit.proving.losses import ANY, Loss, parse_path
from polykind.toolkit.proving.object_diff import MISSING, Difference, format_path
from polykind.toolkit.proving.progress import VersionPair
from polykind.toolkit.proving.proof_run import ProofRun
from polykind.toolkit.proving.properties import applies

ACKNOWLEDGED = "acknowledged-losses"
"""The name of the check that each acknowledged loss was observed in the run. It is evaluated after all properties."""
_MAX_WIDTH = 60
_MAX_ROWS = 12
_ADVICE = {
    "never-fails": "Convert every valid object. Stash what the other version cannot represent, and never reject it.",
    "partial-object": 'Use obj.get("spec"), because server-side apply converts partial objects.',
    "edit-survives": 'Restore a stashed value only if its field was not edited: put(..., beside=["spec.x"]).',
    "batch-independence": "Keep no state between two calls.",
    "order-kept": "Return the result for each object in its place, and keep no state between two calls.",
    "input-untouched": "Create lists and objects anew in each call, or copy them.",
    "metadata-kept": "Change nothing in metadata except labels and annotations.",
    "output-validates": "Convert to a value that the other schema accepts, or relax that schema.",
    "output-settled": "Write only fields of the schema, and write its defaults explicitly.",
    "deterministic": "Use no clock, randomness or counters: the same object must always give the same result.",
}
_LOSS_ADVICE = "Stash the value with put() and take(), or acknowledge the loss: loses={{{path}: {reason}}}."


def table(run: ProofRun, pairs: Sequence[VersionPair]) -> str:
    """Return a table with a row per property and a column per version pair.

    A cell is ok, FAILED, or a dot if the property does not apply to the pair.
    """
    rows = [["", *(f"{origin} to {goal}" for origin, goal in pairs)]]
    for name in run.properties:
        row = [name]
        for pair in pairs:
            about = applies(name, pair[0] == run.crd.storage)
            tested = run.result(pair)
            result = "FAILED" if name in tested.failed else "ok" if tested.tested else "untested"
            row.append(result if about else ".")
        rows.append(row)
    return "\n".join(_columns(rows))


def failure(run: ProofRun, pair: VersionPair, finding: Finding, rerun: str = "") -> str:
    """Describe a failure: the problem, the smallest object, the differences, the conversion path, and how to rerun."""
    name = finding.property
    lines = [f"{name}, {' to '.join(pair)}: {finding.message}"]
    if finding.location:
        lines += ["", f"  raised at {_relative(finding.location)}"]
    lines += ["", "  the smallest object found that shows it:", *_indent(yaml(finding.obj), 4)]
    if finding.edit is not None:
        edit = Difference(finding.edit.path, finding.edit.before, finding.edit.after)
        lines += ["", f"  edited at {pair[1]}:", *_indent(format_differences([edit], edit=True), 4)]
    if finding.differences:
        lines += ["", "  what differs:", *_indent(format_differences(finding.differences), 4)]
    lines += ["", "  conversion path:", *_indent("\n".join(conversion_path(run, pair, finding)), 4)]
    lines += ["", f"  {_advice(finding)}"]
    if rerun:
        lines += [f"  Run again: {rerun}"]
    return "\n".join(lines)


def _advice(finding: Finding) -> str:
    if "missing metadata" in finding.message:
        return 'A result needs metadata even if the object has none: obj.setdefault("metadata", {}).'
    if finding.property in _ADVICE:
        return _ADVICE[finding.property]
    if finding.differences[0].kind == "invented":
        return "Do not invent fields: write a field only if the object has the corresponding field."
    path = re.sub(r"\[[0-9]+\]", "[*]", format_path(finding.differences[0].path))
    return _LOSS_ADVICE.format(path=f'"{path}"', reason='"why"')


def conversion_path(run: ProofRun, pair: VersionPair, finding: Finding) -> Iterator[str]:
    """Yield a line for each conversion function that the property calls for the pair, with its file and line."""
    there_only = ("partial-object", "output-validates", "output-settled", "deterministic", "metadata-kept")
    back = finding.property not in (*there_only, "batch-independence", "order-kept", "input-untouched")
    for origin, goal in (pair, pair[::-1])[: 2 if back else 1]:
        try:
            steps = run.converter.path(origin, goal)
        except NoWay:
            continue
        for step in steps:
            yield f"{step.origin} to {step.goal}  {function_location(step.function)}"
        if not steps:
            yield f"{origin} to {goal}  {function_location(run.converter.author or run.converter.function)}"


def function_location(function: Callable[..., Any]) -> str:
    """Return a function's name with its file and line."""
    inner = inspect.unwrap(function)
    inner = getattr(inner, "func", inner)
    if place := getattr(inner, "declared_at", ""):
        return f"field rules ({_relative(place)})"
    code = getattr(inner, "__code__", None)
    name = getattr(inner, "__qualname__", repr(inner)).rpartition("<locals>.")[2]
    return f"{name} ({_relative(code.co_filename)}:{code.co_firstlineno})" if code else name


def _relative(place: str) -> str:
    """Return a file location relative to the working directory, or unchanged if the file lies outside."""
    here = os.getcwd() + os.sep
    return place.removeprefix(here)


def format_differences(differences: Sequence[Difference], *, edit: bool = False) -> str:
    """Format differences, one line each. If `edit` is true, they are changes that a client made, so use other words."""
    words = {"dropped": "removed", "invented": "set", "changed": "changed"} if edit else {}
    rows = [[format_path(d.path), words.get(d.kind, d.kind), _format_change(d)] for d in differences[:_MAX_ROWS]]
    more = [f"and {len(differences) - _MAX_ROWS} more"] if len(differences) > _MAX_ROWS else []
    return "\n".join([*_columns(rows), *more])


def _format_change(difference: Difference) -> str:
    if difference.kind == "changed":
        return f"{format_value(difference.before)} -> {format_value(difference.after)}"
    return f"was {format_value(difference.before)}" if difference.after is MISSING else format_value(difference.after)


def _format_example(difference: Difference) -> str:
    return (
        _format_change(difference)
        if difference.kind == "changed"
        else format_value(difference.before if difference.after is MISSING else difference.after)
    )


def format_value(value: Any) -> str:
    """Format a value on one line, truncated if it is long."""
    text = orjson.dumps(value).decode()
    return text if len(text) <= _MAX_WIDTH else f"{text[: _MAX_WIDTH - 3]}..."


def yaml(obj: JsonObject) -> str:
    first = ("apiVersion", "kind", "metadata")
    ordered = {key: obj[key] for key in (*first, *(key for key in obj if key not in first)) if key in obj}
    return yaml_codec.encode_ordered(ordered).decode().rstrip()


def loss_table(losses: Sequence[Loss]) -> str:
    """Format the observed losses as a table."""
    rows = [
        [
            f"{loss.origin} to {loss.goal}",
            loss.path,
            loss.kind,
            f"{loss.count} times",
            f"acknowledged: {loss.reason}" if loss.reason is not None else "NOT ACKNOWLEDGED",
            "" if loss.reason is not None else f"e.g. {_format_example(loss.example)}",
        ]
        for loss in losses
    ]
    return "\n".join(_columns(rows))


def stale_acknowledgements(run: ProofRun) -> list[str]:
    """Return a message for each acknowledged loss that never happened."""
    return [
        f"the step from {loss.step.origin} to {loss.step.goal}, {function_location(loss.step.function)}, "
        f"acknowledges that it loses {loss.path} ({loss.reason}), but the field was never lost: remove it from loses="
        for loss in run.losses.stale()
    ]


def unknown_paths(run: ProofRun) -> list[str]:
    """Return a message for each field that a field rule names but the schema of that version does not have."""
    declared = run.converter.declared
    out = []
    for version, path, place in declared.named_paths if declared is not None else ():
        known = run.crd.versions.get(version)
        if known is not None and not _has_field(known.schema.root, parse_path(path)):
            where = f" ({_relative(place)})" if place else ""
            out.append(f"a rule names {path} of {version}{where}, but the schema of {version} has no such field")
    return out


def _has_field(node: SchemaNode | None, path: tuple[str, ...]) -> bool:
    """True if a schema specifies the field at a path, or preserves unknown fields in one of its parents."""
    for name in path:
        if node is None or node.preserve_unknown:
            return True
        node = node.items if name == ANY and node.items is not None else node.child(name)
        if node is None:
            return False
    return True


def too_few_objects(run: ProofRun, pair: VersionPair) -> str:
    """Return a warning if too few of the objects generated for a version pair were valid, else an empty string."""
    result = run.result(pair)
    if result.tested >= max(1, run.examples // 5) or not result.invalid:
        return ""
    total = result.tested + result.invalid
    reasons = "; ".join(f"{message} ({count} times)" for message, count in result.rejections)
    few = f"only {result.tested} were valid, so little" if result.tested else "none was valid, so nothing"
    return (
        f"of {total} objects generated at {pair[0]}, {few} is proven. They were rejected for: {reasons}. "
        "Pass real objects as samples: they are used unchanged and with exchanged fields."
    )


def uncovered_fields(run: ProofRun, pairs: Sequence[VersionPair]) -> list[str]:
    """Return a message for each version that has schema fields which no tested object had."""
    uncovered: dict[str, set[str]] = {}
    for pair in pairs:
        result = run.result(pair)
        if result.tested:
            uncovered[pair[0]] = uncovered.get(pair[0], set(result.uncovered)) & set(result.uncovered)
    out = []
    for version, paths in uncovered.items():
        if paths:
            more = f" and {len(paths) - _MAX_ROWS} more" if len(paths) > _MAX_ROWS else ""
            listed = ", ".join(sorted(paths)[:_MAX_ROWS]) + more
            out.append(
                f"no object had these fields of {version}: {listed}. Generate more objects, or pass samples with them."
            )
    return out


def to_json(run: ProofRun, pairs: Sequence[VersionPair]) -> JsonObject:
    """Return the results of the run for these version pairs as a JSON object."""
    results = []
    for name, pair in run.cases():
        if pair not in pairs:
            continue
        finding = run.finding(name, pair)
        result: JsonObject = {"property": name, "from": pair[0], "to": pair[1], "ok": finding is None}
        if finding is not None:
            result |= {
                "said": finding.message,
                "object": finding.obj,
                "differences": [*map(_difference, finding.differences)],
            }
            if finding.edit is not None:
                result["edit"] = _difference(Difference(*finding.edit[:3]))
            if finding.location:
                result["raised"] = finding.location
            result["way"] = list(conversion_path(run, pair, finding))
        results.append(result)
    return {
        "definition": run.crd.name,
        "seed": run.seed,
        "examples": {f"{origin}:{goal}": run.result((origin, goal)).tested for origin, goal in pairs},
        "results": results,
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
            for loss in run.losses.matrix()
        ],
        "stale": [
            {"from": s.step.origin, "to": s.step.goal, "path": s.path, "why": s.reason} for s in run.losses.stale()
        ],
        "unmet": {":".join(pair): run.result(pair).uncovered for pair in pairs},
        "health": [message for pair in pairs if (message := too_few_objects(run, pair))],
    }


def _difference(difference: Difference) -> JsonObject:
    out: JsonObject = {"path": format_path(difference.path), "kind": difference.kind}
    if difference.before is not MISSING:
        out["before"] = difference.before
    if difference.after is not MISSING:
        out["after"] = difference.after
    return out


def _columns(rows: list[list[str]]) -> list[str]:
    if not rows:
        return []
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def _indent(text: str, by: int) -> list[str]:
    return [" " * by + line if line else "" for line in text.splitlines()]
