"""Counted effects of a CRD change on many objects, grouped by field and with the first objects of each group."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from polykind.evolution.object_effects import ObjectEffects

MAX_EXAMPLES = 3
"""The number of objects that are named for each effect."""
_MAX_GROUPS = 200
_replace_indexes = re.compile(r"\[[^\[\]]*+\]").sub
_QUOTED = re.compile(r': ("(?:[^"\\]|\\.)*"|-?[0-9.]+|null|true|false)(?=: )')


@dataclass
class EffectGroup:
    """Objects with the same effect on the same field."""

    effect: str
    """`invalid`, `lost`, `changed`, `not-served` or `unconvertible`."""
    version: str
    path: str
    """The path of the field, or the message without the values of single objects."""
    count: int = 0
    examples: list[str] = field(default_factory=list)
    """The first objects, with the message."""


@dataclass
class ObjectTotals:
    """The counted effects on the objects of one CRD."""

    objects: int = 0
    invalid: int = 0
    lost: int = 0
    changed: int = 0
    not_served: int = 0
    unconvertible: int = 0
    were_invalid: int = 0
    """The number of objects that are invalid at the old schema, too."""
    groups: dict[tuple[str, str, str], EffectGroup] = field(default_factory=dict)

    @property
    def affected(self) -> int:
        return self.invalid + self.lost + self.changed + self.not_served + self.unconvertible

    def add_effects(self, version: str, effects: ObjectEffects, name: str) -> None:
        """Count the effects on an object. `name` describes the object."""
        if effects.errors:
            self.invalid += 1
            for message in effects.errors:
                self.add("invalid", version, without_values(message), name, message)
        self.were_invalid += effects.was_invalid
        if effects.lost:
            self.lost += 1
            for path in dict.fromkeys(effects.lost):
                self.add("lost", version, path, name)
        if effects.changed:
            self.changed += 1
            for path in dict.fromkeys(effects.changed):
                self.add("changed", version, path, name)

    def add(self, effect: str, version: str, path: str, name: str, message: str = "") -> None:
        """Add an object to the group of an effect on a field."""
        key = (effect, version, path)
        group = self.groups.get(key)
        if group is None:
            if len(self.groups) >= _MAX_GROUPS:
                return
            group = self.groups[key] = EffectGroup(effect, version, path)
        group.count += 1
        if len(group.examples) < MAX_EXAMPLES:
            group.examples.append(f"{name}: {message}" if message else name)


def without_values(message: str) -> str:
    """Return a message without indexes and values, so that the same error of several objects has the same text."""
    path, colon, rest = message.partition(": ")
    return f"{_replace_indexes('[*]', path)}{_QUOTED.sub('', f': {rest}')}" if colon else path
