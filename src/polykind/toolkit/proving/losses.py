"""Losses: fields that a conversion does not keep. A conversion function acknowledges them in its `loses` argument.

A proof run compares the losses that it observes with the acknowledged losses. An acknowledged loss that is never
observed is stale.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from polykind.contract import JsonObject, copy_json
from polykind.declare.conversions import ConversionFunction, NoWay
from polykind.toolkit.proving.object_diff import MISSING, Difference, Path, differences, leaf_paths, schema_path
from polykind.toolkit.proving.round_trip import ConversionFailedError, RoundTrip, TestedConverter

_tokens = re.compile(r"\[\*\]|\[[^\]]*\]|[^.\[\]]+").findall
ANY = "*"
_MIN_OBSERVATIONS = 3
"""The number of objects that must have a field before its acknowledged loss can be reported as stale."""


class Acknowledgement(NamedTuple):
    """A field that a conversion function is declared to lose, with the declared reason."""

    step: ConversionFunction
    path: str
    reason: str

    def covers(self, difference: Difference) -> bool:
        """True if this acknowledged loss explains the difference.

        The difference must be at or below this field, or be the loss or addition of a parent with no other values.
        """
        pattern = parse_path(self.path)
        if _matches_prefix(pattern, difference.path):
            return True
        subtree = None
        if MISSING in (difference.after, difference.before):
            subtree = difference.before if difference.after is MISSING else difference.after
        if not isinstance(subtree, (dict, list)) or len(difference.path) >= len(pattern):
            return False
        return all(
            _matches_prefix(pattern, leaf) or not _leaf_value(subtree, leaf, difference.path)
            for leaf in leaf_paths(subtree, difference.path)
        )


def _leaf_value(value: Any, leaf: Path, above: Path) -> Any:
    """Return `[x]` for the value x at the path `leaf`, or None if x is an empty object or list.

    `value` is the value at the path `above`, a parent of `leaf`.
    """
    for step in leaf[len(above) :]:
        value = value[step]
    return None if value in ({}, []) else [value]


def parse_path(path: str) -> tuple[str, ...]:
    """Split a path as written in a conversion's `loses` argument. `[*]` and `*` match any item or key."""
    return tuple(ANY if part == "[*]" else part.strip("[]") for part in _tokens(path))


def _matches_prefix(pattern: tuple[str, ...], path: Path) -> bool:
    if len(path) < len(pattern):
        return False
    return all(want in (ANY, str(step)) for want, step in zip(pattern, path, strict=False))


@dataclass
class Loss:
    """A field of version `origin` that changed in a conversion to `goal` and back. `count` is the number of times."""

    origin: str
    goal: str
    path: str
    kind: str
    example: Difference
    reason: str | None
    """The reason that a conversion function declares for the loss, or None if the loss is not acknowledged."""
    count: int = 0


