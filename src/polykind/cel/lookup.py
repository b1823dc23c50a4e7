"""How variables, and fields of what they hold, are looked up when an expression runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from polykind.cel.failures import EvalError
from polykind.cel.frame import OLD, Frame, Part, Run
from polykind.cel.values import NONE, Optional


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


def old(read: Callable[[Any], Any] | None) -> Run:
    """The old value, without which nothing can be said."""

    def get(frame: Frame) -> Any:
        raw = frame[OLD]
        if raw is None:
            raise EvalError("no such attribute(s): oldSelf")
        return read(raw) if read is not None else raw

    return get


def optional_old(frame: Frame) -> Optional:
    """The old value, which may be missing. It is plain JSON: the reference forgets the schema of what is optional."""
    raw = frame[OLD]
    return NONE if raw is None else Optional(True, raw)
