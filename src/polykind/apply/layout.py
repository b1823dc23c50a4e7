"""The order of keys in what a patch made, where it is told: objects that the patch went into are sorted, others not."""

from __future__ import annotations

from typing import Any


def containers(*values: Any) -> set[int]:
    """The identities of all objects and lists in values."""
    found: set[int] = set()
    pending = list(values)
    while pending:
        value = pending.pop()
        if isinstance(value, dict | list):
            found.add(id(value))
            pending += value.values() if isinstance(value, dict) else value
    return found


def left_by_merge(document: Any, patch: Any) -> set[int]:
    """The identities of what a merge patch does not look into: it does where objects meet, changed or not.

    Of what it brings, it looks into everything but what takes the place of an object without being one.
    """
    found = containers(document)
    pending = [(document, patch)]
    while pending:
        old, new = pending.pop()
        if isinstance(old, dict) and isinstance(new, dict):
            found.discard(id(old))
            pending += [(old[key], value) for key, value in new.items() if key in old]
        elif isinstance(old, dict):
            found |= containers(new)
    return found


def arranged(made: Any, kept: set[int]) -> Any:
    """What a patch made, its objects sorted but for those that are kept as they are."""
    if id(made) in kept:
        return made
    if isinstance(made, dict):
        return {key: arranged(made[key], kept) for key in sorted(made)}
    if isinstance(made, list):
        return [arranged(item, kept) for item in made]
    return made
