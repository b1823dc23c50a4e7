"""Reduction of allOf, anyOf, oneOf and not to a plain schema: choose a branch and merge it into the node.

The merged schema may miss constraints. The generator therefore validates each value and retries if it is invalid.
"""

from __future__ import annotations

from typing import Any

from polykind.contract import JsonObject
from polykind.toolkit.proving.choices import Choices, RecordedChoices, pick

FORBIDDEN_KEY = "x-forbidden"
"""Key in a plain schema (one without combinators): the fields that an object must not have."""
_ORIGIN_KEY = "x-origin"
"""Key in a plain schema (one without combinators): the id of the schema node that it was derived from."""
COMBINATORS = ("allOf", "anyOf", "oneOf", "not")
_LOWER_BOUNDS = ("minimum", "minLength", "minItems", "minProperties")
_UPPER_BOUNDS = ("maximum", "maxLength", "maxItems", "maxProperties")


def source_id(raw: JsonObject) -> int:
    """Return the id of the original schema node."""
    node_id: int = raw.get(_ORIGIN_KEY, id(raw))
    return node_id


def has_combinators(raw: JsonObject) -> bool:
    return any(key in raw for key in COMBINATORS)


class BranchSelector:
    """Caches plain schemas. Equal choices for a node return the same dict, because callers use its id as a key."""

    def __init__(self) -> None:
        self._cache: dict[tuple[int, tuple[int, ...]], tuple[JsonObject, JsonObject]] = {}

    def choose(self, choices: Choices, raw: JsonObject) -> JsonObject:
        """Return a schema without combinators at its root. Most of its values are also valid for `raw`."""
        recorder = RecordedChoices(choices)
        recorded = choose_branches(
            recorder, _without_type_branches(raw) if raw.get("x-kubernetes-int-or-string") else raw
        )
        # Keep the original schema alive, so that its id stays unique.
        return self._cache.setdefault((id(raw), tuple(recorder.recorded)), (recorded, raw))[0]


def choose_branches(choices: Choices, raw: JsonObject) -> JsonObject:
    """Return a schema without combinators at its root. Most of its values are also valid for `raw`."""
    out = {key: value for key, value in raw.items() if key not in COMBINATORS}
    for part in raw.get("allOf") or ():
        out = merge_schemas(out, choose_branches(choices, part))
    if raw.get("anyOf"):
        out = merge_schemas(out, choose_branches(choices, pick(choices, raw["anyOf"])))
    if raw.get("oneOf"):
        chosen = choices.up_to(len(raw["oneOf"]) - 1)
        out = merge_schemas(out, choose_branches(choices, raw["oneOf"][chosen]))
        for at, branch in enumerate(raw["oneOf"]):
            if at != chosen:
                out = _exclude_branch(choices, out, branch)
    if raw.get("not"):
        out = _exclude_branch(choices, out, raw["not"])
    return out


def _exclude_branch(choices: Choices, out: JsonObject, branch: JsonObject) -> JsonObject:
    """Forbid in `out` a field that `branch` requires, so that generated objects do not match the branch."""
    for option in branch.get("anyOf") or ():
        out = _exclude_branch(choices, out, option)
    options = [name for name in branch.get("required") or () if name not in out.get("required", ())]
    forbidden = out.get(FORBIDDEN_KEY, ())
    if not options or any(name in forbidden for name in options):
        return out
    # The branch may have other conditions, but the simplest object that does not match it lacks a required field.
    return {**out, FORBIDDEN_KEY: (*forbidden, pick(choices, options))}


def merge_schemas(first: JsonObject, second: JsonObject) -> JsonObject:
    """Return a schema with the constraints of both schemas and the source id of `first`."""
    if not second:
        return first
    out = {**first, _ORIGIN_KEY: source_id(first)}
    for key, value in second.items():
        if key not in out:
            out[key] = value
        elif key == "required" or key == FORBIDDEN_KEY:
            out[key] = list(dict.fromkeys((*out[key], *value)))
        elif key == "properties":
            out[key] = _merge_properties(out[key], value)
        elif key in ("items", "additionalProperties") and isinstance(value, dict) and isinstance(out[key], dict):
            out[key] = merge_schemas(out[key], value)
        elif key == "enum":
            out[key] = [item for item in out[key] if item in value] or value
        elif key in _LOWER_BOUNDS:
            out[key] = max(out[key], value)
        elif key in _UPPER_BOUNDS:
            out[key] = min(out[key], value)
        elif key in ("pattern", "format", "multipleOf"):
            # The second schema is usually narrower. Validation rejects values that violate the first.
            out[key] = value
        elif key in ("allOf", "anyOf", "oneOf"):
            out["allOf"] = [*out.get("allOf", ()), {key: value}]
    return out


def _merge_properties(first: JsonObject, second: JsonObject) -> JsonObject:
    out: dict[str, Any] = dict(first)
    for name, value in second.items():
        out[name] = merge_schemas(out[name], value) if isinstance(out.get(name), dict) else value
    return out


def _without_type_branches(raw: JsonObject) -> JsonObject:
    """Return an int-or-string schema without an anyOf that only lists the types integer and string."""
    types = [branch.get("type") for branch in raw.get("anyOf") or ()]
    if types and set(types) <= {"integer", "string"}:
        return {key: value for key, value in raw.items() if key != "anyOf"}
    inner = [_without_type_branches({**part, "type": None}) for part in raw.get("allOf") or ()]
    parts = [{key: value for key, value in part.items() if key != "type"} for part in inner]
    return {**raw, "allOf": parts} if parts else raw
