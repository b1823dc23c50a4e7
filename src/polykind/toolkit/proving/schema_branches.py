"""Removal of the combinators allOf, anyOf, oneOf and not from a schema: choose a branch and merge it into the schema.

The merged schema may lack some constraints of the original. The generator therefore validates each value against the
original, and tries again if the value is invalid.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from polykind.contract import JsonObject
from polykind.toolkit.proving.choices import Choices, RecordedChoices, pick

FORBIDDEN_KEY = "x-forbidden"
"""A key that this module adds to a merged schema. Its value lists the fields that an object must not have."""
_ORIGIN_KEY = "x-origin"
"""A key that this module adds to a merged schema. Its value is the `id()` of the original schema."""
COMBINATORS = ("allOf", "anyOf", "oneOf", "not")


def source_id(raw: JsonObject) -> int:
    """Return the `id()` of the original schema of a merged schema, or of the schema itself if it is not merged."""
    node_id: int = raw.get(_ORIGIN_KEY, id(raw))
    return node_id


def has_combinators(raw: JsonObject) -> bool:
    return any(key in raw for key in COMBINATORS)


class BranchSelector:
    """Chooses branches of schemas and caches the merged schemas.

    The same choices for a schema return the same dict, because callers use the dict's `id()` as a key.
    """

    def __init__(self) -> None:
        self._cache: dict[tuple[int, tuple[int, ...]], tuple[JsonObject, JsonObject]] = {}

    def choose(self, choices: Choices, raw: JsonObject) -> JsonObject:
        """Return a schema without combinators at its root. Most of its values are also valid for `raw`."""
        recorder = RecordedChoices(choices)
        recorded = choose_branches(
            recorder, _without_type_branches(raw) if raw.get("x-kubernetes-int-or-string") else raw
        )
        # The cached tuple also references the original schema, so that no other object gets its id.
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
    """Return the schema `out` with one more forbidden field, one that `branch` requires.

    Objects generated from the returned schema then do not match the branch.
    """
    for option in branch.get("anyOf") or ():
        out = _exclude_branch(choices, out, option)
    options = [name for name in branch.get("required") or () if name not in out.get("required", ())]
    forbidden = out.get(FORBIDDEN_KEY, ())
    if not options or any(name in forbidden for name in options):
        return out
    # The branch may have other conditions, too, but to omit a required field is the simplest way not to match it.
    return {**out, FORBIDDEN_KEY: (*forbidden, pick(choices, options))}


def merge_schemas(first: JsonObject, second: JsonObject) -> JsonObject:
    """Return a schema with the constraints of both schemas and the source id of `first`."""
    if not second:
        return first
    out = {**first, _ORIGIN_KEY: source_id(first)}
    for key, value in second.items():
        if key not in out:
            out[key] = value
        elif key in _MERGES:
            out[key] = _MERGES[key](out[key], value)
        elif key in ("allOf", "anyOf", "oneOf"):
            out["allOf"] = [*out.get("allOf", ()), {key: value}]
    return out


def _merge_names(first: Sequence[str], second: Sequence[str]) -> list[str]:
    return list(dict.fromkeys((*first, *second)))


def _merge_properties(first: JsonObject, second: JsonObject) -> JsonObject:
    out: dict[str, Any] = dict(first)
    for name, value in second.items():
        out[name] = merge_schemas(out[name], value) if isinstance(out.get(name), dict) else value
    return out


def _merge_inner(first: Any, second: Any) -> Any:
    """Merge the schemas of items, or of the values of a map. `additionalProperties` may be a boolean."""
    return merge_schemas(first, second) if isinstance(first, dict) and isinstance(second, dict) else first


def _merge_enums(first: list[Any], second: list[Any]) -> list[Any]:
    return [item for item in first if item in second] or second


def _second(first: Any, second: Any) -> Any:
    """Return the constraint of the second schema, which is usually stricter.

    Validation rejects values that violate the first schema.
    """
    return second


_MERGES: dict[str, Callable[[Any, Any], Any]] = {
    "required": _merge_names,
    FORBIDDEN_KEY: _merge_names,
    "properties": _merge_properties,
    "items": _merge_inner,
    "additionalProperties": _merge_inner,
    "enum": _merge_enums,
    **dict.fromkeys(("minimum", "minLength", "minItems", "minProperties"), max),
    **dict.fromkeys(("maximum", "maxLength", "maxItems", "maxProperties"), min),
    **dict.fromkeys(("pattern", "format", "multipleOf"), _second),
}
"""The functions that merge the values of a keyword that both schemas have."""


def _without_type_branches(raw: JsonObject) -> JsonObject:
    """Return an int-or-string schema without an anyOf that only lists the types integer and string."""
    types = [branch.get("type") for branch in raw.get("anyOf") or ()]
    if types and set(types) <= {"integer", "string"}:
        return {key: value for key, value in raw.items() if key != "anyOf"}
    inner = [_without_type_branches({**part, "type": None}) for part in raw.get("allOf") or ()]
    parts = [{key: value for key, value in part.items() if key != "type"} for part in inner]
    return {**raw, "allOf": parts} if parts else raw
