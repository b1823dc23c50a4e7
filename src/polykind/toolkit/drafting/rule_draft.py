"""Drafts of the rules between two versions, from their schemas. A draft marks what a person must decide."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from polykind.contract import JsonObject
from polykind.crd.schema_walker import INT_OR_STRING, LIST_MAP_KEYS
from polykind.declare.field_rules import FieldRule
from polykind.declare.rules_file import parse_rule
from polykind.evolution.schema_changes import ABSENT, SchemaChange, compare_schemas
from polykind.evolution.schema_paths import similarity
from polykind.toolkit.crd_versions import CRD
from polykind.toolkit.drafting.field_matches import Field, FieldMatch, find_matches
from polykind.toolkit.proving.choices import GenerationError
from polykind.toolkit.proving.value_generator import ValueGenerator

_DURATION_UNITS = (
    (re.compile(r"(milliseconds|millis|ms)$", re.I), "ms"),
    (re.compile(r"(seconds|secs|sec)$", re.I), "s"),
    (re.compile(r"(minutes|mins)$", re.I), "m"),
    (re.compile(r"hours$", re.I), "h"),
)
_DURATION_WORDS = re.compile(r"timeout|period|interval|duration|delay|ttl|deadline|wait|age$", re.I)
_QUANTITY_UNITS = (
    (re.compile(r"(MiB|Mi)$"), "Mi"),
    (re.compile(r"(GiB|Gi)$"), "Gi"),
    (re.compile(r"(Mb|MB)$"), "M"),
    (re.compile(r"(Gb|GB)$"), "G"),
    (re.compile(r"(Millis|Millicores|milliCPU)$", re.I), "m"),
)
_QUANTITY_WORDS = re.compile(r"memory|cpu|storage|size|capacity|disk|cores", re.I)
_SCALARS = ("string", "integer", "number", "boolean")
_LIMITS = ("pattern", "format", "maximum", "minimum", "maxLength", "minLength", "maxItems")
_PARTS = (
    ("host", "port", ":"),
    ("hostname", "port", ":"),
    ("address", "port", ":"),
    ("repository", "tag", ":"),
    ("name", "tag", ":"),
    ("image", "tag", ":"),
    ("registry", "repository", "/"),
    ("namespace", "name", "/"),
)


@dataclass
class DraftRule:
    """A rule of a draft: its name and value as in a rules file, and the reason for it."""

    name: str
    value: Any
    reason: str
    decisions: list[str] = field(default_factory=list)
    """Questions that a person must answer."""
    failures: list[str] = field(default_factory=list)
    """The failures that its proof found."""

    @property
    def paths(self) -> list[str]:
        """The paths that the rule names."""
        value = self.value
        if isinstance(value, list):
            return value
        listed = [value.get("path"), value.get("text"), *value.get("paths", ()), *value.get("parts", ())]
        return [path for path in listed if path]

    def build(self) -> FieldRule:
        """Return the rule itself. Raise ValueError if it is invalid."""
        return parse_rule(self.name, {self.name: self.value})


@dataclass
class RuleDraft:
    """The draft of all rules between two versions."""

    kind: str
    old: str
    new: str
    rules: list[DraftRule] = field(default_factory=list)
    decisions: list[str] = field(default_factory=list)
    """Questions that no rule answers."""
    failures: list[str] = field(default_factory=list)
    """The failures that the proof found outside of any rule."""
    tested: int = 0
    """The number of objects that the proof has converted."""

    @property
    def passes(self) -> bool:
        return not self.failures and not any(rule.failures for rule in self.rules)


class _SimplestChoices:
    """Choices that are always zero, the simplest."""

    def up_to(self, maximum: int) -> int:
        return 0

    def part(self, make: Any) -> Any:
        return make()


def draft_rules(crd: CRD, old: str, new: str) -> RuleDraft:
    """Return the rules that probably convert between two versions. Nothing is proven yet."""
    return _Drafter(crd, old, new).draft()


class _Drafter:
    def __init__(self, crd: CRD, old: str, new: str) -> None:
        self.out = RuleDraft(crd.kind, old, new)
        self.old_schema, self.new_schema = crd.versions[old].openapi, crd.versions[new].openapi
        self.changes = list(compare_schemas(self.old_schema, self.new_schema))
        self.handled: set[str] = set()

    def draft(self) -> RuleDraft:
        for rule in self._splits():
            self.out.rules.append(rule)
        for match in find_matches(self.old_schema, self.new_schema):
            if self._is_handled(self.out.old, match.old.path) or self._is_handled(self.out.new, match.new.path):
                continue
            rules = list(self._matched(match))
            if rules:
                self.out.rules += rules
                self._handle(match.old.path, match.new.path)
        for change in self.changes:
            if change.kind in ("removed", "added"):
                self.out.rules += self._alone(change)
            else:
                self.out.rules += self._changed(change)
        return self.out

    def _handle(self, old: str, new: str) -> None:
        self.handled |= {f"{self.out.old} {old}", f"{self.out.new} {new}"}

    def _is_handled(self, version: str, path: str) -> bool:
        return any(
            path == known or path.startswith((f"{known}.", f"{known}["))
            for each in self.handled
            for side, _, known in (each.partition(" "),)
            if side == version
        )

    def _has_handled_inside(self, version: str, path: str) -> bool:
        return any(each.startswith((f"{version} {path}.", f"{version} {path}[")) for each in self.handled)

    def _splits(self) -> Iterator[DraftRule]:
        """Yield rules for texts that are split into or joined from two fields with usual names."""
        fields = {
            kind: [Field(c.path, c.before if kind == "removed" else c.after) for c in self.changes if c.kind == kind]
            for kind in ("removed", "added")
        }
        for text_kind, parts_kind, name in (("removed", "added", "split"), ("added", "removed", "join")):
            for text in fields[text_kind]:
                rule = _split(name, text, fields[parts_kind])
                if rule is not None:
                    yield rule
                    old, new = (self.out.old, self.out.new) if name == "split" else (self.out.new, self.out.old)
                    self.handled |= {f"{old} {text.path}", *(f"{new} {part}" for part in rule.value["parts"])}
                    return

    def _matched(self, match: FieldMatch) -> Iterator[DraftRule]:
        old, new = match.old, match.new
        sure = match.score >= 0.85 or old.name == new.name
        reason = f"similar by {match.score:.0%}"
        questions = [] if sure else [f"is {old.path} really the same as {new.path}?"]
        if _type(old.schema) == _type(new.schema):
            units = _units(old, new)
            if units is not None:
                value = {"paths": [old.path, new.path], "units": list(units)}
                yield DraftRule("duration", value, reason, [*questions, "are these the units?"])
                return
            yield from self._renamed_values(old, new)
            yield DraftRule("move", [old.path, new.path], reason, questions)
            return
        rule = _retyped(old, new)
        if rule is not None:
            rule.decisions += questions
            yield rule

    def _renamed_values(self, old: Field, new: Field) -> Iterator[DraftRule]:
        before, after = old.schema.get("enum"), new.schema.get("enum")
        if not before or not after or before == after:
            return
        gone = [value for value in before if value not in after and isinstance(value, str)]
        come = [value for value in after if value not in before]
        values = _match_values(gone, come)
        if values:
            pairs = ", ".join(f"{one} is {other}" for one, other in values.items())
            yield DraftRule(
                "renameValues", {"path": old.path, "values": values}, "values differ", [f"is it true that {pairs}?"]
            )
        self._ask_for_values(old.path, self.out.new, gone, values)
        self._ask_for_values(new.path, self.out.old, come, values.values())

    def _ask_for_values(self, path: str, version: str, values: Iterable[Any], known: Collection[str]) -> None:
        for value in values:
            if value not in known:
                self.out.decisions.append(f"{path}: which value of {version} is {value}?")

    def _alone(self, change: SchemaChange) -> Iterator[DraftRule]:
        """Yield rules for a field that only one version has, or for the fields in it that no other rule handles."""
        version, schema = (self.out.old, change.before) if change.kind == "removed" else (self.out.new, change.after)
        parent = change.old_node if change.kind == "removed" else change.new_node
        yield from self._alone_at(version, change.path, schema, parent)

    def _alone_at(self, version: str, path: str, schema: JsonObject, parent: JsonObject) -> Iterator[DraftRule]:
        if self._is_handled(version, path):
            return
        if path.endswith(("[*]", ".*")):
            self.out.decisions.append(f"{path} exists only in {version}: decide how it is converted")
            return
        if self._has_handled_inside(version, path):
            for name, child in (schema.get("properties") or {}).items():
                yield from self._alone_at(version, f"{path}.{name}", child, schema)
            return
        if "[*]" in path or ".*" in path:
            if ".*" in path:
                self.out.decisions.append(f"{path} exists only in {version}: decide how it is converted")
                return
            value = {"version": version, "path": path, "why": "DECIDE: may this be lost?"}
            question = f"values of {path} get lost, because no rule can match them to their items: is that right?"
            yield DraftRule("drop", value, f"only {version} has it", [question])
            return
        only: JsonObject = {"version": version, "path": path}
        questions = []
        if "default" in schema:
            only["default"] = schema["default"]
        elif path.rpartition(".")[2] in (parent.get("required") or ()):
            value = _simplest(schema)
            only["default"] = value
            questions.append(f"{path} is required in {version}: which value do objects of the other version get?")
        yield DraftRule("only", only, f"only {version} has it", questions)

    def _changed(self, change: SchemaChange) -> Iterator[DraftRule]:
        """Yield rules for a field that both versions have."""
        path = change.path
        one, other = Field(path, change.old_node), Field(path, change.new_node)
        if change.kind == "required":
            yield from self._required(change)
        elif change.kind != "changed" or not path:
            return
        elif change.keyword in ("type", INT_OR_STRING):
            yield from self._changed_type(one, other, change)
        elif change.keyword == "enum" and not self._is_handled(self.out.old, path):
            yield from self._renamed_values(one, other)
        elif change.keyword == "default" and ABSENT in (change.before, change.after) and ".*" not in path:
            yield self._changed_default(change)
        elif change.keyword in _LIMITS:
            text = f"{change.keyword} of {path} differs: are all values of one version valid in the other?"
            self.out.decisions.append(text)

    def _changed_type(self, old: Field, new: Field, change: SchemaChange) -> Iterator[DraftRule]:
        rule = _retyped(old, new)
        if rule is not None:
            yield rule
            self._handle(old.path, new.path)
        elif not _widened(change):
            types = f"{_type(old.schema)} in {self.out.old} and {_type(new.schema)} in {self.out.new}"
            self.out.decisions.append(f"{old.path} is {types}: write the conversion by hand")

    def _changed_default(self, change: SchemaChange) -> DraftRule:
        """Return the rule for a field that has a default in one version only."""
        gained = change.before is ABSENT
        without, having = (self.out.old, self.out.new) if gained else (self.out.new, self.out.old)
        question = f"what do objects of {without} without {change.path} mean? {having} has a default"
        value = {"path": change.path, "old" if gained else "new": change.after if gained else change.before}
        return DraftRule("absentMeans", value, "a default of one version", [question])

    def _required(self, change: SchemaChange) -> Iterator[DraftRule]:
        name = change.path.rpartition(".")[2]
        old = (change.old_node.get("properties") or {}).get(name)
        new = (change.new_node.get("properties") or {}).get(name) or {}
        if old is None or "default" in new or "default" in old:
            return
        question = f"{change.path} is required in {self.out.new}: which value do objects without it get?"
        yield DraftRule("absentMeans", {"path": change.path, "old": _simplest(new)}, "became required", [question])


def _split(name: str, text: Field, others: Sequence[Field]) -> DraftRule | None:
    """Return the rule for a text that two other fields with usual names have in parts, or None if there are none."""
    if text.schema.get("type") != "string":
        return None
    siblings = {each.name: each for each in others if each.lists == text.lists}
    for one, two, separator in _PARTS:
        if one in siblings and two in siblings and siblings[one].schema.get("type") == "string":
            parts = [siblings[one].path, siblings[two].path]
            value: JsonObject = {"text": text.path, "parts": parts, "separator": separator, "at": "last"}
            if siblings[two].schema.get("type") == "integer":
                value["integers"] = [parts[1]]
            question = f"is {text.path} really {one}{separator}{two}?"
            return DraftRule(name, value, f"{text.path} and {', '.join(parts)}", [question])
    return None


def _match_values(gone: Sequence[str], come: Sequence[Any]) -> dict[str, str]:
    """Return the new names of the values of an enum that have probably been renamed."""
    left = [value for value in come if isinstance(value, str)]
    values: dict[str, str] = {}
    for value in gone:
        best = max(left, key=lambda other: similarity(value, other), default=None)
        if best is not None and (similarity(value, best) >= 0.4 or len(gone) == len(left) == 1):
            values[value] = best
            left.remove(best)
    return values or (dict(zip(gone, left, strict=True)) if len(gone) == len(left) else {})


def _type(schema: JsonObject) -> str:
    if isinstance(schema.get("additionalProperties"), dict):
        return "map"
    return "int-or-string" if schema.get(INT_OR_STRING) else str(schema.get("type") or "any")


def _widened(change: SchemaChange) -> bool:
    return (change.before, change.after) == ("integer", "number")


def _retyped(old: Field, new: Field) -> DraftRule | None:
    """Return the rule for a field whose type differs, or None if no rule fits."""
    one, other = _type(old.schema), _type(new.schema)
    paths = [old.path, new.path]
    if other == "array" and (new.schema.get("items") or {}).get("type") == one and "[*]" not in old.path:
        return DraftRule("first", paths, "one value became a list", ["does the first item stand for the whole list?"])
    if other == "object" and one in _SCALARS and (inner := _member(new.schema, one, old.name)):
        return DraftRule(
            "wrap", [old.path, f"{new.path}.{inner}"], "a value became an object", [f"is the value its {inner}?"]
        )
    if one == "object" and other in _SCALARS and (inner := _member(old.schema, other, new.name)):
        return DraftRule(
            "unwrap", [f"{old.path}.{inner}", new.path], "an object became a value", [f"is its {inner} the value?"]
        )
    if {one, other} == {"array", "map"}:
        listed, mapped = (old, new) if one == "array" else (new, old)
        value = _keyed(paths, listed.schema, mapped.schema)
        name = "listToMap" if one == "array" else "mapToList"
        return DraftRule(name, value, "a list and a map", ["is this the key of the items?"]) if value else None
    return _other_units(old, new)


def _other_units(old: Field, new: Field) -> DraftRule | None:
    """Return the rule for a number that became a text with a unit, or the reverse, or None if no rule fits."""
    types = {_type(old.schema), _type(new.schema)}
    if "string" not in types or not types <= {"string", "integer", "number"}:
        return None
    for name, units in (("duration", _units(old, new)), ("quantity", _quantity_units(old, new))):
        if units is not None:
            value = {"paths": [old.path, new.path], "units": list(units)}
            return DraftRule(name, value, "other units", ["are these the units?"])
    return None


def _member(schema: JsonObject, kind: str, name: str) -> str:
    """Return the property of an object that most probably has the value of a field, or "" if there is none."""
    properties = schema.get("properties") or {}
    candidates = [each for each, child in properties.items() if _type(child) == kind]
    usual = ("name", "value", name)
    required = [each for each in candidates if each in (schema.get("required") or ())]
    chosen = next((each for each in usual if each in candidates), None) or next(iter(required or candidates), "")
    others = [each for each in schema.get("required") or () if each != chosen]
    return "" if others else chosen


def _keyed(paths: Sequence[str], listed: JsonObject, mapped: JsonObject) -> JsonObject | None:
    items = listed.get("items") or {}
    properties = items.get("properties") or {}
    keys = listed.get(LIST_MAP_KEYS) or [name for name in ("name", "key", "id", "type") if name in properties]
    if not keys or len(listed.get(LIST_MAP_KEYS) or ()) > 1:
        return None
    value: JsonObject = {"paths": list(paths), "key": keys[0]}
    if _type(mapped["additionalProperties"]) != "object":
        rest = [name for name in properties if name != keys[0]]
        if len(rest) != 1:
            return None
        value["value"] = rest[0]
    return value


def _units(old: Field, new: Field) -> tuple[str, str] | None:
    units = [_unit(each, _DURATION_UNITS) for each in (old, new)]
    kinds = [_type(each.schema) for each in (old, new)]
    timed = any(units) or all(_DURATION_WORDS.search(each.name) for each in (old, new))
    if not timed or kinds == ["string", "string"]:
        return None
    chosen = ["text" if kind == "string" else unit or "s" for kind, unit in zip(kinds, units, strict=True)]
    return None if chosen[0] == chosen[1] else (chosen[0], chosen[1])


def _quantity_units(old: Field, new: Field) -> tuple[str, str] | None:
    units = [_unit(each, _QUANTITY_UNITS) for each in (old, new)]
    if not any(units) and not any(_QUANTITY_WORDS.search(each.name) for each in (old, new)):
        return None
    kinds = [_type(each.schema) for each in (old, new)]
    numbers = {"number": "number", "integer": "1", "string": "text"}
    chosen = ["text" if kind == "string" else unit or numbers[kind] for kind, unit in zip(kinds, units, strict=True)]
    return chosen[0], chosen[1]


def _unit(each: Field, units: Sequence[tuple[re.Pattern[str], str]]) -> str:
    return next((unit for pattern, unit in units if pattern.search(each.name)), "")


def _simplest(schema: JsonObject) -> Any:
    """Return the simplest valid value of a schema, or None if none is found."""
    try:
        return ValueGenerator().value(_SimplestChoices(), schema)
    except GenerationError:
        return None
