"""The input of a property check (ProofCase), and its result if the property does not hold (Finding)."""

from __future__ import annotations

import builtins
import warnings
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from polykind.contract import JsonObject
from polykind.toolkit.proving.edits import Edit
from polykind.toolkit.proving.losses import LossTracker
from polykind.toolkit.proving.object_diff import Difference
from polykind.toolkit.proving.round_trip import RoundTrip


@dataclass
class Finding:
    """A counterexample of a property: `obj` is the object to convert, and `message` says what is wrong."""

    property: str
    obj: JsonObject
    message: str
    differences: list[Difference] = field(default_factory=list)
    location: str = ""
    """The line of the converter that raised the exception, or an empty string if there was no exception."""
    edit: Edit | None = None

    @builtins.property
    def said(self) -> str:
        """Deprecated: use `message`."""
        warnings.warn("Finding.said is deprecated, use Finding.message", DeprecationWarning, stacklevel=2)
        return self.message


@dataclass
class ProofCase:
    """The input of a property check: one round trip, edits at its target version, and the acknowledged losses."""

    round_trip: RoundTrip
    losses: LossTracker
    edits: list[Edit] = field(default_factory=list)

    def finding(self, name: str, message: str, differences: Iterable[Difference] = (), **more: Any) -> Finding:
        return Finding(name, self.round_trip.obj, message, list(differences), **more)
