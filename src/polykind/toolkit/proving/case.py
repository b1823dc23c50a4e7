"""The input of a property check (ProofCase), and its result if the property does not hold (Finding)."""

from __future__ import annotations

import builtins
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from polykind.contract import JsonObject
from polykind.toolkit.proving.edits import Edit
from polykind.toolkit.proving.losses import LossTracker
from polykind.toolkit.proving.object_diff import Difference
from polykind.toolkit.proving.round_trip import ConversionFailedError, RoundTrip


@dataclass(frozen=True)
class Finding:
    """A counterexample of a property: `obj` is the object to convert, and `message` says what is wrong."""

    property: str
    obj: JsonObject
    message: str
    differences: Sequence[Difference] = ()
    location: str = ""
    """The line of the converter that raised the exception, or an empty string if there was no exception."""
    edit: Edit | None = None
    converted: JsonObject | None = None
    """The object at the other version, or None if the conversion fails."""
    returned: JsonObject | None = None
    """The object after a conversion to the other version and back, or None if a conversion fails."""

    @builtins.property
    def said(self) -> str:
        """Deprecated: use `message`."""
        warnings.warn("Finding.said is deprecated, use Finding.message", DeprecationWarning, stacklevel=2)
        return self.message


@dataclass
class ProofCase:
    """The input of a property check: one round trip, edits of it, and the acknowledged losses."""

    round_trip: RoundTrip
    losses: LossTracker
    edits: list[Edit] = field(default_factory=list)
    """Edits of the converted object, at the target version of the round trip."""
    later_edits: list[Edit] = field(default_factory=list)
    """Edits of the returned object, at the source version of the round trip."""

    def finding(
        self,
        name: str,
        message: str,
        differences: Iterable[Difference] = (),
        *,
        obj: JsonObject | None = None,
        **more: Any,
    ) -> Finding:
        """Return a finding about the object of the round trip, or about `obj`, another object of the same version."""
        round_trip = self.round_trip if obj is None else self.round_trip.of(obj)
        results = {"converted": _or_none(round_trip, "converted"), "returned": _or_none(round_trip, "returned")}
        return Finding(name, round_trip.obj, message, tuple(differences), **{**results, **more})


def _or_none(round_trip: RoundTrip, stage: str) -> JsonObject | None:
    try:
        out: JsonObject = getattr(round_trip, stage)
    except ConversionFailedError:
        return None
    return out
