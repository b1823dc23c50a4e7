"""Replays of recorded apply requests, compared with kube-apiserver's responses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from polykind import errors
from tests.apply.garden import Garden, parse

FOLDER = Path(__file__).parents[1] / "conformance" / "scenarios" / "apply"
# Excluded: recordings whose outcome depends on the verb (no-op applies, YAML errors), on schema changes or on built-in
# kinds.
ELSEWHERE = ("nothing-new", "reset-status", "schema-changed", "built-in")
NAMES = sorted(path.stem for path in FOLDER.glob("*.yaml") if path.stem not in ELSEWHERE)


def substitute(value: Any, variables: dict[str, Any]) -> Any:
    if isinstance(value, str):
        for _ in range(2):
            for name, text in variables.items():
                if isinstance(text, str):
                    value = value.replace("{{" + name + "}}", text)
                elif value == "{{" + name + "}}":
                    return substitute(text, variables)
        return value
    if isinstance(value, list):
        return [substitute(item, variables) for item in value]
    if isinstance(value, dict):
        return {substitute(key, variables): substitute(item, variables) for key, item in value.items()}
    return value


def without_times(entries: Any) -> Any:
    return [{**entry, "time": "<time>"} if "time" in entry else entry for entry in entries or []] or None


@pytest.mark.parametrize("name", NAMES)
async def test_responses_match_kube_apiserver(name: str) -> None:
    scenario = yaml.safe_load((FOLDER / f"{name}.yaml").read_text())
    recorded = {answer["step"]: answer for answer in json.loads((FOLDER / f"{name}.recorded.json").read_text())}
    variables = {"group": f"{name}-apply.example.com", **scenario.get("vars", {}), "rv": "1", "uid": "u"}
    steps = substitute(scenario["steps"], variables)
    garden = Garden(steps[0]["body"])
    for index, step in enumerate(steps):
        if "sleep" in step:
            garden.seconds += 1
        answer = recorded.get(index)
        if index == 0 or "until" in step or "sleep" in step or answer is None:
            continue
        expected = answer["body"]
        code = answer["status"]
        causes = expected.get("details", {}).get("causes", [])
        if code >= 400 and code not in (400, 500) and not any("Conflict" in cause["reason"] for cause in causes):
            continue  # the verb's own checks
        method = next(verb for verb in ("GET", "PUT", "POST", "PATCH", "DELETE") if verb in step)
        sent = parse(step["raw"]) if "raw" in step and "unclosed" not in step["raw"] else step.get("body")
        if sent is None and method == "PATCH":
            continue
        request = garden.call(method, step[method], step.get("type", ""), sent)
        if code >= 400:
            with pytest.raises(errors.APIError) as caught:
                await request
            assert caught.value.code == code
            assert caught.value.message == expected.get("message", caught.value.message)
            assert caught.value.details.get("causes", []) == causes
            continue
        got = await request
        if method == "DELETE":
            continue
        for field in ("spec", "status"):
            assert got.get(field) == expected.get(field), (index, field)
        for field in ("labels", "annotations"):
            assert got["metadata"].get(field) == expected["metadata"].get(field), (index, field)
        if step.get("managedFields"):
            assert without_times(got["metadata"].get("managedFields")) == without_times(
                expected["metadata"].get("managedFields")
            ), index
