"""Closures that make lists and maps."""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import Any

from polykind.cel.activation import Closure, Frame, Interpretable


def list_literal(runs: Sequence[Closure], optional: Container[int], made: type[list[Any]]) -> Closure:
    """A list of what each gives; of what is optional, only what is there."""
    if not optional:
        if made is not list:
            return lambda frame: made([run(frame) for run in runs])
        return lambda frame: [run(frame) for run in runs]

    def build(frame: Frame) -> list[Any]:
        found = made()
        for index, run in enumerate(runs):
            value = run(frame)
            if index not in optional:
                found.append(value)
            elif value.present:
                found.append(value.value)
        return found

    return build


def map_literal(entries: Sequence[tuple[Interpretable, Interpretable, bool]], made: type[dict[Any, Any]]) -> Closure:
    """A map of keys to values; of what is optional, only what is there."""

    def build(frame: Frame) -> dict[Any, Any]:
        found = made()
        for key, value, optional in entries:
            name, item = key.run(frame), value.run(frame)
            if optional:
                if not item.present:
                    continue
                item = item.value
            found[name] = item
        return found

    return build