class LossTracker:
    """Collects the fields that conversions lost in a test run, and compares them with the declared losses."""

    def __init__(self, converter: TestedConverter, acknowledged: Sequence[ConversionFunction] = ()) -> None:
        """`acknowledged` are losses that the converter does not declare itself."""
        self._converter = converter
        self._foreign = acknowledged
        self.observed: dict[tuple[str, str, str, str, bool], Loss] = {}
        self._observed_losses: set[tuple[str, str, str]] = set()
        self._present_counts: Counter[tuple[str, str, str]] = Counter()

    def matrix(self) -> list[Loss]:
        """Return the observed losses, sorted: unacknowledged losses first, then by versions and path."""
        return sorted(
            self.observed.values(), key=lambda loss: (loss.reason is not None, loss.origin, loss.goal, loss.path)
        )

    def observe(self, round_trip: RoundTrip) -> None:
        """Record the differences between an object and the same object after a round trip."""
        for declared in self._acknowledged(round_trip):
            if declared.step.origin == round_trip.origin.name and has_path(round_trip.obj, parse_path(declared.path)):
                self._present_counts[declared.step.origin, declared.step.goal, declared.path] += 1
        for difference in user_differences(round_trip.obj, round_trip.returned):
            acknowledgement = self._acknowledgement_for(round_trip, difference)
            if acknowledgement is not None:
                self._observed_losses.add(
                    (acknowledgement.step.origin, acknowledgement.step.goal, acknowledgement.path)
                )
            pair = round_trip.origin.name, round_trip.goal.name
            path = schema_path(round_trip.origin.schema.root, difference.path)
            key = (*pair, path, difference.kind, acknowledgement is None)
            loss = self.observed.get(key)
            if loss is None:
                loss = self.observed[key] = Loss(
                    *pair, path, difference.kind, difference, acknowledgement.reason if acknowledgement else None
                )
            loss.count += 1

    def unacknowledged(self, round_trip: RoundTrip) -> list[Difference]:
        """Return the unacknowledged differences of a round trip. Raise ConversionFailedError if a conversion fails."""
        return [
            difference
            for difference in user_differences(round_trip.obj, round_trip.returned)
            if self._acknowledgement_for(round_trip, difference) is None
        ]

    def is_acknowledged(self, round_trip: RoundTrip, difference: Difference) -> bool:
        """True if the functions of this round trip acknowledge a difference between objects of its source version."""
        return self._acknowledgement_for(round_trip, difference) is not None

    def stale(self) -> list[Acknowledgement]:
        """Return the declared losses that no conversion showed, although enough objects had the field."""
        declared = self._converter.declared
        steps = [*(declared.steps.values() if declared is not None else ()), *self._foreign]
        return [
            Acknowledgement(step, path, reason)
            for step in steps
            for path, reason in step.loses.items()
            if (step.origin, step.goal, path) not in self._observed_losses
            and self._present_counts[step.origin, step.goal, path] >= _MIN_OBSERVATIONS
        ]

    def _function_paths(self, round_trip: RoundTrip) -> Iterator[tuple[ConversionFunction, ...]]:
        origin, goal = round_trip.origin.name, round_trip.goal.name
        for pair in ((origin, goal), (goal, origin)):
            try:
                yield self._converter.path(*pair)
            except NoWay:
                continue
        yield tuple(step for step in self._foreign if {step.origin, step.goal} == {origin, goal})

    def _acknowledged(self, round_trip: RoundTrip) -> list[Acknowledgement]:
        return [
            Acknowledgement(step, path, reason)
            for functions in self._function_paths(round_trip)
            for step in functions
            for path, reason in step.loses.items()
        ]

    def _acknowledgement_for(self, round_trip: RoundTrip, difference: Difference) -> Acknowledgement | None:
        own: list[Acknowledgement] = []
        others: list[Acknowledgement] = []
        for known in self._acknowledged(round_trip):
            (own if known.step.origin == round_trip.origin.name else others).append(known)
        for known in own:
            if known.covers(difference):
                return known
        for known in others:
            if any(_is_related(difference.path, path) for path in self._corresponding_paths(round_trip, known)):
                return known
        return None

    def _corresponding_paths(self, round_trip: RoundTrip, acknowledgement: Acknowledgement) -> set[Path]:
        """Return the paths at the source version that correspond to an acknowledged field of another version.

        These paths change if the field is removed at the other version and the object is then converted back.
        """
        versions = self._converter.crd.versions
        version = versions[acknowledgement.step.origin]
        try:
            full = (
                round_trip.converted if version is round_trip.goal else self._converter.convert(round_trip.obj, version)
            )
            reduced = copy_json(full)
            remove_path(reduced, parse_path(acknowledgement.path))
            with_field, without_field = (self._converter.convert(obj, round_trip.origin) for obj in (full, reduced))
        except ConversionFailedError:
            return set()
        return {difference.path for difference in differences(with_field, without_field)}


def _is_related(path: Path, other: Path) -> bool:
    """True if the paths are equal or one lies below the other.

    If a field is lost, its parent can be lost, too, because it would be empty.
    """
    length = min(len(path), len(other))
    return path[:length] == other[:length]


def user_differences(before: JsonObject, after: JsonObject) -> Iterator[Difference]:
    """Yield the differences between two objects, except annotations that exist only in `after`."""
    for difference in differences(before, after):
        if difference.before is MISSING and difference.path[:2] == ("metadata", "annotations"):
            continue
        yield difference


def has_path(value: Any, path: tuple[str, ...]) -> bool:
    """True if `value` contains a value at the path. The path element ANY matches any key or index."""
    if not path:
        return True
    steps = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return any(path[0] in (ANY, str(step)) and has_path(item, path[1:]) for step, item in steps)


def remove_path(value: Any, path: tuple[str, ...]) -> None:
    """Remove the values at the path from `value` in place. The path element ANY matches any key or index."""
    first, rest = path[0], path[1:]
    if isinstance(value, dict):
        for key in [key for key in value if first in (ANY, key)]:
            if rest:
                remove_path(value[key], rest)
            else:
                del value[key]
    elif isinstance(value, list):
        if not rest and first == ANY:
            value.clear()
        for at, item in enumerate(value):
            if rest and first in (ANY, str(at)):
                remove_path(item, rest)
