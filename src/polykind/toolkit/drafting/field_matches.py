"""Matches between fields that only the older version has and fields that only the newer version has."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import NamedTuple

from polykind.contract import JsonObject
from polykind.crd.schema_walker import INT_OR_STRING
from polykind.evolution.schema_changes import SchemaChange, compare_schemas
from polykind.evolution.schema_paths import schema_paths, similarity

_MIN_SCORE = 0.62
_WORDS = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])").findall
_UNIT_WORDS = frozenset(
    "seconds second secs sec s milliseconds millis ms minutes minute mins hours mb mib gb gib".split()  # noqa: SIM905
)


class Field(NamedTuple):
    """A field of one version."""

    path: str
    schema: JsonObject

    @property
    def name(self) -> str:
        return self.path.removesuffix("[*]").rpartition(".")[2]

    @property
    def lists(self) -> str:
        """The part of the path up to the last list."""
        before, star, _ = self.path.rpartition("[*]")
        return before + star


class FieldMatch(NamedTuple):
    """A field that probably has another path in the newer version. `score` is from 0 to 1."""

    old: Field
    new: Field
    score: float


def find_matches(old: JsonObject, new: JsonObject) -> list[FieldMatch]:
    """Return pairs of fields that are probably the same, the most probable first. No field is in two pairs."""
    changes = list(compare_schemas(old, new))
    removed = [field for change in changes if change.kind == "removed" for field in _fields(change, change.before)]
    added = [field for change in changes if change.kind == "added" for field in _fields(change, change.after)]
    scored = [
        FieldMatch(one, other, score)
        for one in removed
        for other in added
        if one.lists == other.lists and (score := _score(one, other)) >= _MIN_SCORE
    ]
    out: list[FieldMatch] = []
    for match in sorted(scored, key=lambda each: (-each.score, each.old.path, each.new.path)):
        if not any(_overlap(match.old.path, each.old.path) or _overlap(match.new.path, each.new.path) for each in out):
            out.append(match)
    return out


def _fields(change: SchemaChange, schema: JsonObject) -> Iterator[Field]:
    """Yield an added or removed field, and the fields in it that are not in lists or maps."""
    if change.path.endswith(("[*]", ".*")):
        return
    yield Field(change.path, schema)
    for path, child in schema_paths({"properties": {"x": schema}}, ""):
        inner = path.removeprefix("x")
        if inner and "[*]" not in inner and ".*" not in inner:
            yield Field(f"{change.path}{inner}", child)


def _score(one: Field, other: Field) -> float:
    """Return how probably two fields have the same meaning, from 0 to 1."""
    same_kind, name = _compare_types(one.schema, other.schema), _compare_names(one.name, other.name)
    if same_kind is None or name is None or (name < 0.4 and not _same_description(one, other)):
        return 0.0
    texts = [str(each.schema.get("description") or "") for each in (one, other)]
    description = similarity(*texts) if all(texts) else name
    enums = [each.schema.get("enum") for each in (one, other)]
    if all(enums):
        same_kind = max(same_kind, 1.0 if enums[0] == enums[1] else 0.8)
    score = 0.5 * name + 0.25 * same_kind + 0.25 * description
    return max(score, 0.7) if same_kind == 1.0 and _same_description(one, other) else score


def _compare_types(one: JsonObject, other: JsonObject) -> float | None:
    """Return how similar the types of two schemas are, or None if no rule converts one to the other."""
    kinds = _kind(one), _kind(other)
    if kinds == ("object", "object"):
        return _shared(one.get("properties") or {}, other.get("properties") or {})
    if kinds[0] == kinds[1]:
        return 1.0
    convertible = set(kinds) <= {"string", "integer", "number"} or kinds in (("string", "array"), ("object", "array"))
    return 0.6 if convertible else None


def _compare_names(one: str, other: str) -> float | None:
    """Return how similar two names are, or None if one of them has no words."""
    words, others = _words(one), _words(other)
    if not words or not others:
        return None
    return max(similarity(" ".join(words), " ".join(others)), _shared(words, others))


def _shared(one: Collection[str], other: Collection[str]) -> float:
    """Return the part of all names that both have. It is 1 if there are none."""
    either = {*one, *other}
    return len(set(one) & set(other)) / len(either) if either else 1.0


def _same_description(one: Field, other: Field) -> bool:
    texts = [str(each.schema.get("description") or "") for each in (one, other)]
    return all(len(text) > 15 for text in texts) and similarity(*texts) > 0.85


def _words(name: str) -> list[str]:
    words = [word.lower() for word in _WORDS(name)]
    plain = [word for word in words if word not in _UNIT_WORDS] or words
    return [word.removesuffix("s") if len(word) > 3 else word for word in plain]


def _kind(schema: JsonObject) -> str:
    if schema.get(INT_OR_STRING):
        return "int-or-string"
    if isinstance(schema.get("additionalProperties"), dict):
        return "map"
    return str(schema.get("type") or "")


def _overlap(one: str, other: str) -> bool:
    return one == other or one.startswith(f"{other}.") or other.startswith(f"{one}.")
