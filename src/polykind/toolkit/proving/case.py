"""One object on its way, as properties judge it, and what they find."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from polykind.contract import JsonObject
from polykind.toolkit.proving.differences import Difference
from polykind.toolkit.proving.edits import Edit
from polykind.toolkit.proving.losses import Losses
from polykind.toolkit.proving.passage import Passage


@dataclass
class Finding:
    """What broke a property: the object handed in, and what came of it."""

    property: str
    obj: JsonObject
    said: str
    differences: list[Difference] = field(default_factory=list)
    where: str = ""
    """The line of the author's code that raised."""
    edit: Edit | None = None


@dataclass
class Case:
    """One passage, edits of what it gave at the other version, and what may be lost on the way."""

    passage: Passage
    losses: Losses
    edits: list[Edit] = field(default_factory=list)

    def found(self, name: str, said: str, differences: Iterable[Difference] = (), **more: Any) -> Finding:
        return Finding(name, self.passage.obj, said, list(differences), **more)
