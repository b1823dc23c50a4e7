"""Shrinking of a failing object: remove fields and simplify values as long as the object is valid and still fails."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from polykind.contract import JsonObject, copy_json
from polykind.schema.equality import deep_equal
from polykind.schema.node import SchemaNode
from polykind.schema.pruning import effective_default
from polykind.toolkit.proving.object_diff import Path

_MAX_ATTEMPTS = 3000
"""The maximum number of simpler objects that are tried for one failure."""
_REQUIRED_PATHS = {("apiVersion",), ("kind",), ("metadata",), ("metadata", "name"), ("metadata", "namespace")}
_FIXED_PATHS = {("apiVersion",), ("kind",), ("metadata",)}
T = TypeVar("T")


def shrink(
    obj: JsonObject,
    finding: T,
    fails: Callable[[JsonObject], T | None],
    *,
    in_time: Callable[[], bool] = lambda: True,
) -> tuple[JsonObject, T]:
    """Simplify a failing object step by step. Return the simplest object that still fails, and its finding.

    `fails` returns the finding of an object, or None if it does not fail or is invalid. Stop early if `in_time` returns
    False.
    """
    attempts = 0
    improved = True
    while improved and attempts < _MAX_ATTEMPTS:
        improved = False
        for path in _paths(obj):
            for candidate in _simpler_objects(obj, path):
                if attempts >= _MAX_ATTEMPTS or cost(candidate) >= cost(obj) or not in_time():
                    continue
                attempts += 1
                result = fails(candidate)
                if result is not None:
                    obj, finding, improved = candidate, result, True
                    break
    return obj, finding


def without_defaults(node: SchemaNode | None, value: Any) -> Any:
    """Return a copy of a value without the fields whose value is the default in the schema."""
    if node is None:
        return value
    if isinstance(value, list):
        return [without_defaults(node.items, item) for item in value]
    if not isinstance(value, dict):
        return value
    out = {}
    for key, item in value.items():
        child = node.child(key)
        default_value = effective_default(child) if child is not None and node.has_property(key) else None
        if default_value is None or not deep_equal(default_value, item):
            out[key] = without_defaults(child, item)
    return out


def cost(value: Any) -> int:
    """Return a measure of the complexity of a value. Shrinking prefers values with a lower cost.

    The simplest value of each type has the lowest cost.
    """
    if isinstance(value, dict):
        return 2 + sum(3 + cost(item) for item in value.values())
    if isinstance(value, list):
        return 2 + sum(2 + cost(item) for item in value)
    if isinstance(value, str):
        return 1 if value == "a" else 2 + len(value)
    if isinstance(value, bool) or value is None:
        return 1 + (value is True)
    return 3 * len(str(value)) + int(min(abs(value), 100))


def simpler_values(value: Any) -> Iterator[Any]:
    """Yield simpler values of the same type, the simplest first."""
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
    """Return all paths in an object, in breadth-first order."""
    out: list[Path] = []
    level: list[tuple[Path, Any]] = [((), obj)]
    while level:
        next_level: list[tuple[Path, Any]] = []
        for path, value in level:
            steps: list[Any] = list(value) if isinstance(value, dict) else []
            steps = list(reversed(range(len(value)))) if isinstance(value, list) else steps
            next_level += [((*path, step), value[step]) for step in steps]
        out += [path for path, _ in next_level]
        level = next_level
    return out


def _simpler_objects(obj: JsonObject, path: Path) -> Iterator[JsonObject]:
    """Yield copies of the object: without the value at the path, and with simpler values at the path."""
    parent: Any = obj
    for step in path[:-1]:
        if not _has(parent, step):
            return
        parent = parent[step]
    if not _has(parent, path[-1]):
        return
    if path not in _REQUIRED_PATHS:
        yield _with_value(obj, path, None)
    if path not in _FIXED_PATHS:
        for value in simpler_values(parent[path[-1]]):
            yield _with_value(obj, path, [value])


def _has(parent: Any, step: str | int) -> bool:
    if isinstance(step, int):
        return isinstance(parent, list) and step < len(parent)
    return isinstance(parent, dict) and step in parent


def _with_value(obj: JsonObject, path: Path, value: list[Any] | None) -> JsonObject:
    out: JsonObject = copy_json(obj)
    parent: Any = out
    for step in path[:-1]:
        parent = parent[step]
    if value is None:
        del parent[path[-1]]
    else:
        parent[path[-1]] = copy_json(value[0])
    return out
