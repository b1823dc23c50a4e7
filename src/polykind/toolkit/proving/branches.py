"""allOf, anyOf, oneOf and not, told as one plain schema: a branch is chosen, and what it asks joins the node.

What cannot be told so is found out by validation, and tried again.
"""

from __future__ import annotations

from typing import Any

from polykind.contract import JsonObject
from polykind.toolkit.proving.choices import Choices, RecordedChoices, pick

FORBIDDEN = "x-forbidden"
"""In a plain schema: the fields that an object must not have."""
ORIGIN = "x-origin"
"""In a plain schema: the id of the node that it stands for."""
JUNCTORS = ("allOf", "anyOf", "oneOf", "not")
_HIGHEST = ("minimum", "minLength", "minItems", "minProperties")
_LOWEST = ("maximum", "maxLength", "maxItems", "maxProperties")


def origin(raw: JsonObject) -> int:
    """The id of the node of the definition that a schema stands for."""
    found: int = raw.get(ORIGIN, id(raw))
    return found


def has_junctors(raw: JsonObject) -> bool:
    return any(key in raw for key in JUNCTORS)


class Branches:
    """Schemas made plain. The same branch of the same node is always the same schema: others know it by its id."""

    def __init__(self) -> None:
        self._made: dict[tuple[int, tuple[int, ...]], tuple[JsonObject, JsonObject]] = {}

    def plain(self, choices: Choices, raw: JsonObject) -> JsonObject:
        """A schema without junctors at this node, whose values mostly are good for the one given."""
        noted = RecordedChoices(choices)
        made = plain(noted, _without_types(raw) if raw.get("x-kubernetes-int-or-string") else raw)
        # The node is kept with what was made of it: its id must stay its own.
        return self._made.setdefault((id(raw), tuple(noted.made)), (made, raw))[0]


def plain(choices: Choices, raw: JsonObject) -> JsonObject:
    """A schema without junctors at this node, whose values mostly are good for the one given."""
    out = {key: value for key, value in raw.items() if key not in JUNCTORS}
    for part in raw.get("allOf") or ():
        out = merged(out, plain(choices, part))
    if raw.get("anyOf"):
        out = merged(out, plain(choices, pick(choices, raw["anyOf"])))
    if raw.get("oneOf"):
        chosen = choices.upto(len(raw["oneOf"]) - 1)
        out = merged(out, plain(choices, raw["oneOf"][chosen]))
        for at, branch in enumerate(raw["oneOf"]):
            if at != chosen:
                out = _denied(choices, out, branch)
    if raw.get("not"):
        out = _denied(choices, out, raw["not"])
    return out


def _denied(choices: Choices, out: JsonObject, branch: JsonObject) -> JsonObject:
    """The schema with a branch made false, where that is easy: a field that the branch asks for is forbidden."""
    for option in branch.get("anyOf") or ():
        out = _denied(choices, out, option)
    options = [name for name in branch.get("required") or () if name not in out.get("required", ())]
    forbidden = out.get(FORBIDDEN, ())
    if not options or any(name in forbidden for name in options):
        return out
    # A branch that asks for more than fields may be false for that: the simplest is still to leave one out.
    return {**out, FORBIDDEN: (*forbidden, pick(choices, options))}


def merged(one: JsonObject, other: JsonObject) -> JsonObject:
    """A schema that asks what both ask; it stands for the first."""
    if not other:
        return one
    out = {**one, ORIGIN: origin(one)}
    for key, value in other.items():
        if key not in out:
            out[key] = value
        elif key == "required" or key == FORBIDDEN:
            out[key] = list(dict.fromkeys((*out[key], *value)))
        elif key == "properties":
            out[key] = _merged_properties(out[key], value)
        elif key in ("items", "additionalProperties") and isinstance(value, dict) and isinstance(out[key], dict):
            out[key] = merged(out[key], value)
        elif key == "enum":
            out[key] = [item for item in out[key] if item in value] or value
        elif key in _HIGHEST:
            out[key] = max(out[key], value)
        elif key in _LOWEST:
            out[key] = min(out[key], value)
        elif key in ("pattern", "format", "multipleOf"):
            # Of two the narrower is the branch's own; validation has the last word.
            out[key] = value
        elif key in ("allOf", "anyOf", "oneOf"):
            out["allOf"] = [*out.get("allOf", ()), {key: value}]
    return out


def _merged_properties(one: JsonObject, other: JsonObject) -> JsonObject:
    out: dict[str, Any] = dict(one)
    for name, value in other.items():
        out[name] = merged(out[name], value) if isinstance(out.get(name), dict) else value
    return out


def _without_types(raw: JsonObject) -> JsonObject:
    """An int-or-string without the anyOf that only repeats that it is one."""
    types = [branch.get("type") for branch in raw.get("anyOf") or ()]
    if types and set(types) <= {"integer", "string"}:
        return {key: value for key, value in raw.items() if key != "anyOf"}
    inner = [_without_types({**part, "type": None}) for part in raw.get("allOf") or ()]
    parts = [{key: value for key, value in part.items() if key != "type"} for part in inner]
    return {**raw, "allOf": parts} if parts else raw
