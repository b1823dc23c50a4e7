"""The events of a proof run, for progress displays. The run passes each event to its observer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from polykind.toolkit.proving.case import Finding

VersionPair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class PairStarted:
    """The run begins with a pair of versions. `number` counts from 1 to `total`."""

    pair: VersionPair
    number: int
    total: int


@dataclass(frozen=True, slots=True)
class ObjectTested:
    """One more object was tested. `fraction` is the used part of the pair's budget, from 0 to 1."""

    pair: VersionPair
    tested: int
    fraction: float
    theme: str
    """The kind of values that the generator preferred, such as `long-text`, or `sample` for a given object."""


@dataclass(frozen=True, slots=True)
class PropertyFailed:
    """A property failed for the first time for a pair of versions. The object is not simplified yet."""

    pair: VersionPair
    finding: Finding


@dataclass(frozen=True, slots=True)
class FindingShrunk:
    """The failing object of a property was simplified. `finding` is the final result."""

    pair: VersionPair
    finding: Finding


@dataclass(frozen=True, slots=True)
class PairFinished:
    """All properties of a pair of versions were tested with `tested` objects."""

    pair: VersionPair
    tested: int


ProgressEvent = PairStarted | ObjectTested | PropertyFailed | FindingShrunk | PairFinished
Observer = Callable[[ProgressEvent], None]


def ignore_event(event: ProgressEvent) -> None:
    """Do nothing. This is the observer of a run that shows no progress."""
