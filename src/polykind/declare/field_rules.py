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
from polykind.declare import stash
from polykind.declare.rule_place import RuleError, caller_place

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

    def pop(self, scope: JsonObject, keep: int = 0) -> Any:
        """Remove the field and return its value, or return MISSING if the field does not exist.

        Also remove parent objects that become empty, except the outermost `keep`, and the outermost one (such as
        `spec`).
        """
        parents = [scope]
        for name in self._names[:-1]:
            child = parents[-1].get(name)
            if not isinstance(child, dict):
                return MISSING
            parents.append(child)
        value = parents[-1].pop(self._names[-1], MISSING)
        if value is not MISSING:
            self.remove_empty_parents(scope, keep)
        return value

    def remove_empty_parents(self, scope: JsonObject, keep: int = 0) -> None:
        """Remove the innermost parent objects that are empty, except the outermost `keep`, and the outermost one."""
        parents = [scope]
        for name in self._names[:-1]:
            child = parents[-1].get(name)
            if not isinstance(child, dict):
                break
            parents.append(child)
        for depth in range(len(parents) - 1, self._kept(keep), -1):
            if parents[depth]:
                break
            del parents[depth - 1][self._names[depth - 1]]

    def create_parents(self, scope: JsonObject, count: int) -> None:
        """Create the outermost `count` parent objects, unless they exist."""
        current = scope
        for name in self._names[:count]:
            current = current.setdefault(name, {})
            if not isinstance(current, dict):
                return

    def empty_parents(self, scope: JsonObject, keep: int = 0) -> int:
        """Return the number of existing parents if the innermost of them is empty and removable, else 0."""
        depth = self.parents(scope)
        current = scope
        for name in self._names[:depth]:
            current = current[name]
        return depth if depth > self._kept(keep) and not current else 0

    def common_parents(self, other: FieldPath) -> int:
        """Return the number of parents that two fields in the same scope share."""
        count = 0
        for name, other_name in zip(self._names[:-1], other._names[:-1], strict=False):
            if name != other_name:
                break
            count += 1
        return count

    def _kept(self, keep: int) -> int:
        return max(keep, 0 if self.lists else 1)

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

    def parents(self, scope: JsonObject) -> int:
        """Return the number of parent objects of the field that exist in the scope."""
        current = scope
        for depth, name in enumerate(self._names[:-1]):
            child = current.get(name)
            if not isinstance(child, dict):
                return depth
            current = child
        return self.depth

    @property
    def depth(self) -> int:
        """The number of parent objects of the field."""
        return len(self._names) - 1


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
    `name` is the rule's name in Python, and `place` the file and line where it is declared.
    """

    there: Change
    back: Change
    version: str = ""
    loses: Mapping[str, str] = {}
    paths: tuple[tuple[str, str], ...] = ()
    name: str = "by_hand"
    place: str = ""

    def __str__(self) -> str:
        paths = ", ".join(dict.fromkeys(path for _, path in self.paths))
        return f"{self.name}({paths})"


def move(old: str, new: str) -> FieldRule:
    """Move or rename a field from path `old` to path `new`. Both paths must go through the same lists."""
    old_path, new_path = FieldPath(old), FieldPath(new)
    if old_path.lists != new_path.lists:
        raise ValueError(f"{old} and {new} do not go through the same lists")
    return FieldRule(
        lambda obj: _move(obj, old_path, new_path),
        lambda obj: _move(obj, new_path, old_path),
        paths=((OLD, old), (NEW, new)),
        name="move",
        place=caller_place(),
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
        lambda obj: _rename(obj, field_path, values),
        lambda obj: _rename(obj, field_path, back),
        paths=((OLD, path),),
        name="rename_values",
        place=caller_place(),
    )


def first(one: str, many: str) -> FieldRule:
    """Declare a field `one` of the older version that is a list `many` in the newer version.

    In the older version, the field has the first item of the list, and the whole list is kept in the stash.
    """
    one_path, many_path = _path_without_lists(one), _path_without_lists(many)
    keep = one_path.common_parents(many_path)

    def there(obj: JsonObject) -> None:
        stashed, value = stash.take(obj, many, MISSING), leave(obj, obj, one_path, keep)
        if stashed is not MISSING:
            # A client of the older version may have removed the parent of the field, and the field with it.
            enter(obj, obj, many_path, stashed if many_path.parents(obj) >= keep else MISSING, keep)
        else:
            enter(obj, obj, many_path, MISSING if value is MISSING else [value], keep)

    def back(obj: JsonObject) -> None:
        values = leave(obj, obj, many_path, keep)
        enter(obj, obj, one_path, values[0] if isinstance(values, list) and values else MISSING, keep)
        if values is MISSING:
            return
        if not isinstance(values, list) or len(values) != 1:
            stash.put(obj, many, values, beside=[one])

    return FieldRule(there, back, paths=((OLD, one), (NEW, many)), name="first", place=caller_place())


def only(version: str, path: str, *, default: Any = None) -> FieldRule:
    """Declare a field that exists in one version only. The other version keeps the value in the stash.

    If `default` is not None, objects without a stashed value get the default when they are converted to `version`,
    because the API server does not apply defaults after a conversion. A value equal to the default is not stashed.
    """
    field_path = _path_without_lists(path)

    def remove(obj: JsonObject) -> None:
        kept = stash.take(obj, f"kept parent of {path}", 0, edited=True)
        value = field_path.pop(obj, kept if isinstance(kept, int) else 0)
        if value is MISSING:
            return
        parents = field_path.parents(obj)
        if default is None or value != default or parents < field_path.depth:
            stash.put(obj, path, {"value": value, "parents": parents})

    def restore(obj: JsonObject) -> None:
        stashed = stash.take(obj, path, MISSING)
        parents = field_path.parents(obj)
        if isinstance(stashed, dict) and stashed.keys() == {"value", "parents"}:
            # If a client of the other version has removed a parent that was left there, such as `spec`, the field is
            # gone with it. Parents that existed only for this field are created again.
            if parents >= stashed["parents"]:
                enter(obj, obj, field_path, stashed["value"])
        elif default is not None and parents == field_path.depth:
            enter(obj, obj, field_path, copy_json(default))

    return FieldRule(restore, remove, version, paths=((version, path),), name="only", place=caller_place())


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
        "drop",
        caller_place(),
    )


def by_hand(there: Change, back: Change) -> FieldRule:
    """Declare a difference by two functions that change an object in place, to the newer version and back."""
    return FieldRule(there, back, place=caller_place())


def backwards(rule: FieldRule) -> FieldRule:
    """Return a rule for the opposite order of the versions: the newer version has the older side of `rule`."""
    swap = {OLD: NEW, NEW: OLD}
    paths = tuple((swap.get(version, version), path) for version, path in rule.paths)
    return rule._replace(there=rule.back, back=rule.there, paths=paths)


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
        there_change, back_change = (rule.back, rule.there) if about_old else (rule.there, rule.back)
        oriented.append((rule, there_change, back_change))

    def there(obj: JsonObject) -> None:
        for rule, change, _ in oriented:
            _apply(rule, change, obj)

    def back(obj: JsonObject) -> None:
        for rule, _, change in reversed(oriented):
            _apply(rule, change, obj)

    return there, back, there_loses, back_loses


def _apply(rule: FieldRule, change: Change, obj: JsonObject) -> None:
    """Apply a rule. An error of a rule that the toolkit implements names the place where the author declared it."""
    try:
        change(obj)
    except (ValueError, TypeError, KeyError, IndexError, AttributeError) as error:
        if rule.name == "by_hand":
            raise
        raise RuleError(f"the rule {rule} failed: {error}", rule.place) from error


def _path_without_lists(path: str) -> FieldPath:
    field_path = FieldPath(path)
    if field_path.lists:
        raise ValueError(f"{path} must not go through a list: its values could not be matched to items again")
    return field_path


def _do_nothing(obj: JsonObject) -> None:
    """Change nothing, because objects of the other version do not have the field."""


def _move(obj: JsonObject, source: FieldPath, target: FieldPath) -> None:
    keep = source.common_parents(target)
    for scope in source.scopes(obj):
        value = leave(obj, scope, source, keep)
        enter(obj, scope, target, value, keep)


def leave(obj: JsonObject, scope: JsonObject, path: FieldPath, keep: int = 0) -> Any:
    """Remove and return the value of a field that the target version has at another place. Return MISSING if absent.

    Parents that become empty are removed, except the outermost `keep`. An empty parent without the field is removed,
    too, and `enter` creates it again on the way back. A parent that `enter` found empty stays.
    """
    if path.lists or path.depth < 2:
        return path.pop(scope, keep)
    kept = stash.take(obj, f"kept parent of {path.text}", 0, edited=True)
    keep = max(keep, kept if isinstance(kept, int) else 0)
    value = path.pop(scope, keep)
    if value is MISSING and (depth := path.empty_parents(scope, keep)):
        path.remove_empty_parents(scope, keep)
        stash.put(obj, f"empty parent of {path.text}", depth)
    return value


def enter(obj: JsonObject, scope: JsonObject, path: FieldPath, value: Any, keep: int = 0) -> None:
    """Set a field to a value that `leave` has returned for its place in the other version. MISSING sets nothing.

    The outermost `keep` parents are the same in both versions.
    """
    if not path.lists and path.depth >= 2:
        empty = stash.take(obj, f"empty parent of {path.text}", 0)
        if depth := path.empty_parents(scope, keep):
            stash.put(obj, f"kept parent of {path.text}", depth, beside=[path.text.rpartition(".")[0]])
        elif value is MISSING and isinstance(empty, int) and empty and path.parents(scope) >= max(keep, 1):
            path.create_parents(scope, empty)
    if value is not MISSING:
        path.set(scope, value)


def _rename(obj: JsonObject, field_path: FieldPath, values: Mapping[str, str]) -> None:
    for scope in field_path.scopes(obj):
        value = field_path.get(scope)
        if isinstance(value, str) and value in values:
            field_path.set(scope, values[value])
