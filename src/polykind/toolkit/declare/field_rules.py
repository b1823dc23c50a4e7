"""Conversions without code: rules that say how two versions differ, and so lead both ways.

    crontabs.between(
        "v1",
        "v2",
        move("spec.cronSpec", "spec.schedule"),
        rename_values("spec.mode", {"On": "Enabled", "Off": "Disabled"}),
        first("spec.host", "spec.hosts"),
        only("v2", "spec.timeZone"),
        drop("v2", "spec.debug", why="nobody used it"),
    )

They apply in their order on the way to the newer version, in the reverse order on the way back. Where a rule has two
paths, the first is that of the older version. `[*]` stands for every item of a list, as in `spec.jobs[*].command`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from polykind.contract import JsonObject, copy_json
from polykind.toolkit.declare import stash
from polykind.toolkit.declare.field_paths import MISSING, FieldPath

Change = Callable[[JsonObject], Any]


class FieldRule(NamedTuple):
    """How two versions differ in one respect: `there` leads to the newer, `back` to the older one, in place.

    `version` is the one that alone knows something, "" if the rule leads both ways as it stands; `loses` is what of it
    cannot be kept, and why.
    """

    there: Change
    back: Change
    version: str = ""
    loses: Mapping[str, str] = {}


def move(old: str, new: str) -> FieldRule:
    """A field has another name or stands elsewhere, in the same item if it is in a list's."""
    old_path, new_path = FieldPath(old), FieldPath(new)
    if old_path.lists != new_path.lists:
        raise ValueError(f"{old} and {new} do not lead through the same lists")
    return FieldRule(lambda obj: _move(obj, old_path, new_path), lambda obj: _move(obj, new_path, old_path))


def rename_values(path: str, values: Mapping[str, str]) -> FieldRule:
    """Values have other names; those that are not mentioned stay. A field that also moves is moved after that."""
    back = {new: old for old, new in values.items()}
    if len(back) != len(values):
        raise ValueError(f"{path}: two values may not become one, there is no way back")
    field_path = FieldPath(path)
    return FieldRule(lambda obj: _rename(obj, field_path, values), lambda obj: _rename(obj, field_path, back))


def first(one: str, many: str) -> FieldRule:
    """A single value has become a list, of which the older version sees the first item; the list is stashed."""
    one_path, many_path = _path_without_lists(one), _path_without_lists(many)

    def there(obj: JsonObject) -> None:
        stashed, value = stash.take(obj, many, MISSING), one_path.pop(obj)
        if stashed is not MISSING:
            many_path.set(obj, stashed)
        elif value is not MISSING:
            many_path.set(obj, [value])

    def back(obj: JsonObject) -> None:
        values = many_path.pop(obj)
        if values is MISSING:
            return
        if isinstance(values, list) and values:
            one_path.set(obj, values[0])
        if not isinstance(values, list) or len(values) != 1:
            stash.put(obj, many, values, beside=[one])

    return FieldRule(there, back)


def only(version: str, path: str, *, default: Any = None) -> FieldRule:
    """A field that one version alone knows; at the other it is stashed.

    With a `default`, objects that come from the other version get it, for no API server fills in defaults after a
    conversion; and where it has that value it need not be stashed.
    """
    field_path = _path_without_lists(path)

    def remove(obj: JsonObject) -> None:
        value = field_path.pop(obj)
        if value is not MISSING and (default is None or value != default):
            stash.put(obj, path, value)

    def restore(obj: JsonObject) -> None:
        stashed = stash.take(obj, path, MISSING)
        if stashed is not MISSING:
            field_path.set(obj, stashed)
        elif default is not None and field_path.reaches(obj):
            field_path.set(obj, copy_json(default))

    return FieldRule(restore, remove, version)


def drop(version: str, path: str, *, why: str) -> FieldRule:
    """A field that one version alone knows, and that is lost on the way to the other: acknowledged, with the reason."""
    if not why.strip():
        raise ValueError(f"{path} is dropped: say why")
    field_path = FieldPath(path)
    return FieldRule(
        _do_nothing, lambda obj: [field_path.pop(scope) for scope in field_path.scopes(obj)], version, {path: why}
    )


def by_hand(there: Change, back: Change) -> FieldRule:
    """What no other rule says: two functions that change the object they are given."""
    return FieldRule(there, back)


def compose(rules: Iterable[FieldRule], old: str, new: str) -> tuple[Change, Change, dict[str, str], dict[str, str]]:
    """Rules as two steps: from `old` to `new` and back, and what is lost on either. Raises ValueError."""
    oriented = []
    there_loses: dict[str, str] = {}
    back_loses: dict[str, str] = {}
    for rule in rules:
        if rule.version not in ("", old, new):
            raise ValueError(f"a rule is about {rule.version}, between {old} and {new}")
        about_old = rule.version == old
        (there_loses if about_old else back_loses).update(rule.loses)
        oriented.append((rule.back, rule.there) if about_old else (rule.there, rule.back))

    def there(obj: JsonObject) -> None:
        for change, _ in oriented:
            change(obj)

    def back(obj: JsonObject) -> None:
        for _, change in reversed(oriented):
            change(obj)

    return there, back, there_loses, back_loses


def _path_without_lists(path: str) -> FieldPath:
    field_path = FieldPath(path)
    if field_path.lists:
        raise ValueError(f"{path} may not lead through lists: what belongs to which item could not be told")
    return field_path


def _do_nothing(obj: JsonObject) -> None:
    """What the other version does not know is not there to be changed."""


def _move(obj: JsonObject, source: FieldPath, target: FieldPath) -> None:
    for scope in source.scopes(obj):
        value = source.pop(scope)
        if value is not MISSING:
            target.set(scope, value)


def _rename(obj: JsonObject, field_path: FieldPath, values: Mapping[str, str]) -> None:
    for scope in field_path.scopes(obj):
        value = field_path.get(scope)
        if isinstance(value, str) and value in values:
            field_path.set(scope, values[value])
