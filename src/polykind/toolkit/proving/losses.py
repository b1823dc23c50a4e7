"""Losses that authors acknowledge, and those that were met: what is forgiven must be real."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from polykind.contract import JsonObject, copy_json
from polykind.toolkit.declare.conversions import NoWay, Step
from polykind.toolkit.proving.differences import ABSENT, Difference, Path, differences, general, leaves
from polykind.toolkit.proving.passage import Converter, Passage, Stopped

_tokens = re.compile(r"\[\*\]|\[[^\]]*\]|[^.\[\]]+").findall
ANY = "*"
ENOUGH = 3
"""How many objects must have had a field before it counts that it was not lost."""


class Acknowledgement(NamedTuple):
    """One path that a step is said to lose, and why."""

    step: Step
    path: str
    why: str

    def covers(self, found: Difference) -> bool:
        """Whether a difference is this loss, or lies wholly below it, or is all there was above it."""
        wanted = tokens(self.path)
        if _below(wanted, found.path):
            return True
        gone = found.before if found.after is ABSENT else found.after if found.before is ABSENT else None
        if not isinstance(gone, (dict, list)) or len(found.path) >= len(wanted):
            return False
        return all(_below(wanted, leaf) or not _value(gone, leaf, found.path) for leaf in leaves(gone, found.path))


def _value(value: Any, leaf: Path, above: Path) -> Any:
    """What is at a leaf; nothing if it is an empty object or list."""
    for step in leaf[len(above) :]:
        value = value[step]
    return None if value in ({}, []) else [value]


def tokens(path: str) -> tuple[str, ...]:
    """The steps of a path as authors write it; `[*]` and `*` stand for any."""
    return tuple(ANY if part == "[*]" else part.strip("[]") for part in _tokens(path))


def _below(wanted: tuple[str, ...], path: Path) -> bool:
    if len(path) < len(wanted):
        return False
    return all(want in (ANY, str(step)) for want, step in zip(wanted, path, strict=False))


@dataclass
class Loss:
    """One path of a version that was not kept on the way to another and back."""

    origin: str
    goal: str
    path: str
    kind: str
    example: Difference
    why: str | None
    """The reason, if it is acknowledged."""
    count: int = 0


class Losses:
    """What is acknowledged, and what was met in a run."""

    def __init__(self, converter: Converter) -> None:
        self._converter = converter
        self.met: dict[tuple[str, str, str, str, bool], Loss] = {}
        self._real: set[tuple[str, str, str]] = set()
        self._offered: Counter[tuple[str, str, str]] = Counter()

    def matrix(self) -> list[Loss]:
        """What was met, the unacknowledged first, then by versions and path."""
        return sorted(self.met.values(), key=lambda loss: (loss.why is not None, loss.origin, loss.goal, loss.path))

    def observe(self, passage: Passage) -> None:
        """Note what a passage lost."""
        for said in self._acknowledged(passage):
            if said.step.origin == passage.origin.name and has(passage.obj, tokens(said.path)):
                self._offered[said.step.origin, said.step.goal, said.path] += 1
        for found in kept(passage.obj, passage.back):
            forgiving = self._forgiving(passage, found)
            if forgiving is not None:
                self._real.add((forgiving.step.origin, forgiving.step.goal, forgiving.path))
            pair = passage.origin.name, passage.goal.name
            path = general(passage.origin.schema.root, found.path)
            key = (*pair, path, found.kind, forgiving is None)
            loss = self.met.get(key)
            if loss is None:
                loss = self.met[key] = Loss(*pair, path, found.kind, found, forgiving.why if forgiving else None)
            loss.count += 1

    def unforgiven(self, passage: Passage) -> list[Difference]:
        """What came back otherwise, and nobody acknowledges. Raises Stopped."""
        return [found for found in kept(passage.obj, passage.back) if self._forgiving(passage, found) is None]

    def forgives(self, passage: Passage, found: Difference, version: str) -> bool:
        """Whether a difference in an object of a version, met on a passage, is acknowledged."""
        acknowledged = self._acknowledged(passage)
        return any(said.step.origin == version and said.covers(found) for said in acknowledged)

    def stale(self) -> list[Acknowledgement]:
        """What is acknowledged and was never lost, though objects had it."""
        declared = self._converter.declared
        steps = declared.steps.values() if declared is not None else ()
        return [
            Acknowledgement(step, path, why)
            for step in steps
            for path, why in step.loses.items()
            if (step.origin, step.goal, path) not in self._real
            and self._offered[step.origin, step.goal, path] >= ENOUGH
        ]

    def _ways(self, passage: Passage) -> Iterator[tuple[Step, ...]]:
        one, other = passage.origin.name, passage.goal.name
        for pair in ((one, other), (other, one)):
            try:
                yield self._converter.way(*pair)
            except NoWay:
                continue

    def _acknowledged(self, passage: Passage) -> list[Acknowledgement]:
        return [
            Acknowledgement(step, path, why)
            for way in self._ways(passage)
            for step in way
            for path, why in step.loses.items()
        ]

    def _forgiving(self, passage: Passage, found: Difference) -> Acknowledgement | None:
        acknowledged = self._acknowledged(passage)
        for said in acknowledged:
            if said.step.origin == passage.origin.name and said.covers(found):
                return said
        for said in acknowledged:
            if said.step.origin != passage.origin.name and found.path in self._images(passage, said):
                return said
        return None

    def _images(self, passage: Passage, said: Acknowledgement) -> set[Path]:
        """The paths in the object's own version of what is lost in another, where it may have another name."""
        versions = self._converter.definition.versions
        middle = versions[said.step.origin]
        try:
            whole = passage.there if middle is passage.goal else self._converter.convert(passage.obj, middle)
            without = copy_json(whole)
            remove(without, tokens(said.path))
            one, other = (self._converter.convert(obj, passage.origin) for obj in (whole, without))
        except Stopped:
            return set()
        return {found.path for found in differences(one, other)}


def kept(before: JsonObject, after: JsonObject) -> Iterator[Difference]:
    """What differs, but for annotations that a converter adds."""
    for found in differences(before, after):
        if found.before is ABSENT and found.path[:2] == ("metadata", "annotations"):
            continue
        yield found


def has(value: Any, path: tuple[str, ...]) -> bool:
    """Whether something lies at a path."""
    if not path:
        return True
    steps = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return any(path[0] in (ANY, str(step)) and has(item, path[1:]) for step, item in steps)


def remove(value: Any, path: tuple[str, ...]) -> None:
    """Remove what lies at a path, in place."""
    first, rest = path[0], path[1:]
    if isinstance(value, dict):
        for key in [key for key in value if first in (ANY, key)]:
            if rest:
                remove(value[key], rest)
            else:
                del value[key]
    elif isinstance(value, list):
        if not rest and first == ANY:
            value.clear()
        for at, item in enumerate(value):
            if rest and first in (ANY, str(at)):
                remove(item, rest)
