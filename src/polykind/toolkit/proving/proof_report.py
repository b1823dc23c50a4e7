"""The texts of a proof run's report: a table of results, each failure with its smallest object, and the losses."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

import orjson

from polykind.codec import yaml_codec
from polykind.contract import JsonObject
from polykind.declare.conversions import NoWay
from polykind.evolution.schema_paths import similar_paths
from polykind.schema.node import SchemaNode
from polykind.toolkit.proving.case import Finding
from polykind.toolkit.proving.losses import ANY, Loss, parse_path
from polykind.toolkit.proving.object_diff import MISSING, Difference, format_path
from polykind.toolkit.proving.progress import VersionPair
from polykind.toolkit.proving.proof_run import ProofRun
from polykind.toolkit.reporting.source_positions import (
    SourcePosition,
    function_position,
    is_own_function,
    parse_position,
    relative_file,
)
from polykind.toolkit.reporting.terminal import Styled, Table, plain_table

ACKNOWLEDGED = "acknowledged-losses"
"""The name of the check that each acknowledged loss was observed in the run. It is evaluated after all properties."""
UNKNOWN_PATH = "unknown-path"
"""The name of the check that every field named by a rule is in the schema."""
TOO_FEW_OBJECTS = "too-few-objects"
"""The name of the check that enough generated objects were valid."""
_MAX_WIDTH = 60
_MAX_ROWS = 12
_ADVICE = {
    "never-fails": "Convert every valid object. Stash what the other version cannot represent, and never reject it.",
    "partial-object": 'Use obj.get("spec"), because server-side apply converts partial objects.',
    "edit-survives": 'Restore a stashed value only if its field was not edited: put(..., beside=["spec.x"]).',
    "edit-after-round-trip": "Remove the stash when you restore a value, so that it cannot overwrite a later edit.",
    "fixed-point": "Replace or remove your annotations in each conversion, and do not append to values.",
    "paths-agree": "Convert through one hub version, or keep the functions of all pairs of versions consistent.",
    "batch-independence": "Keep no state between two calls.",
    "order-kept": "Return the result for each object in its place, and keep no state between two calls.",
    "input-untouched": "Create lists and objects anew in each call, or copy them.",
    "metadata-kept": "Change nothing in metadata except labels and annotations.",
    "output-validates": "Convert to a value that the other schema accepts, or relax that schema.",
    "output-settled": "Write only fields of the schema, and write its defaults explicitly.",
    "deterministic": "Use no clock, randomness or counters: the same object must always give the same result.",
}
_CELLS = {
    "ok": Styled("ok", "ok"),
    "failed": Styled("FAILED", "error"),
    "untested": Styled("untested", "warning"),
    "": Styled(".", "muted"),
}
_LOSS_ADVICE = "Stash the value with put() and take(), or acknowledge the loss: loses={{{path}: {reason}}}."


class Remark(NamedTuple):
    """A problem of the run as a whole, such as a stale acknowledgement. `check` is the name of the check."""

    check: str
    message: str
    position: SourcePosition | None = None


def table(run: ProofRun, pairs: Sequence[VersionPair]) -> Table:
    """Return a table with a row per property and a column per version pair.

    A cell is ok, FAILED, untested, or a dot if the property does not apply to the pair.
    """
    out = Table(["", *(f"{origin} to {goal}" for origin, goal in pairs)])
    for name in run.properties:
        out.rows.append([name, *(_CELLS[property_result(run, name, pair)] for pair in pairs)])
    return out


def property_result(run: ProofRun, name: str, pair: VersionPair) -> Literal["ok", "failed", "untested", ""]:
    """Return the result of a property for a pair, or an empty string if the property does not apply to the pair."""
    if not run.applies(name, pair):
        return ""
    result = run.result(pair)
    return "failed" if name in result.failed else "ok" if result.tested else "untested"


def failure(run: ProofRun, pair: VersionPair, finding: Finding, rerun: str = "") -> str:
    """Describe a failure: the problem, the smallest object, the differences, the conversion path, and how to rerun."""
    name = finding.property
    lines = [f"{name}, {' to '.join(pair)}: {finding.message}"]
    if finding.location:
        lines += ["", f"  raised at {relative_file(finding.location)}"]
    lines += ["", "  the smallest object found that shows it:", *_indent(yaml(finding.obj), 4)]
    if finding.edit is not None:
        edit = Difference(finding.edit.path, finding.edit.before, finding.edit.after)
        lines += ["", f"  edited at {pair[1]}:", *_indent(format_differences([edit], edit=True), 4)]
    if finding.differences:
        lines += ["", "  what differs:", *_indent(format_differences(finding.differences), 4)]
    if steps := conversion_steps(run, pair, finding):
        lines += ["", "  conversion path:", *(f"    {step}" for step in steps)]
    lines += ["", f"  {advice(finding)}"]
    if rerun:
        lines += [f"  Run again: {rerun}"]
    return "\n".join(lines)


def general_advice(name: str) -> str:
    """Return a sentence that says how to make a property hold."""
    return _ADVICE.get(name) or _LOSS_ADVICE.format(path='"spec.x"', reason='"why"')


def advice(finding: Finding) -> str:
    """Return a sentence that says how to fix the converter."""
    if "missing metadata" in finding.message:
        return 'A result needs metadata even if the object has none: obj.setdefault("metadata", {}).'
    if finding.property in _ADVICE:
        return general_advice(finding.property)
    if finding.differences[0].kind == "invented":
        return "Do not invent fields: write a field only if the object has the corresponding field."
    path = re.sub(r"\[[0-9]+\]", "[*]", format_path(finding.differences[0].path))
    return _LOSS_ADVICE.format(path=f'"{path}"', reason='"why"')


class ConversionStep(NamedTuple):
    """A conversion function that a property calls. `position` is None if it has no Python source."""

    origin: str
    goal: str
    name: str
    position: SourcePosition | None

    def __str__(self) -> str:
        where = f" ({self.position})" if self.position is not None else ""
        return f"{self.origin} to {self.goal}  {self.name}{where}"


def conversion_steps(run: ProofRun, pair: VersionPair, finding: Finding) -> list[ConversionStep]:
    """Return the conversion functions that the property calls for the pair, in their order."""
    there_only = ("partial-object", "output-validates", "output-settled", "deterministic", "metadata-kept")
    back = finding.property not in (*there_only, "batch-independence", "order-kept", "input-untouched")
    out = []
    for origin, goal in (pair, pair[::-1])[: 2 if back else 1]:
        try:
            steps = run.converter.path(origin, goal)
        except NoWay:
            continue
        out += [ConversionStep(step.origin, step.goal, *describe_function(step.function)) for step in steps]
        function = run.converter.author or run.converter.function
        # A webhook and the strategy None have no function of the author: Polykind's own functions call them.
        if not steps and not is_own_function(function):
            out.append(ConversionStep(origin, goal, *describe_function(function)))
    return out


def describe_function(function: Callable[..., Any]) -> tuple[str, SourcePosition | None]:
    """Return a function's name, or `field rules` for declared rules, with its position."""
    inner = inspect.unwrap(function)
    inner = getattr(inner, "func", inner)
    position = function_position(function)
    if getattr(inner, "declared_at", ""):
        return "field rules", position
    return getattr(inner, "__qualname__", repr(inner)).rpartition("<locals>.")[2], position


