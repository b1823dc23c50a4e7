"""What a trial found, for people: a table, each failure with the smallest object, and what was lost."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import orjson

from polykind.codec import yaml_codec
from polykind.contract import JsonObject
from polykind.toolkit.declare.conversions import NoWay
from polykind.toolkit.proving.case import Finding
from polykind.toolkit.proving.differences import ABSENT, Difference, spelled
from polykind.toolkit.proving.losses import Loss
from polykind.toolkit.proving.properties import applies
from polykind.toolkit.proving.trial import Pair, Trial

ACKNOWLEDGED = "acknowledged-losses"
"""The name of the last proof: what authors say is lost really is."""
_WIDE = 60
_MANY = 12
_ADVICE = {
    "never-fails": "Convert every valid object: what the other version cannot say is kept aside, never refused.",
    "partial-object": 'Read with obj.get("spec"): server-side apply converts objects that are not whole.',
    "edit-survives": 'Of what is kept aside, restore only what was not edited: put(..., beside=["spec.x"]).',
    "batch-independence": "Keep nothing between two calls.",
    "order-kept": "Answer each object with its own conversion: keep nothing between two calls.",
    "input-untouched": "Build lists and objects anew in each call, or copy them.",
    "metadata-kept": "Leave metadata alone, but for labels and annotations.",
    "output-validates": "Convert to what the other schema accepts, or let it accept more: objects must stay writable.",
    "output-settled": "Write only fields that the schema knows, and write its defaults out.",
    "deterministic": "No clock, no chance, no counter: the same object must always become the same.",
}
_KEEP = "Keep it aside with put() and take(), or acknowledge it on the step: loses={{{path}: {why}}}."


def table(trial: Trial, pairs: Sequence[Pair]) -> str:
    """Property by pair: ok or FAILED; a dot where a property is about other pairs."""
    rows = [["", *(f"{origin} to {goal}" for origin, goal in pairs)]]
    for name in trial.properties:
        row = [name]
        for pair in pairs:
            about = applies(name, pair[0] == trial.definition.storage)
            verdict = trial.verdict(pair)
            result = "FAILED" if name in verdict.broken else "ok" if verdict.tried else "untried"
            row.append(result if about else ".")
        rows.append(row)
    return "\n".join(_columns(rows))


def failure(trial: Trial, pair: Pair, found: Finding, again: str = "") -> str:
    """One failure: what is wrong, the smallest object, what came of it, the way it took, and how to see it again."""
    name = found.property
    lines = [f"{name}, {' to '.join(pair)}: {found.said}"]
    if found.where:
        lines += ["", f"  raised at {_shortened(found.where)}"]
    lines += ["", "  the smallest object found that shows it:", *_indented(yaml(found.obj), 4)]
    if found.edit is not None:
        edit = Difference(found.edit.path, found.edit.before, found.edit.after)
        lines += ["", f"  edited at {pair[1]}:", *_indented(changes([edit], edit=True), 4)]
    if found.differences:
        lines += ["", "  what differs:", *_indented(changes(found.differences), 4)]
    lines += ["", "  the way:", *_indented("\n".join(way(trial, pair, found)), 4)]
    lines += ["", f"  {_advice(found)}"]
    if again:
        lines += [f"  Again: {again}"]
    return "\n".join(lines)


def _advice(found: Finding) -> str:
    if "missing metadata" in found.said:
        return 'An answer needs metadata, even where the object has none: obj.setdefault("metadata", {}).'
    if found.property in _ADVICE:
        return _ADVICE[found.property]
    if found.differences[0].kind == "invented":
        return "What an object does not say must stay unsaid: write a field only if the other version has it."
    return _KEEP.format(path=f'"{spelled(found.differences[0].path)}"', why='"why"')


def way(trial: Trial, pair: Pair, found: Finding) -> Iterator[str]:
    """The steps that were taken, by function and line."""
    there_only = ("partial-object", "output-validates", "output-settled", "deterministic", "metadata-kept")
    back = found.property not in (*there_only, "batch-independence", "order-kept", "input-untouched")
    for origin, goal in (pair, pair[::-1])[: 2 if back else 1]:
        try:
            steps = trial.converter.way(origin, goal)
        except NoWay:
            continue
        for step in steps:
            yield f"{step.origin} to {step.goal}  {located(step.function)}"
        if not steps:
            yield f"{origin} to {goal}  {located(trial.converter.author or trial.converter.function)}"


def located(function: Callable[..., Any]) -> str:
    """A function by its name and line."""
    inner = inspect.unwrap(function)
    inner = getattr(inner, "func", inner)
    code = getattr(inner, "__code__", None)
    name = getattr(inner, "__qualname__", repr(inner)).rpartition("<locals>.")[2]
    return f"{name} ({_shortened(code.co_filename)}:{code.co_firstlineno})" if code else name


def _shortened(place: str) -> str:
    """A place in a file, from here if it lies below."""
    here = os.getcwd() + os.sep
    return place.removeprefix(here)


def changes(found: Sequence[Difference], *, edit: bool = False) -> str:
    """Differences, a line each."""
    words = {"dropped": "removed", "invented": "set", "changed": "changed"} if edit else {}
    rows = [[spelled(d.path), words.get(d.kind, d.kind), _told(d)] for d in found[:_MANY]]
    more = [f"and {len(found) - _MANY} more"] if len(found) > _MANY else []
    return "\n".join([*_columns(rows), *more])


def _told(found: Difference) -> str:
    if found.kind == "changed":
        return f"{shown(found.before)} -> {shown(found.after)}"
    return f"was {shown(found.before)}" if found.after is ABSENT else shown(found.after)


def _example(found: Difference) -> str:
    return _told(found) if found.kind == "changed" else shown(found.before if found.after is ABSENT else found.after)


def shown(value: Any) -> str:
    """A value on one line, cut where it is long."""
    text = orjson.dumps(value).decode()
    return text if len(text) <= _WIDE else f"{text[: _WIDE - 3]}..."


def yaml(obj: JsonObject) -> str:
    first = ("apiVersion", "kind", "metadata")
    ordered = {key: obj[key] for key in (*first, *(key for key in obj if key not in first)) if key in obj}
    return yaml_codec.encode_ordered(ordered).decode().rstrip()


def matrix(losses: Sequence[Loss]) -> str:
    """What was lost on the way from a version to another and back: that which nobody acknowledges comes first."""
    rows = [
        [
            f"{loss.origin} to {loss.goal}",
            loss.path,
            loss.kind,
            f"{loss.count} times",
            f"acknowledged: {loss.why}" if loss.why is not None else "NOT ACKNOWLEDGED",
            "" if loss.why is not None else f"e.g. {_example(loss.example)}",
        ]
        for loss in losses
    ]
    return "\n".join(_columns(rows))


def stale(trial: Trial) -> list[str]:
    """What is said of acknowledgements under which nothing was lost."""
    return [
        f"the step from {said.step.origin} to {said.step.goal}, {located(said.step.function)}, says that it loses "
        f"{said.path} ({said.why}), but it was never lost: remove it from loses="
        for said in trial.losses.stale()
    ]


def health(trial: Trial, pair: Pair) -> str:
    """What is to be said about the objects themselves, if too few of them could be made."""
    verdict = trial.verdict(pair)
    if verdict.tried >= max(1, trial.examples // 5) or not verdict.wasted:
        return ""
    total = verdict.tried + verdict.wasted
    reasons = "; ".join(f"{said} ({count} times)" for said, count in verdict.refused)
    few = f"only {verdict.tried} were valid, so little" if verdict.tried else "none was valid, so nothing"
    return (
        f"of {total} objects generated at {pair[0]} {few} is proven. They were refused for: {reasons}. "
        "Hand in real objects as samples: they are used as they are and with pieces exchanged."
    )


def unmet(trial: Trial, pairs: Sequence[Pair]) -> list[str]:
    """What is to be said of fields that no object had, for each version they are of."""
    found: dict[str, set[str]] = {}
    for pair in pairs:
        verdict = trial.verdict(pair)
        if verdict.tried:
            found[pair[0]] = found.get(pair[0], set(verdict.unmet)) & set(verdict.unmet)
    out = []
    for version, paths in found.items():
        if paths:
            more = f" and {len(paths) - _MANY} more" if len(paths) > _MANY else ""
            shown = ", ".join(sorted(paths)[:_MANY]) + more
            out.append(
                f"no object had these fields of {version}: {shown}. More objects may, or samples that have them."
            )
    return out


def as_json(trial: Trial, pairs: Sequence[Pair]) -> JsonObject:
    """All of it, for programs."""
    results = []
    for name, pair in trial.cases():
        if pair not in pairs:
            continue
        found = trial.finding(name, pair)
        result: JsonObject = {"property": name, "from": pair[0], "to": pair[1], "ok": found is None}
        if found is not None:
            result |= {"said": found.said, "object": found.obj, "differences": [*map(_difference, found.differences)]}
            if found.edit is not None:
                result["edit"] = _difference(Difference(*found.edit[:3]))
            if found.where:
                result["raised"] = found.where
            result["way"] = list(way(trial, pair, found))
        results.append(result)
    return {
        "definition": trial.definition.name,
        "seed": trial.seed,
        "examples": {f"{one}:{other}": trial.verdict((one, other)).tried for one, other in pairs},
        "results": results,
        "losses": [
            {
                "from": loss.origin,
                "to": loss.goal,
                "path": loss.path,
                "kind": loss.kind,
                "count": loss.count,
                "acknowledged": loss.why,
                "example": _difference(loss.example),
            }
            for loss in trial.losses.matrix()
        ],
        "stale": [
            {"from": s.step.origin, "to": s.step.goal, "path": s.path, "why": s.why} for s in trial.losses.stale()
        ],
        "unmet": {":".join(pair): trial.verdict(pair).unmet for pair in pairs},
        "health": [said for pair in pairs if (said := health(trial, pair))],
    }


def _difference(found: Difference) -> JsonObject:
    out: JsonObject = {"path": spelled(found.path), "kind": found.kind}
    if found.before is not ABSENT:
        out["before"] = found.before
    if found.after is not ABSENT:
        out["after"] = found.after
    return out


def _columns(rows: list[list[str]]) -> list[str]:
    if not rows:
        return []
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def _indented(text: str, by: int) -> list[str]:
    return [" " * by + line if line else "" for line in text.splitlines()]
