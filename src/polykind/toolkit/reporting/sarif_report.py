"""SARIF 2.1.0, the format in which code scanning tools report results."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from polykind import __version__
from polykind.contract import JsonObject
from polykind.toolkit.reporting.problem import Problem, Rule
from polykind.toolkit.reporting.source_positions import SourcePosition

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_ROOT = "SRCROOT"


def sarif_log(
    command: str,
    rules: Sequence[Rule],
    problems: Sequence[Problem],
    *,
    complete: bool = True,
    properties: Mapping[str, Any] | None = None,
) -> JsonObject:
    """Return a SARIF log with one run. Raise ValueError if a problem has a rule that is not in `rules`.

    `command` is the command that ran, such as `prove`. `complete` is false if the run was interrupted. Files below the
    working directory are named relative to it, so that the log means the same on another machine.
    """
    indexes = {rule.id: index for index, rule in enumerate(rules)}
    if unknown := [problem.rule for problem in problems if problem.rule not in indexes]:
        raise ValueError(f"the rule {unknown[0]} is not listed")
    driver: JsonObject = {
        "name": f"polykind {command}",
        "version": __version__,
        "rules": [_rule(rule) for rule in rules],
    }
    run: JsonObject = {
        "tool": {"driver": driver},
        "invocations": [{"executionSuccessful": complete}],
        "originalUriBaseIds": {_ROOT: {"description": {"text": "The working directory of the run."}}},
        "columnKind": "unicodeCodePoints",
        "results": [_result(problem, indexes[problem.rule]) for problem in problems],
    }
    if properties:
        run["properties"] = dict(properties)
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(rule: Rule) -> JsonObject:
    out: JsonObject = {"id": rule.id, "shortDescription": {"text": rule.summary}}
    if rule.advice:
        out["help"] = {"text": rule.advice}
    return out


def _result(problem: Problem, index: int) -> JsonObject:
    text = f"{problem.subject}: {problem.message}" if problem.subject else problem.message
    out: JsonObject = {
        "ruleId": problem.rule,
        "ruleIndex": index,
        "level": problem.level,
        "message": {"text": f"{text}\n\n{problem.details}" if problem.details else text},
        # Code scanning tools use the fingerprint to recognize a problem of an earlier run after lines have moved.
        "partialFingerprints": {"polykind/v1": _fingerprint(problem)},
    }
    if problem.position is not None:
        out["locations"] = [{"physicalLocation": _location(problem.position)}]
    if problem.related:
        out["relatedLocations"] = [
            {"id": number, "message": {"text": label}, "physicalLocation": _location(position)}
            for number, (label, position) in enumerate(problem.related, 1)
        ]
    return out


def _fingerprint(problem: Problem) -> str:
    file = os.path.basename(problem.position.file) if problem.position is not None else ""
    return hashlib.sha256("\0".join((problem.rule, problem.subject, file)).encode()).hexdigest()[:32]


def _location(position: SourcePosition) -> JsonObject:
    path = Path(os.path.abspath(position.file))
    root = Path.cwd()
    artifact: JsonObject = {"uri": path.as_uri()}
    if path.is_relative_to(root):
        base = root.as_uri().rstrip("/") + "/"
        artifact = {"uri": path.as_uri().removeprefix(base), "uriBaseId": _ROOT}
    out: JsonObject = {"artifactLocation": artifact}
    if position.line:
        out["region"] = {"startLine": position.line}
    return out
