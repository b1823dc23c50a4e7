"""Edits as a client of one version makes them: one field set, changed or removed, one item or key more or less."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, NamedTuple

from polykind.contract import JsonObject, copy_json
from polykind.schema.equality import deep_equal
from polykind.schema.node import META_KEYS
from polykind.toolkit.crd_versions import DefinedVersion
from polykind.toolkit.proving import scalars
from polykind.toolkit.proving.choices import Choices, Unlucky, pick
from polykind.toolkit.proving.differences import ABSENT, Path
from polykind.toolkit.proving.generate import Generator
from polykind.toolkit.proving.passage import Stopped, admitted

TRIES = 6


class Edit(NamedTuple):
    """One edit, and the object as the server has taken it in."""

    path: Path
    before: Any
    after: Any
    obj: JsonObject


class Spot(NamedTuple):
    """A place where something can be edited; `raw` is its schema."""

    action: str
    path: Path
    raw: JsonObject

    @property
    def kind(self) -> tuple[str, Path]:
        """What it has in common with the same place in other objects and items."""
        return self.action, tuple("*" if isinstance(step, int) else step for step in self.path)


class Editor:
    """Makes edits of objects of one version. What was edited least comes first, so that by and by all is."""

    def __init__(self, generator: Generator) -> None:
        self._generator = generator
        self._done: Counter[tuple[str, Path]] = Counter()

    def edited(self, choices: Choices, obj: JsonObject) -> Edit | None:
        """One valid edit of an object, None if none was found."""
        spots = list(_spots(self._generator.version.openapi, obj, ()))
        for _ in range(TRIES if spots else 0):
            least = min(self._done[spot.kind] for spot in spots)
            spot = pick(choices, [spot for spot in spots if self._done[spot.kind] == least])
            self._done[spot.kind] += 1
            with suppress(Unlucky, Stopped):
                found = _tried(choices, self._generator, obj, spot)
                if found is not None:
                    return found
        return None


def _tried(choices: Choices, generator: Generator, obj: JsonObject, spot: Spot) -> Edit | None:
    value = ABSENT if spot.action == "remove" else generator.value(choices, spot.raw)
    path = (*spot.path[:-1], scalars.name(choices)) if spot.action == "key" else spot.path
    return applied(generator.version, obj, path, value)


def applied(version: DefinedVersion, obj: JsonObject, path: Path, value: Any) -> Edit | None:
    """An edit done to an object; None if it changes nothing, is not valid, or has no place there."""
    out = copy_json(obj)
    try:
        before = _put(out, path, copy_json(value))
    except (LookupError, TypeError):
        return None
    out = admitted(version, out)
    if deep_equal(out, obj) or version.complaints(out):
        return None
    return Edit(path, before, value, out)


def _spots(raw: JsonObject, value: Any, path: Path) -> Iterator[Spot]:
    """Everything that can be edited in a value: what is there, and what the schema knows and is not."""
    if isinstance(value, dict):
        properties: JsonObject = raw.get("properties") or {}
        for name, child in properties.items():
            if not path and name in META_KEYS:
                continue
            here = (*path, name)
            if name not in value:
                yield Spot("set", here, child)
                continue
            if name not in (raw.get("required") or ()):
                yield Spot("remove", here, child)
            yield from _inner(child, value[name], here)
        more = raw.get("additionalProperties")
        if isinstance(more, dict):
            yield Spot("key", (*path, ""), more)
            for key in value:
                if key not in properties:
                    yield Spot("remove", (*path, key), more)
                    yield from _inner(more, value[key], (*path, key))
    elif isinstance(value, list):
        items = raw.get("items")
        if isinstance(items, dict):
            yield Spot("set", (*path, len(value)), items)
            for at, item in enumerate(value):
                yield Spot("remove", (*path, at), items)
                yield from _inner(items, item, (*path, at))


def _inner(raw: JsonObject, value: Any, path: Path) -> Iterator[Spot]:
    if not value or not isinstance(value, (dict, list)):
        yield Spot("change", path, raw)
    yield from _spots(raw, value, path)


def _put(obj: JsonObject, path: Path, value: Any) -> Any:
    """Set or remove what is at a path, in place; returns what was there."""
    holder: Any = obj
    for step in path[:-1]:
        holder = holder[step]
    last: Any = path[-1]
    there = last in holder if isinstance(holder, dict) else last < len(holder)
    before = holder[last] if there else ABSENT
    if value is ABSENT:
        del holder[last]
    elif isinstance(holder, list) and not there:
        holder.append(value)
    else:
        holder[last] = value
    return before
