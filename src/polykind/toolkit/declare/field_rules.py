"""Field rules: declarations of the differences between two versions, from which conversions in both directions follow.

    crontabs.between(
        "v1",
        "v2",
        move("spec.cronSpec", "spec.schedule"),
        rename_values("spec.mode", {"On": "Enabled", "Off": "Disabled"}),
        first("spec.host", "spec.hosts"),
        only("v2", "spec.timeZone"),
        drop("v2", "spec.debug", why="it is unused"),
    )

The rules apply in order on the way to the newer version and in reverse order on the way back. If a rule has two paths,
the first belongs to the older version. `[*]` stands for every item of a list, as in `spec.jobs[*].command`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from polykind.contract import JsonObject, copy_json
from polykind.toolkit.declare import stash

_PATH = re.compile(r"[^.\[\]]+(\[\*\])?(\.[^.\[\]]+(\[\*\])?)*").fullmatch
MISSING: Any = object()
"""The value of a field that does not exist."""
Change = Callable[[JsonObject], Any]
OLD, NEW = "<old>", "<new>"
"""Placeholders for the older and the newer version in `FieldRule.paths`. `named_paths` replaces them by versions."""


class FieldPath:
    """A path to a field, such as `spec.jobs[*].command`.

    The part up to the last `[*]` selects objects in lists, the scopes. The rest is the path of one field in each scope.
    """

    def __init__(self, text: str) -> None:
        if not _PATH(text) or text.endswith("]"):
            raise ValueError(f"{text!r} is not a path to a field, such as spec.schedule or spec.jobs[*].command")
        if text.partition(".")[0] in ("apiVersion", "kind", "metadata"):
            raise ValueError(f"{text}: a conversion must not change apiVersion, kind or metadata")
        lists, star, field = text.rpartition("[*]")
        self.text = text
        self.lists = lists + star
        self._names = field.lstrip(".").split(".")

    def scopes(self, obj: JsonObject) -> list[JsonObject]:
        """Return the list items that the path selects, or the object itself if the path has no `[*]`."""
        scopes = [obj]
        for part in self.lists.split("[*]")[:-1]:
            items = [_get(current, part.lstrip(".").split(".")) for current in scopes]
            scopes = [item for listed in items if isinstance(listed, list) for item in listed if isinstance(item, dict)]
        return scopes

    def get(self, scope: JsonObject) -> Any:
        """Return the value of the field in a scope, or MISSING if the field does not exist."""
        return _get(scope, self._names)

    def pop(self, scope: JsonObject) -> Any:
        """Remove the field and return its value, or return MISSING if the field does not exist.

        Also remove parent objects that become empty, except the outermost one (such as `spec`).
        """
        parents = [scope]
        for name in self._names[:-1]:
            child = parents[-1].get(name)
            if not isinstance(child, dict):
                return MISSING
            parents.append(child)
        value = parents[-1].pop(self._names[-1], MISSING)
        if value is not MISSING:
            outermost = 0 if self.lists else 1
            for depth in range(len(parents) - 1, outermost, -1):
                if parents[depth]:
                    break
                del parents[depth - 1][self._names[depth - 1]]
        return value

    def set(self, scope: JsonObject, value: Any) -> None:
        """Set the field in a scope. Create parent objects that do not exist."""
        current = scope
        for name in self._names[:-1]:
            current = current.setdefault(name, {})
            if not isinstance(current, dict):
                raise ValueError(f"{self.text} cannot be set: {name} is not an object")
        current[self._names[-1]] = value

    def reaches(self, scope: JsonObject) -> bool:
        """True if the first parent of the field, such as `spec`, exists in the scope."""
        return len(self._names) == 1 or isinstance(scope.get(self._names[0]), dict)


def _get(current: Any, names: list[str] | Iterator[str]) -> Any:
    for name in names:
        if not isinstance(current, dict) or name not in current:
            return MISSING
        current = current[name]
    return current


class FieldRule(NamedTuple):
    """One difference between two versions. `there` converts to the newer version and `back` to the older, in place.

    `version` is the only version that has the field, or "" if both versions can represent it. `loses` maps paths that
    cannot be kept to the reasons. `paths` are the fields that the rule names, each with its version, OLD or NEW.
    """

    there: Change
    back: Change
    version: str = ""
    loses: Mapping[str, str] = {}
    paths: tuple[tuple[str, str], ...] = ()


def move(old: str, new: str) -> FieldRule:
    """Move or rename a field from path `old` to path `new`. Both paths must go through the same lists."""
    old_path, new_path = FieldPath(old), FieldPath(new)
    if old_path.lists != new_path.lists:
        raise ValueError(f"{old} and {new} do not go through the same lists")
    return FieldRule(
        lambda obj: _move(obj, old_path, new_path),
        lambda obj: _move(obj, new_path, old_path),
        paths=((OLD, old), (NEW, new)),
    )


def rename_values(path: str, values: Mapping[str, str]) -> FieldRule:
    """Rename string values of a field. Values that are not in `values` stay unchanged.

    If the field also moves, the `move` rule must come after this rule.
    """
    back = {new: old for old, new in values.items()}
    if len(back) != len(values):
        raise ValueError(f"{path}: two values must not become the same value, because that cannot be converted back")
    field_path = FieldPath(path)
    return FieldRule(
        lambda obj: _rename(obj, field_path, values), lambda obj: _rename(obj, field_path, back), paths=((OLD, path),)
    )


def first(one: str, many: str) -> FieldRule:
    """Declare a field `one` of the older version that is a list `many` in the newer version.

    In the older version, the field has the first item of the list, and the whole list is kept in the stash.
    """
    one_path, many_path = _path_without_lists(one), _path_without_lists(many)

    def there(obj: JsonObject) -> None:
        stashed, value = stash.take(obj, many, MISSING), one_path.pop(obj)
        if stashed is not MISSING and many_path.reaches(obj):
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

    return FieldRule(there, back, paths=((OLD, one), (NEW, many)))


def only(version: str, path: str, *, default: Any = None) -> FieldRule:
    """Declare a field that exists in one version only. The other version keeps the value in the stash.

    If `default` is not None, objects without a stashed value get the default when they are converted to `version`,
    because the API server does not apply defaults after a conversion. A value equal to the default is not stashed.
    """
    field_path = _path_without_lists(path)

    def remove(obj: JsonObject) -> None:
        value = field_path.pop(obj)
        if value is not MISSING and (default is None or value != default):
            stash.put(obj, path, value)

    def restore(obj: JsonObject) -> None:
        stashed = stash.take(obj, path, MISSING)
        if not field_path.reaches(obj):
            # A client of the other version has removed the parent of the field, such as `spec`. Do not create it again.
            return
        if stashed is not MISSING:
            field_path.set(obj, stashed)
        elif default is not None:
            field_path.set(obj, copy_json(default))

    return FieldRule(restore, remove, version, paths=((version, path),))


def drop(version: str, path: str, *, why: str) -> FieldRule:
    """Declare a field that exists only in `version` and whose value is lost in a conversion to the other version.

    `why` is the reason for the loss, which proofs report as acknowledged.
    """
    if not why.strip():
        raise ValueError(f"{path} is dropped: give a reason")
    field_path = FieldPath(path)
    return FieldRule(
        _do_nothing,
        lambda obj: [field_path.pop(scope) for scope in field_path.scopes(obj)],
        version,
        {path: why},
        ((version, path),),
    )


def by_hand(there: Change, back: Change) -> FieldRule:
    """Declare a difference by two functions that change an object in place, to the newer version and back."""
    return FieldRule(there, back)


def named_paths(rules: Iterable[FieldRule], old: str, new: str) -> list[tuple[str, str]]:
    """Return the paths of the fields that rules between the versions `old` and `new` name, each with its version."""
    versions = {OLD: old, NEW: new}
    return [(versions.get(version, version), path) for rule in rules for version, path in rule.paths]


def compose(rules: Iterable[FieldRule], old: str, new: str) -> tuple[Change, Change, dict[str, str], dict[str, str]]:
    """Return the functions that convert from `old` to `new` and back, and the acknowledged losses of each function.

    Raise ValueError if a rule is invalid.
    """
    oriented = []
    there_loses: dict[str, str] = {}
    back_loses: dict[str, str] = {}
    for rule in rules:
        if rule.version not in ("", old, new):
            raise ValueError(f"a rule names the version {rule.version}, but the rules are between {old} and {new}")
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
        raise ValueError(f"{path} must not go through a list: its values could not be matched to items again")
    return field_path


def _do_nothing(obj: JsonObject) -> None:
    """Change nothing, because objects of the other version do not have the field."""


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
