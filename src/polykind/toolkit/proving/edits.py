"""Edits of single fields, list items or map keys, as made by a client that knows only one version."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, NamedTuple

from polykind.contract import JsonObject, copy_json
from polykind.schema.equality import deep_equal
from polykind.schema.node import META_KEYS
from polykind.toolkit.crd_versions import CRDVersion
from polykind.toolkit.proving import scalar_generators
from polykind.toolkit.proving.choices import Choices, GenerationError, pick
from polykind.toolkit.proving.object_diff import MISSING, Path
from polykind.toolkit.proving.object_generator import ObjectGenerator
from polykind.toolkit.proving.round_trip import ConversionFailedError, admit

_ATTEMPTS = 6
_LABEL: JsonObject = {"type": "string", "enum": ["yes"]}
_LABELS: JsonObject = {"type": "object", "enum": [{"edited": "yes"}]}


class Edit(NamedTuple):
    """An edit of the value at `path` from `before` to `after`. `obj` is the edited object as the server stores it.

    `operation` is `set`, or one of LIST_OPERATIONS for an edit of the list at `path` as a whole. `argument` is the
    value to set, or the item to insert into the list.
    """

    path: Path
    before: Any
    after: Any
    obj: JsonObject
    operation: str = "set"
    argument: Any = MISSING


class EditTarget(NamedTuple):
    """A field, list item or map key that an edit can change. `raw` is the schema of the value at `path`."""

    action: str
    path: Path
    raw: JsonObject

    @property
    def kind(self) -> tuple[str, Path]:
        """The action, and the path with `*` for list indexes. Targets for the same schema field have the same kind."""
        return self.action, tuple("*" if isinstance(step, int) else step for step in self.path)


class Editor:
    """Generates edits of objects of one version. It prefers the fields with the fewest edits, to cover all fields."""

    def __init__(self, generator: ObjectGenerator) -> None:
        self._generator = generator
        self._edit_counts: Counter[tuple[str, Path]] = Counter()

    def edit(self, choices: Choices, obj: JsonObject) -> Edit | None:
        """Return one valid edit of an object, or None if no attempt gives a valid edit."""
        targets = [*_edit_targets(self._generator.version.openapi, obj, ()), *_metadata_targets(obj)]
        for _ in range(_ATTEMPTS if targets else 0):
            least = min(self._edit_counts[target.kind] for target in targets)
            target = pick(choices, [target for target in targets if self._edit_counts[target.kind] == least])
            self._edit_counts[target.kind] += 1
            with suppress(GenerationError, ConversionFailedError):
                edited = _try_edit(choices, self._generator, obj, target)
                if edited is not None:
                    return edited
        return None


def _try_edit(choices: Choices, generator: ObjectGenerator, obj: JsonObject, target: EditTarget) -> Edit | None:
    if target.action in LIST_OPERATIONS:
        item = generator.value(choices, target.raw) if target.action == "insert" else MISSING
        return apply_edit(generator.version, obj, target.path, item, target.action)
    value = MISSING if target.action == "remove" else generator.value(choices, target.raw)
    path = (*target.path[:-1], scalar_generators.generate_name(choices)) if target.action == "key" else target.path
    return apply_edit(generator.version, obj, path, value)


def apply_edit(version: CRDVersion, obj: JsonObject, path: Path, value: Any, operation: str = "set") -> Edit | None:
    """Return the edit that sets the value at `path` in `obj`, or applies one of LIST_OPERATIONS to the list there.

    Return None if the edit changes nothing, if the edited object is invalid, or if the path does not exist.
    """
    out = copy_json(obj)
    try:
        new = value
        if operation != "set":
            new = LIST_OPERATIONS[operation](_value_at(out, path), value)
        before = _set_at(out, path, copy_json(new))
    except (LookupError, TypeError):
        return None
    out = admit(version, out)
    if deep_equal(out, obj) or version.validation_errors(out):
        return None
    return Edit(path, before, new, out, operation, value)


def _insert(items: list[Any], new: Any) -> list[Any]:
    return [copy_json(new), *items]


LIST_OPERATIONS: dict[str, Callable[[list[Any], Any], list[Any]]] = {
    "reverse": lambda items, _: items[::-1],
    "rotate": lambda items, _: items[1:] + items[:1],
    "drop-first": lambda items, _: items[1:],
    "insert": _insert,
}
"""Edits of a list as a whole, by name. Each is a function of the list and of the value to insert."""


def _value_at(obj: JsonObject, path: Path) -> Any:
    out: Any = obj
    for step in path:
        out = out[step]
    return out


def _edit_targets(raw: JsonObject, value: Any, path: Path) -> Iterator[EditTarget]:
    """Yield an edit target for each existing value and for each schema field that the object does not set."""
    if isinstance(value, dict):
        yield from _field_targets(raw, value, path)
        yield from _key_targets(raw, value, path)
    elif isinstance(value, list) and isinstance(raw.get("items"), dict):
        items = raw["items"]
        yield EditTarget("set", (*path, len(value)), items)
        if len(value) > 1:
            yield from (EditTarget(operation, path, items) for operation in LIST_OPERATIONS)
        for at, item in enumerate(value):
            yield EditTarget("remove", (*path, at), items)
            yield from _targets_below(items, item, (*path, at))


def _field_targets(raw: JsonObject, value: JsonObject, path: Path) -> Iterator[EditTarget]:
    for name, child in (raw.get("properties") or {}).items():
        if not path and name in META_KEYS:
            continue
        here = (*path, name)
        if name not in value:
            yield EditTarget("set", here, child)
            continue
        if name not in (raw.get("required") or ()):
            yield EditTarget("remove", here, child)
        yield from _targets_below(child, value[name], here)


def _key_targets(raw: JsonObject, value: JsonObject, path: Path) -> Iterator[EditTarget]:
    """Yield an edit target for a new key of a map, and for each of its keys."""
    more = raw.get("additionalProperties")
    if not isinstance(more, dict):
        return
    yield EditTarget("key", (*path, ""), more)
    for key in value:
        if key not in (raw.get("properties") or {}):
            yield EditTarget("remove", (*path, key), more)
            yield from _targets_below(more, value[key], (*path, key))


def _metadata_targets(obj: JsonObject) -> Iterator[EditTarget]:
    """Yield an edit target for a label that a user sets."""
    metadata = obj.get("metadata") or {}
    label: Path = ("metadata", "labels", "edited") if "labels" in metadata else ("metadata", "labels")
    yield EditTarget("set", label, _LABEL if len(label) == 3 else _LABELS)


def _targets_below(raw: JsonObject, value: Any, path: Path) -> Iterator[EditTarget]:
    if not value or not isinstance(value, (dict, list)):
        yield EditTarget("change", path, raw)
    yield from _edit_targets(raw, value, path)


def _set_at(obj: JsonObject, path: Path, value: Any) -> Any:
    """Set the value at a path in place, or remove it if `value` is MISSING. Return the previous value or MISSING."""
    parent: Any = obj
    for step in path[:-1]:
        parent = parent[step]
    last: Any = path[-1]
    exists = last in parent if isinstance(parent, dict) else last < len(parent)
    before = parent[last] if exists else MISSING
    if value is MISSING:
        del parent[last]
    elif isinstance(parent, list) and not exists:
        parent.append(value)
    else:
        parent[last] = value
    return before
