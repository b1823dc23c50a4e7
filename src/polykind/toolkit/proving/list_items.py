"""The check that an edit of a list does not exchange values between the items of the list at the other version.

A converter that stashes fields of list items by their index gives them to the wrong items after a client has removed,
inserted or moved an item.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from polykind.contract import JsonObject
from polykind.schema.equality import deep_equal
from polykind.toolkit.proving.edits import LIST_OPERATIONS, Edit
from polykind.toolkit.proving.object_diff import MISSING, Difference, Path, leaf_paths


def exchanged_values(
    edit: Edit, edited_from: JsonObject, fresh: tuple[JsonObject, JsonObject], stored: tuple[JsonObject, JsonObject]
) -> Iterator[Difference]:
    """Yield values that an edit of a list has moved to another item.

    `edited_from` is the object before the edit. `fresh` are the objects before and after the edit, converted without
    the annotations of the converter. `stored` are the same objects, converted with them. A list of the converted
    objects corresponds to the edited list if the edit changes both in the same way without these annotations.
    """
    path = _list_path(edit)
    before, after = (_value_at(obj, path) for obj in (edited_from, edit.obj)) if path is not None else (None, None)
    if not isinstance(before, list) or not isinstance(after, list):
        return
    origins = [[at for at, item in enumerate(before) if deep_equal(item, new)] for new in after]
    for place in list(_lists(stored[0])):
        values = [_value_at(obj, place) for obj in (*fresh, *stored)]
        same_lengths = [_length(value) for value in values] == [len(before), len(after)] * 2
        if same_lengths and _corresponds(values[0], values[1], origins):
            yield from _exchanged_at(place, origins, *values)


Origins = list[list[int]]
"""For each item of an edited list the indexes of the items before the edit that are equal to it."""


def _corresponds(before: list[Any], after: list[Any], origins: Origins) -> bool:
    """True if an edit has changed a list in the way that `origins` describes."""
    return not deep_equal(before, after) and all(
        not known or any(deep_equal(after[at], before[origin]) for origin in known) for at, known in enumerate(origins)
    )


def _exchanged_at(
    place: Path, origins: Origins, fresh_before: list[Any], fresh_after: list[Any], old: list[Any], new: list[Any]
) -> Iterator[Difference]:
    """Yield values of the list at a path that its item has neither from its origins nor from the edit."""
    for at, known in enumerate(origins):
        sources = [*(old[origin] for origin in known), fresh_after[at]]
        if at < len(old) and deep_equal(fresh_before[at], fresh_after[at]):
            sources.append(old[at])
        yield from _foreign_values(new[at], sources, (*place, at))


def _length(value: Any) -> int:
    """Return the length of a list, or -1 for any other value."""
    return len(value) if isinstance(value, list) else -1


def _foreign_values(item: Any, sources: list[Any], path: Path) -> Iterator[Difference]:
    """Yield the values of a list item that none of the `sources` has in the same field."""
    for leaf in leaf_paths(item):
        value = _value_at(item, leaf)
        expected = [_value_at(source, leaf) for source in sources]
        if not any(known is not MISSING and deep_equal(known, value) for known in expected):
            yield Difference((*path, *leaf), expected[0], value)


def _list_path(edit: Edit) -> Path | None:
    """Return the path of the list whose items the edit adds, removes or moves, or None for any other edit."""
    if edit.operation in LIST_OPERATIONS:
        return edit.path
    if isinstance(edit.path[-1], int) and MISSING in (edit.before, edit.after):
        return edit.path[:-1]
    return None


def _lists(value: Any, path: Path = ()) -> Iterator[Path]:
    if isinstance(value, list):
        yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, item in inner:
        yield from _lists(item, (*path, step))


def _value_at(value: Any, path: Path) -> Any:
    """Return the value at a path, or MISSING."""
    for step in path:
        try:
            value = value[step]
        except (LookupError, TypeError):
            return MISSING
    return value
