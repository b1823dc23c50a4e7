"""Failures made small: pieces are taken away and values made plain, while the object stays valid and still fails."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from polykind.contract import JsonObject, copy_json
from polykind.schema.equality import deep_equal
from polykind.schema.node import SchemaNode
from polykind.schema.pruning import effective_default
from polykind.toolkit.proving.differences import Path

MOST = 3000
"""How many simpler objects are tried for one failure."""
_KEPT = {("apiVersion",), ("kind",), ("metadata",), ("metadata", "name"), ("metadata", "namespace")}
_WHOLE = {("apiVersion",), ("kind",), ("metadata",)}
T = TypeVar("T")


def smallest(obj: JsonObject, found: T, fails: Callable[[JsonObject], T | None]) -> tuple[JsonObject, T]:
    """The simplest object that fails, reached by one simplification after another, and what was found with it.

    `fails` gives what is wrong with an object; None if nothing is, or if it is not valid.
    """
    tried = 0
    smaller = True
    while smaller and tried < MOST:
        smaller = False
        for path in _paths(obj):
            for candidate in _simpler(obj, path):
                if tried >= MOST or cost(candidate) >= cost(obj):
                    continue
                tried += 1
                result = fails(candidate)
                if result is not None:
                    obj, found, smaller = candidate, result, True
                    break
    return obj, found


def undefaulted(node: SchemaNode | None, value: Any) -> Any:
    """A value without the fields that defaults fill in again."""
    if node is None:
        return value
    if isinstance(value, list):
        return [undefaulted(node.items, item) for item in value]
    if not isinstance(value, dict):
        return value
    out = {}
    for key, item in value.items():
        child = node.child(key)
        filled = effective_default(child) if child is not None and node.has_property(key) else None
        if filled is None or not deep_equal(filled, item):
            out[key] = undefaulted(child, item)
    return out


def cost(value: Any) -> int:
    """How much there is to read in a value; the plainest of each type cost least."""
    if isinstance(value, dict):
        return 2 + sum(3 + cost(item) for item in value.values())
    if isinstance(value, list):
        return 2 + sum(2 + cost(item) for item in value)
    if isinstance(value, str):
        return 1 if value == "a" else 2 + len(value)
    if isinstance(value, bool) or value is None:
        return 1 + (value is True)
    return 3 * len(str(value)) + int(min(abs(value), 100))


def plainer(value: Any) -> Iterator[Any]:
    """Simpler values of the same type, the simplest first."""
    if isinstance(value, dict):
        yield {}
    elif isinstance(value, list):
        yield []
        if len(value) > 1:
            yield value[: len(value) // 2]
    elif isinstance(value, str):
        yield from ("a", "b", "", value[: len(value) // 2], value[:-1])
    elif isinstance(value, bool):
        yield False
    elif isinstance(value, (int, float)):
        yield from (0, 1, 2, int(value), int(value) // 10, int(value) // 2, int(value) - 1)


def _paths(obj: JsonObject) -> list[Path]:
    """The paths of all that an object has, what lies near its root first."""
    out: list[Path] = []
    row: list[tuple[Path, Any]] = [((), obj)]
    while row:
        below: list[tuple[Path, Any]] = []
        for path, value in row:
            steps: list[Any] = list(value) if isinstance(value, dict) else []
            steps = list(reversed(range(len(value)))) if isinstance(value, list) else steps
            below += [((*path, step), value[step]) for step in steps]
        out += [path for path, _ in below]
        row = below
    return out


def _simpler(obj: JsonObject, path: Path) -> Iterator[JsonObject]:
    """The object without what lies at a path, and with plainer values there."""
    holder: Any = obj
    for step in path[:-1]:
        if not _has(holder, step):
            return
        holder = holder[step]
    if not _has(holder, path[-1]):
        return
    if path not in _KEPT:
        yield _changed(obj, path, None)
    if path not in _WHOLE:
        for value in plainer(holder[path[-1]]):
            yield _changed(obj, path, [value])


def _has(holder: Any, step: str | int) -> bool:
    if isinstance(step, int):
        return isinstance(holder, list) and step < len(holder)
    return isinstance(holder, dict) and step in holder


def _changed(obj: JsonObject, path: Path, value: list[Any] | None) -> JsonObject:
    out: JsonObject = copy_json(obj)
    holder: Any = out
    for step in path[:-1]:
        holder = holder[step]
    if value is None:
        del holder[path[-1]]
    else:
        holder[path[-1]] = copy_json(value[0])
    return out
