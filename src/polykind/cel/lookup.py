"""How variables, and fields of what they hold, are looked up when an expression runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from polykind.cel.frame import OLD, Frame, Part, Run
from polykind.cel.values import NONE, EvalError, Optional


def slot_getter(slot: int, key: str, name: str) -> Run:
    """A field of the object in a slot."""

    def get(frame: Frame) -> Any:
        value = frame[slot].get(key)
        if value is None:
            raise EvalError(f"no such key: {name}")
        return value

    return get


def getter(below: Run, key: str, name: str) -> Run:
    """A field of the object that something gives."""

    def get(frame: Frame) -> Any:
        value = below(frame).get(key)
        if value is None:
            raise EvalError(f"no such key: {name}")
        return value

    return get


def reading(getter: Run, read: Callable[[Any], Any]) -> Run:
    """JSON that something gives, read as what it is declared to be."""
    return lambda frame: read(getter(frame))


def authorizer(name: str, slot: int) -> Part:
    """A variable that is declared in more places than it is given in."""

    def get(frame: Frame) -> Any:
        value = frame[slot]
        if value is None:
            raise EvalError(f"no such attribute(s): {name}")
        return value

    return Part(get, 1)


def old_reader(read: Callable[[Any], Any] | None) -> Run:
    """The old value, which may be missing."""

    def get(frame: Frame) -> Optional:
        raw = frame[OLD]
        if raw is None:
            return NONE
        return Optional(True, read(raw) if read is not None else raw)

    return get
