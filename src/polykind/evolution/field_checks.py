"""The assessment of schema changes: the changes that break users of a version."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import orjson

from polykind.contract import JsonObject
from polykind.crd.schema_walker import (
    EMBEDDED,
    INT_OR_STRING,
    LIST_MAP_KEYS,
    LIST_TYPE,
    MAP_TYPE,
    PRESERVE,
)
from polykind.evolution.change_finding import TRAPS, ChangeFinding
from polykind.evolution.schema_changes import (
    ABSENT,
    COMBINATIONS,
    LOWER_LIMITS,
    UPPER_LIMITS,
    Pointer,
    SchemaChange,
    compare_schemas,
)
from polykind.schema.equality import deep_equal
from polykind.schema.string_formats import is_known_format

_RATCHETED = "Updates that leave the value unchanged still pass (validation ratcheting, since Kubernetes 1.30)."
_RATCHETED_PARENT = (
    "Updates that leave the whole parent object unchanged, such as updates of metadata or status, still pass "
    "(validation ratcheting, since Kubernetes 1.30)."
)
_RATCHETED_LIST = "Updates that leave the whole list unchanged still pass (validation ratcheting)."
_NOT_RATCHETED = "No ratcheting: every update of such an object fails until the value is corrected."
_MAX_TEXT = 80


@dataclass(frozen=True, slots=True)
class _Verdict:
    trap: str
    message: str
    undecided: bool = False
    ratcheting: str = ""


def check_fields(
    crd: str, version: str, old: JsonObject, new: JsonObject, at: Pointer, old_at: Pointer
) -> Iterator[ChangeFinding]:
    """Yield the findings about the change of one version's schema between two releases.

    `at` and `old_at` are the places of the schemas in the new and the old manifest.
    """
    changes = list(compare_schemas(old, new))
    for change in changes:
        verdict = _assess(change, changes)
        if verdict is None:
            continue
        yield ChangeFinding(
            verdict.trap,
            TRAPS[verdict.trap].severity,
            crd,
            version,
            change.path,
            verdict.message,
            (*(old_at if change.in_old else at), *change.pointer),
            change.in_old,
            verdict.ratcheting,
            verdict.undecided,
        )


def check_versions_without_conversion(
    crd: str, storage: str, other: str, stored: JsonObject, served: JsonObject, at: Pointer, served_at: Pointer
) -> Iterator[ChangeFinding]:
    """Yield the findings about two versions that strategy None converts by changing only apiVersion.

    `at` and `served_at` are the places of the schemas of the storage version and of the other version.
    """
    pair = f"{storage}, {other}"
    for change in compare_schemas(stored, served):
        place = (*(at if change.in_old else served_at), *change.pointer)
        field = change.path or "the object"
        if change.kind in ("added", "removed"):
            has, lacks = (other, storage) if change.kind == "added" else (storage, other)
            parent = change.old_node if change.kind == "added" else change.new_node
            if parent.get(PRESERVE):
                continue
            message = f"{field} exists in {has} but not in {lacks}, and conversion.strategy is None"
            trap = "conversion-missing"
        elif change.kind == "changed" and change.keyword in ("type", INT_OR_STRING):
            before, after = _describe_type(change.old_node), _describe_type(change.new_node)
            message = f"{field} is {before} in {storage} but {after} in {other}, and conversion.strategy is None"
            trap = "conversion-missing"
        elif change.kind == "optional" or (change.kind == "required" and "default" in _property(change)):
            continue
        else:
            message = f"{_describe(change)} from {storage} to {other}, and conversion.strategy is None"
            trap = "versions-disagree"
        yield ChangeFinding(trap, TRAPS[trap].severity, crd, pair, change.path, message, place)


def _assess(change: SchemaChange, changes: list[SchemaChange]) -> _Verdict | None:
    field = change.path or "the object"
    if change.kind == "removed":
        if change.new_node.get(PRESERVE):
            return _Verdict("field-no-longer-specified", f"{field} was removed from the schema")
        return _Verdict("field-removed", f"{field} was removed")
    if change.kind == "required":
        return _assess_required(change)
    if change.kind == "rule-added":
        return _assess_rule(change, changes)
    if change.kind == "changed":
        verdict = _assess_keyword(change)
        if verdict is not None and verdict.ratcheting == _RATCHETED and "[*]" in change.path:
            # The API server matches old and new items only in lists of type map.
            return _Verdict(verdict.trap, verdict.message, verdict.undecided, _RATCHETED_LIST)
        return verdict
    return None


def _property(change: SchemaChange) -> JsonObject:
    name = change.path.rpartition(".")[2]
    schema: JsonObject = (change.new_node.get("properties") or {}).get(name) or {}
    return schema


def _assess_required(change: SchemaChange) -> _Verdict:
    name = change.path.rpartition(".")[2]
    is_new = name not in (change.old_node.get("properties") or {})
    what = "is a new required field" if is_new else "became required"
    if "default" in _property(change):
        return _Verdict("required-with-default", f"{change.path} {what}, with a default")
    return _Verdict("required-added", f"{change.path} {what}", ratcheting=_RATCHETED_PARENT)


def _assess_rule(change: SchemaChange, changes: list[SchemaChange]) -> _Verdict:
    field, rule = change.path or "the object", str(change.after)
    added = {
        other.path.rpartition(".")[2]
        for other in changes
        if other.kind == "added" and other.path.rpartition(".")[0] == change.path
    }
    guard = re.match(r"!\s*has\(self\.([A-Za-z0-9_]+)\)\s*\|\|", rule)
    if guard is not None and guard[1] in added:
        return _Verdict("rule-for-new-field", f"{field} has a new rule: {shorten(rule)}")
    if any(other.kind == "rule-removed" and other.path == change.path for other in changes):
        return _Verdict("rule-changed", f"a rule of {field} changed: {shorten(rule)}", True, _RATCHETED)
    if "oldSelf" in rule:
        return _Verdict("rule-for-updates-added", f"{field} has a new rule for updates: {shorten(rule)}")
    return _Verdict("rule-added", f"{field} has a new rule: {shorten(rule)}", ratcheting=_RATCHETED)


def _assess_keyword(change: SchemaChange) -> _Verdict | None:
    assess = _ASSESSMENTS.get(change.keyword, _assess_extension)
    return assess(change)


def _assess_limit(change: SchemaChange) -> _Verdict | None:
    if not _narrows(change.keyword, change.before, change.after):
        return None
    return _Verdict("limit-narrowed", _describe(change), ratcheting=_RATCHETED)


def _assess_pattern(change: SchemaChange) -> _Verdict | None:
    before, after = change.before, change.after
    if after is ABSENT or (before is not ABSENT and _accepts_all_alternatives(after, before)):
        return None
    if before is ABSENT:
        message = f"{_field(change)} must match {shorten(after)} now"
        return _Verdict("pattern-added", message, ratcheting=_RATCHETED)
    return _Verdict("pattern-changed", _describe(change), True, _RATCHETED)


def _assess_format(change: SchemaChange) -> _Verdict | None:
    before, after = change.before, change.after
    if after is ABSENT or not is_known_format(after, str(change.new_node.get("type"))) or after in _LOOSE_FORMATS:
        return None
    if (before, after) in _WIDER_FORMATS:
        return None
    trap = "format-added" if before is ABSENT else "format-changed"
    return _Verdict(trap, _describe(change), ratcheting=_RATCHETED)


def _assess_nullable(change: SchemaChange) -> _Verdict | None:
    if change.after is not False:
        return None
    return _Verdict("nullable-removed", f"{_field(change)} must not be null any more")


def _assess_combination(change: SchemaChange) -> _Verdict | None:
    if change.after is ABSENT:
        return None
    return _Verdict("combination-changed", f"{change.keyword} of {_field(change)} changed", True, _NOT_RATCHETED)


def _field(change: SchemaChange) -> str:
    return change.path or "the object"


_LOOSE_FORMATS = frozenset({"int64", "double", "password"})
"""Formats that accept every value of their type."""
_WIDER_FORMATS = frozenset({("int32", "int64"), ("float", "double"), ("ipv4", "ip"), ("ipv6", "ip")})


def _assess_extension(change: SchemaChange) -> _Verdict | None:
    keyword, before, after, field = change.keyword, change.before, change.after, change.path or "the object"
    if keyword == PRESERVE and after is False:
        return _Verdict("preserve-unknown-removed", f"{field} no longer preserves unknown fields")
    if keyword == EMBEDDED:
        if after:
            return _Verdict("embedded-resource-added", f"{field} must be an embedded resource now")
        return _Verdict("embedded-resource-removed", f"{field} is no longer an embedded resource")
    if keyword == LIST_TYPE:
        return _Verdict("list-type-changed", f"the list type of {field} changed from {before} to {after}")
    if keyword == LIST_MAP_KEYS and change.new_node.get(LIST_TYPE) == change.old_node.get(LIST_TYPE):
        return _Verdict("list-keys-changed", f"the keys of {field} changed: {_format(before)} to {_format(after)}")
    if keyword == MAP_TYPE:
        return _Verdict("map-type-changed", f"the map type of {field} changed from {before} to {after}")
    return None


def _assess_type(change: SchemaChange) -> _Verdict | None:
    old, new, field = change.old_node, change.new_node, change.path or "the object"
    before, after = _types(old), _types(new)
    if change.keyword == INT_OR_STRING and _types({**old, INT_OR_STRING: False}) != _types({**new, INT_OR_STRING: 0}):
        return None  # The change of the keyword `type` already says it.
    if before == after:
        return None
    message = f"{field} changed from {_describe_type(old)} to {_describe_type(new)}"
    if not after or (before and before <= after) or (before == {"integer"} and after == {"number"}):
        return _Verdict("type-widened", message)
    if change.keyword == INT_OR_STRING or old.get(INT_OR_STRING):
        return _Verdict("int-or-string-removed", message, ratcheting=_RATCHETED)
    return _Verdict("type-changed", message, ratcheting=_RATCHETED)


def _types(node: JsonObject) -> set[str]:
    if node.get(INT_OR_STRING):
        return {"integer", "string"}
    value = node.get("type")
    return {value} if isinstance(value, str) and value else set()


def _describe_type(node: JsonObject) -> str:
    if node.get(INT_OR_STRING):
        return "int-or-string"
    return str(node.get("type") or "any type")


def _assess_enum(change: SchemaChange) -> _Verdict | None:
    before, after, field = change.before, change.after, change.path
    if after is ABSENT:
        return None
    if before is ABSENT:
        return _Verdict("enum-narrowed", f"{field} must be one of {_format(after)} now", ratcheting=_RATCHETED)
    removed = [value for value in before if not any(deep_equal(value, other) for other in after)]
    if removed:
        return _Verdict("enum-narrowed", f"{field} no longer allows {_format(removed)}", ratcheting=_RATCHETED)
    added = [value for value in after if not any(deep_equal(value, other) for other in before)]
    return _Verdict("enum-widened", f"{field} also allows {_format(added)}")


def _assess_default(change: SchemaChange) -> _Verdict:
    before, after, field = change.before, change.after, change.path
    if before is ABSENT:
        return _Verdict("default-added", f"{field} got the default {_format(after)}")
    if after is ABSENT:
        return _Verdict("default-removed", f"{field} lost its default {_format(before)}")
    return _Verdict("default-changed", f"the default of {field} changed from {_format(before)} to {_format(after)}")


def _narrows(keyword: str, before: Any, after: Any) -> bool:
    if keyword.startswith("exclusive"):
        return bool(after)
    if after is ABSENT:
        return False
    if keyword == "multipleOf":
        return before is ABSENT or not (after and before % after == 0)
    if before is ABSENT:
        return not (keyword in LOWER_LIMITS and keyword != "minimum" and after <= 0)
    return bool(after > before if keyword in LOWER_LIMITS else after < before)


def _accepts_all_alternatives(pattern: str, old: str) -> bool:
    """True if a pattern is a list of alternatives that contains all alternatives of the old pattern."""
    new_alternatives, old_alternatives = _alternatives(pattern), _alternatives(old)
    return bool(old_alternatives) and old_alternatives <= new_alternatives


def _alternatives(pattern: str) -> set[str]:
    match = re.fullmatch(r"\^\(?(?:\?:)?([^()\[\]{}\\]*)\)?\$", pattern)
    return set(match[1].split("|")) if match and ("(" in pattern or "|" not in pattern) else set()


def _describe(change: SchemaChange) -> str:
    field = change.path or "the object"
    if change.kind == "required":
        return f"{change.path} became required"
    if change.kind.startswith("rule-"):
        rule = change.after if change.kind == "rule-added" else change.before
        return f"the rule {shorten(str(rule))} of {field} was {change.kind.removeprefix('rule-')}"
    keyword = change.keyword
    if change.before is ABSENT:
        return f"{field} got {keyword} {_format(change.after)}"
    if change.after is ABSENT:
        return f"{field} lost {keyword} {_format(change.before)}"
    return f"{keyword} of {field} changed from {_format(change.before)} to {_format(change.after)}"


def _format(value: Any) -> str:
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return shorten(", ".join(value))
    return shorten(orjson.dumps(value).decode()) if value is not ABSENT else "absent"


def shorten(text: str, width: int = _MAX_TEXT) -> str:
    """Return a text on one line, truncated if it is long."""
    line = " ".join(text.split())
    return line if len(line) <= width else f"{line[: width - 3]}..."


_LIMITS = (*LOWER_LIMITS, *UPPER_LIMITS, "multipleOf", "exclusiveMinimum", "exclusiveMaximum")
_ASSESSMENTS: dict[str, Callable[[SchemaChange], _Verdict | None]] = {
    "type": _assess_type,
    INT_OR_STRING: _assess_type,
    "enum": _assess_enum,
    "default": _assess_default,
    "pattern": _assess_pattern,
    "format": _assess_format,
    "nullable": _assess_nullable,
    **dict.fromkeys(_LIMITS, _assess_limit),
    **dict.fromkeys(COMBINATIONS, _assess_combination),
}
"""The functions that assess a change of a keyword. `_assess_extension` assesses all others."""
