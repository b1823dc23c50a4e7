"""Who of those who may change a write is asked a second time, after others have changed it."""

from __future__ import annotations

from collections.abc import Hashable

from polykind.contract import JsonObject
from polykind.schema.equality import deep_equal


class Reinvocation:
    """Two rounds at most: in the second, those are asked who want it and were asked before something changed."""

    def __init__(self) -> None:
        self.needed = False
        self.second = False
        self._steps: dict[int, Asked] = {}

    def of(self, step: object) -> Asked:
        """What is known of those whom a step asks."""
        return self._steps.setdefault(id(step), Asked(self))


class Asked:
    """Whom one step has asked."""

    def __init__(self, rounds: Reinvocation) -> None:
        self._rounds = rounds
        self._again: set[Hashable] = set()
        self._before: set[Hashable] = set()
        """Who was asked since the last change, and wants to be asked again after one."""
        self._left: JsonObject | None = None

    def begin(self, obj: JsonObject | None) -> None:
        """A round begins: what other steps have changed since the one before counts."""
        if self._rounds.second and not deep_equal(self._left, obj):
            self._require()

    def end(self, obj: JsonObject | None) -> None:
        self._left = obj

    def due(self, key: Hashable) -> bool:
        """Whether somebody is to be asked in this round."""
        return not self._rounds.second or key in self._again

    def changed(self) -> None:
        self._rounds.needed = True
        self._require()

    def invoked(self, key: Hashable) -> None:
        """Somebody was asked who wants to be asked again."""
        self._before.add(key)

    def _require(self) -> None:
        self._again |= self._before
        self._before = set()
