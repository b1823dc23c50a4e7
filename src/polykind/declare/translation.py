"""Translations: fields of one version that are replaced by fields of another version, in every scope of a path.

A scope is the object itself, or each item of a list. An original that the way back would not restore is stashed, and
returns if a client of the other version has not changed the translated value.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from polykind.contract import JsonObject, copy_json
from polykind.declare import stash
from polykind.declare.field_rules import MISSING, NEW, OLD, FieldPath, FieldRule, enter, leave
from polykind.declare.rule_place import caller_place

Values = tuple[Any, ...]
Translate = Callable[[Values], Values | None]
"""A function that translates the values of some fields. MISSING stands for an absent field. None: impossible."""
Merge = Callable[[Values, Values], Values]
"""A function that completes translated values by the stashed original, of which a client has edited a part."""


def translate(
    name: str,
    old: Sequence[str],
    new: Sequence[str],
    there: Translate,
    back: Translate,
    place: str = "",
    *,
    merge_there: Merge | None = None,
    merge_back: Merge | None = None,
) -> FieldRule:
    """Return a rule that replaces the fields `old` by the fields `new`. All paths must go through the same lists."""
    old_paths, new_paths = tuple(FieldPath(path) for path in old), tuple(FieldPath(path) for path in new)
    if len({path.lists for path in (*old_paths, *new_paths)}) != 1:
        raise ValueError(f"{', '.join((*old, *new))} do not go through the same lists")
    old_name, new_name = f"old {name} {' '.join(old)}", f"new {name} {' '.join(new)}"
    forwards = _Translation(old_paths, new_paths, there, back, old_name, new_name, merge_there)
    backwards = _Translation(new_paths, old_paths, back, there, new_name, old_name, merge_back)
    return FieldRule(
        forwards.apply,
        backwards.apply,
        paths=(*((OLD, path) for path in old), *((NEW, path) for path in new)),
        name=name,
        place=place or caller_place(),
    )


class _Translation(NamedTuple):
    """A translation in one direction."""

    sources: tuple[FieldPath, ...]
    targets: tuple[FieldPath, ...]
    convert: Translate
    revert: Translate
    own_name: str
    """The name under which originals of the source version are stashed, for the way back."""
    other_name: str
    """The name under which originals of the target version were stashed."""
    merge: Merge | None

    def apply(self, obj: JsonObject) -> None:
        """Replace the source fields by the target fields in every scope."""
        scopes = self.sources[0].scopes(obj)
        before = [tuple(path.get(scope) for path in self.sources) for scope in scopes]
        stashed = stash.take(obj, self.other_name, edited=True)
        originals = _match(stashed, scopes if self._in_list else (), before)
        edited = None if self._in_list else _original(stashed)
        entries = []
        for at, (scope, values, original) in enumerate(zip(scopes, before, originals, strict=True)):
            if all(value is MISSING for value in values) and not self._has_place(scope, original):
                continue
            converted = original or self._convert(values, edited)
            self._exchange(obj, scope, converted)
            if not _same(self.revert(converted), values):
                digest = _digest(scope) if self._in_list else ""
                entry = {"at": [at, len(scopes)], "digest": digest}
                entries.append(entry | {"value": _boxed(converted), "original": _boxed(values)})
        if entries:
            # The paths tell that an edit of these fields replaces what is stashed here.
            fields = [path.lists.partition("[*]")[0] or path.text for path in self.targets]
            stash.put(obj, self.own_name, entries, beside=fields)

    @property
    def _in_list(self) -> bool:
        return bool(self.sources[0].lists)

    @property
    def _common_parents(self) -> int:
        """The number of parents that all fields share. They stay, because the target fields are set in them."""
        return min(source.common_parents(target) for source in self.sources for target in self.targets)

    def _has_place(self, scope: JsonObject, original: Values | None) -> bool:
        """True if a scope without the source fields has the parents of the target fields.

        Nothing is created inside a parent that is not there. A client may have removed it, with the field.
        """
        common = self._common_parents
        needed = (common if original else path.depth for path in self.targets)
        exist = all(path.parents(scope) >= depth for path, depth in zip(self.targets, needed, strict=True))
        return exist and self.targets[0].reaches(scope)

    def _convert(self, values: Values, edited: Values | None) -> Values:
        """Return the values of the target fields. `edited` is an original whose translation a client has changed."""
        converted = self.convert(values) or (MISSING,) * len(self.targets)
        if self.merge is None or edited is None or MISSING in values or MISSING in edited:
            return converted
        return self.merge(converted, edited)

    def _exchange(self, obj: JsonObject, scope: JsonObject, converted: Values) -> None:
        keep = self._common_parents
        for path in self.sources:
            leave(obj, scope, path, keep)
        for path, value in zip(self.targets, converted, strict=True):
            enter(obj, scope, path, value if value is MISSING else copy_json(value), keep)


def _match(stashed: Any, items: Sequence[JsonObject], values: Sequence[Values]) -> list[Values | None]:
    """Return the stashed original for each scope, or None if there is none or a client has changed the value.

    Items of a list are recognized by their whole content, then by the translated value, so that originals survive
    edits, insertions and removals of other items. Absent values are recognized by their position.
    """
    out: list[Values | None] = [None] * len(values)
    entries = [entry for entry in stashed if _is_entry(entry)] if isinstance(stashed, list) else []
    if not entries:
        return out
    boxed = [_boxed(each) for each in values]
    digests = [_digest(item) for item in items]

    def candidates(entry: JsonObject) -> Iterator[int]:
        return (at for at in range(len(values)) if out[at] is None and stash.same(entry["value"], boxed[at]))

    def assign(matches: Callable[[JsonObject, int], bool]) -> None:
        for entry in list(entries):
            found = next((at for at in candidates(entry) if matches(entry, at)), None)
            if found is not None:
                out[found] = _unboxed(entry["original"])
                entries.remove(entry)

    if not items:
        assign(lambda entry, at: True)
        return out
    assign(lambda entry, at: entry["digest"] == digests[at])
    assign(lambda entry, at: any(entry["value"]))
    assign(lambda entry, at: entry["at"] == [at, len(values)])
    return out


def _original(stashed: Any) -> Values | None:
    """Return the original of a single scope, although a client has changed the translated value."""
    entry: Any = stashed[0] if isinstance(stashed, list) and len(stashed) == 1 else None
    return _unboxed(entry["original"]) if _is_entry(entry) else None


def _is_entry(entry: Any) -> bool:
    return (
        isinstance(entry, dict)
        and entry.keys() == {"at", "digest", "value", "original"}
        and all(
            isinstance(entry[key], list) and all(isinstance(box, list) for box in entry[key])
            for key in ("value", "original")
        )
    )


def _boxed(values: Values) -> list[list[Any]]:
    """Return values as JSON: an absent value is an empty list, any other value a list of one."""
    return [[] if value is MISSING else [value] for value in values]


def _unboxed(boxes: list[list[Any]]) -> Values:
    return tuple(box[0] if box else MISSING for box in boxes)


def _same(one: Values | None, other: Values) -> bool:
    return one is not None and stash.same(_boxed(one), _boxed(other))


def _digest(item: JsonObject) -> str:
    return hashlib.sha256(stash.encode(item).encode()).hexdigest()[:16]
