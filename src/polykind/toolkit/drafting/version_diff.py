"""The differences between two versions of a CRD, as text, JSON and HTML."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from polykind.contract import JsonObject
from polykind.evolution.schema_changes import ABSENT, SchemaChange, compare_schemas
from polykind.toolkit.crd_versions import CRD
from polykind.toolkit.drafting.field_matches import FieldMatch, find_matches
from polykind.toolkit.reporting import html_components as parts
from polykind.toolkit.reporting.html_builder import Child
from polykind.toolkit.reporting.html_page import html_page
from polykind.toolkit.reporting.terminal import Style, Styled, Table, print_line, print_table

if TYPE_CHECKING:
    from rich.console import Console

_MAX_VALUE = 100
_STYLES: dict[str, Style] = {"added": "added", "removed": "removed", "moved?": "changed", "changed": "changed"}


class FieldDifference(NamedTuple):
    """One difference. `kind` is added, removed, moved? or changed; `text` says what changed."""

    kind: str
    path: str
    text: str
    before: Any = ABSENT
    after: Any = ABSENT


def compare_versions(crd: CRD, old: str, new: str, *, descriptions: bool = False) -> list[FieldDifference]:
    """Return the differences between two versions. Fields that were probably renamed or moved come first."""
    one, other = crd.versions[old].openapi, crd.versions[new].openapi
    matches = find_matches(one, other)
    out = [_moved(match) for match in matches]
    moved = {("removed", match.old.path) for match in matches} | {("added", match.new.path) for match in matches}
    changes = compare_schemas(one, other, descriptions=descriptions)
    return out + [_difference(change) for change in changes if (change.kind, change.path) not in moved]


def _moved(match: FieldMatch) -> FieldDifference:
    types = [_type(each.schema) for each in (match.old, match.new)]
    retyped = "" if types[0] == types[1] else f", {types[0]} to {types[1]}"
    text = f"probably {match.new.path} ({match.score:.0%} similar{retyped})"
    return FieldDifference("moved?", match.old.path, text, match.old.path, match.new.path)


def _difference(change: SchemaChange) -> FieldDifference:
    path = change.path or "(the object)"
    if change.kind == "added":
        return FieldDifference("added", path, _describe(change.after), ABSENT, change.after)
    if change.kind == "removed":
        return FieldDifference("removed", path, _describe(change.before), change.before, ABSENT)
    if change.kind in ("required", "optional"):
        return FieldDifference("changed", path, f"became {change.kind}", change.before, change.after)
    if change.kind.startswith("rule-"):
        rule = change.after if change.kind == "rule-added" else change.before
        word = change.kind.removeprefix("rule-")
        return FieldDifference("changed", path, f"rule {word}: {_short(str(rule))}", change.before, change.after)
    before, after = _value(change.before), _value(change.after)
    return FieldDifference("changed", path, f"{change.keyword}: {before} to {after}", change.before, change.after)


def _type(schema: JsonObject) -> str:
    return str(schema.get("type") or ("int-or-string" if schema.get("x-kubernetes-int-or-string") else "any"))


def _describe(schema: JsonObject) -> str:
    words = [_type(schema)]
    words += [f"{key} {_value(schema[key])}" for key in ("enum", "default", "format") if key in schema]
    return ", ".join(words)


def _value(value: Any) -> str:
    if value is ABSENT:
        return "none"
    return _short(value if isinstance(value, str) else orjson.dumps(value).decode())


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _MAX_VALUE else f"{line[: _MAX_VALUE - 3]}..."


def print_diff(console: Console, differences: Sequence[FieldDifference], title: str) -> None:
    """Print the differences as a table."""
    if not differences:
        print_line(console, f"{title}: no differences")
        return
    rows = [[Styled(each.kind, _STYLES[each.kind]), Styled(each.path, "path"), each.text] for each in differences]
    print_table(console, Table(["", "field", "difference"], list(rows)))
    print_line(console, f"{title}: {len(differences)} {'difference' if len(differences) == 1 else 'differences'}")


def to_json(differences: Sequence[FieldDifference], old: str, new: str) -> JsonObject:
    """Return the differences as a JSON object."""
    listed = []
    for each in differences:
        entry: JsonObject = {"kind": each.kind.rstrip("?"), "path": each.path, "text": each.text}
        if each.before is not ABSENT:
            entry["before"] = each.before
        if each.after is not ABSENT:
            entry["after"] = each.after
        listed.append(entry)
    return {"from": old, "to": new, "differences": listed}


def to_html(differences: Sequence[FieldDifference], title: str) -> str:
    """Return the differences as one HTML page."""
    levels: dict[str, parts.Level] = {"added": "ok", "removed": "error", "moved?": "note", "changed": "warning"}
    rows: list[list[Child]] = [
        [parts.badge(each.kind, levels[each.kind]), parts.code(each.path), each.text] for each in differences
    ]
    facts: list[tuple[str, Child]] = [
        (kind.rstrip("?"), str(sum(1 for each in differences if each.kind == kind))) for kind in levels
    ]
    verdict = f"{len(differences)} differences" if differences else "No differences"
    table = parts.data_table("Differences", ["", "Field", "Difference"], rows)
    return html_page(
        title,
        parts.header("polykind diff", title, "note" if differences else "ok", verdict, facts),
        parts.contents(parts.section("differences", "Differences", table)),
    )
