"""allOf, anyOf, oneOf and not, told as one plain schema: a branch is chosen, and what it asks joins the node.

What cannot be told so is found out by validation, and tried again.
"""

from __future__ import annotations

from typing import Any

from polykind.contract import JsonObject
from polykind.toolkit.proving.choices import Choices, RecordedChoices, pick

FORBIDDEN_KEY = "x-forbidden"
"""In a plain schema: the fields that an object must not have."""
_ORIGIN_KEY = "x-origin"
"""In a plain schema: the id of the node that it stands for."""
COMBINATORS = ("allOf", "anyOf", "oneOf", "not")
_LOWER_BOUNDS = ("minimum", "minLength", "minItems", "minProperties")
_UPPER_BOUNDS = ("maximum", "maxLength", "maxItems", "maxProperties")


def source_id(raw: JsonObject) -> int:
    """The id of the node of the definition that a schema stands for."""
    found: int = raw.get(_ORIGIN_KEY, id(raw))
    return found


def has_combinators(raw: JsonObject) -> bool:
    return any(key in raw for key in COMBINATORS)


class BranchSelector:
    """Schemas made plain. The same branch of the same node is always the same schema: others know it by its id."""

    def __init__(self) -> None:
        self._cache: dict[tuple[int, tuple[int, ...]], tuple[JsonObject, JsonObject]] = {}

    def choose(self, choices: Choices, raw: JsonObject) -> JsonObject:
        """A schema without junctors at this node, whose values mostly are good for the one given."""
        recorder = RecordedChoices(choices)
        recorded = choose_branches(
            recorder, _without_type_branches(raw) if raw.get("x-kubernetes-int-or-string") else raw
        )
        # The node is kept with what was made of it: its id must stay its own.
        return self._cache.setdefault((id(raw), tuple(recorder.recorded)), (recorded, raw))[0]


def choose_branches(choices: Choices, raw: JsonObject) -> JsonObject:
    """A schema without junctors at this node, whose values mostly are good for the one given."""
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
    """The schema with a branch made false, where that is easy: a field that the branch asks for is forbidden."""
    for option in branch.get("anyOf") or ():
        out = _exclude_branch(choices, out, option)
    options = [name for name in branch.get("required") or () if name not in out.get("required", ())]
    forbidden = out.get(FORBIDDEN_KEY, ())
    if not options or any(name in forbidden for name in options):
        return out
    # A branch that asks for more than fields may be false for that: the simplest is still to leave one out.
    return {**out, FORBIDDEN_KEY: (*forbidden, pick(choices, options))}


def merge_schemas(one: JsonObject, other: JsonObject) -> JsonObject:
    """A schema that asks what both ask; it stands for the first."""
    if not other:
        return one
    out = {**one, _ORIGIN_KEY: source_id(one)}
    for key, value in other.items():
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
            # Of two the narrower is the branch's own; validation has the last word.
            out[key] = value
        elif key in ("allOf", "anyOf", "oneOf"):
            out["allOf"] = [*out.get("allOf", ()), {key: value}]
    return out


def _merge_properties(one: JsonObject, other: JsonObject) -> JsonObject:
    out: dict[str, Any] = dict(one)
    for name, value in other.items():
        out[name] = merge_schemas(out[name], value) if isinstance(out.get(name), dict) else value
    return out


def _without_type_branches(raw: JsonObject) -> JsonObject:
    """An int-or-string without the anyOf that only repeats that it is one."""
    types = [branch.get("type") for branch in raw.get("anyOf") or ()]
    if types and set(types) <= {"integer", "string"}:
        return {key: value for key, value in raw.items() if key != "anyOf"}
    inner = [_without_type_branches({**part, "type": None}) for part in raw.get("allOf") or ()]
    parts = [{key: value for key, value in part.items() if key != "type"} for part in inner]
    return {**raw, "allOf": parts} if parts else raw
