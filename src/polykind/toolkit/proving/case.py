"""One object on its way, as properties judge it, and what they find."""

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
    """What broke a property: the object handed in, and what came of it."""

    property: str
    obj: JsonObject
    message: str
    differences: list[Difference] = field(default_factory=list)
    location: str = ""
    """The line of the author's code that raised."""
    edit: Edit | None = None

    @builtins.property
    def said(self) -> str:
        """Deprecated: use `message`."""
        warnings.warn("Finding.said is deprecated, use Finding.message", DeprecationWarning, stacklevel=2)
        return self.message


@dataclass
class ProofCase:
    """One passage, edits of what it gave at the other version, and what may be lost on the way."""

    round_trip: RoundTrip
    losses: LossTracker
    edits: list[Edit] = field(default_factory=list)

    def finding(self, name: str, message: str, differences: Iterable[Difference] = (), **more: Any) -> Finding:
        return Finding(name, self.round_trip.obj, message, list(differences), **more)