def function_location(function: Callable[..., Any]) -> str:
    """Return a function's name with its file and line."""
    name, position = describe_function(function)
    return f"{name} ({position})" if position is not None else name


def format_differences(differences: Sequence[Difference], *, edit: bool = False) -> str:
    """Format differences, one line each. If `edit` is true, they are changes that a client made, so use other words."""
    words = {"dropped": "removed", "invented": "set", "changed": "changed"} if edit else {}
    rows = [[format_path(d.path), words.get(d.kind, d.kind), format_change(d)] for d in differences[:_MAX_ROWS]]
    more = [f"and {len(differences) - _MAX_ROWS} more"] if len(differences) > _MAX_ROWS else []
    return "\n".join([*plain_table(Table(rows=[*rows])), *more])


def format_change(difference: Difference) -> str:
    """Format how a field differs, on one line."""
    if difference.kind == "changed":
        return f"{format_value(difference.before)} -> {format_value(difference.after)}"
    return f"was {format_value(difference.before)}" if difference.after is MISSING else format_value(difference.after)


def format_example(difference: Difference) -> str:
    """Format the value of a field that differs, or the change if both objects have the field."""
    return (
        format_change(difference)
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


def loss_table(losses: Sequence[Loss]) -> Table:
    """Return the observed losses as a table."""
    out = Table()
    for loss in losses:
        acknowledged = Styled(f"acknowledged: {loss.reason}", "muted")
        out.rows.append(
            [
                f"{loss.origin} to {loss.goal}",
                Styled(loss.path, "path"),
                loss.kind,
                f"{loss.count} times",
                Styled("NOT ACKNOWLEDGED", "error") if loss.reason is None else acknowledged,
                f"e.g. {format_example(loss.example)}" if loss.reason is None else "",
            ]
        )
    return out


def stale_acknowledgements(run: ProofRun) -> list[Remark]:
    """Return a remark for each acknowledged loss that never happened."""
    return [
        Remark(
            ACKNOWLEDGED,
            f"the step from {loss.step.origin} to {loss.step.goal}, {function_location(loss.step.function)}, "
            f"acknowledges that it loses {loss.path} ({loss.reason}), but the field was never lost: remove it from "
            "loses=",
            function_position(loss.step.function),
        )
        for loss in run.losses.stale()
    ]


def unknown_paths(run: ProofRun) -> list[Remark]:
    """Return a remark for each field that a field rule names but the schema of that version does not have."""
    declared = run.converter.declared
    out = []
    for version, path, place in declared.named_paths if declared is not None else ():
        known = run.crd.versions.get(version)
        if known is not None and not _has_field(known.schema.root, parse_path(path)):
            position = parse_position(place)
            where = f" ({position})" if position is not None else ""
            message = f"a rule names {path} of {version}{where}, but the schema of {version} has no such field"
            if similar := similar_paths(known.openapi, path):
                message += f"; did you mean {' or '.join(similar)}?"
            out.append(Remark(UNKNOWN_PATH, message, position))
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
        f"of {total} objects generated at {pair[0]}, {few} was tested. They were rejected for: {reasons}. "
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


def _indent(text: str, by: int) -> list[str]:
    return [" " * by + line if line else "" for line in text.splitlines()]
