"""How variables, and fields of what they hold, are looked up when an expression runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from polykind.cel.activation import OLD_SELF, Closure, Frame, Interpretable
from polykind.cel.evaluation_errors import EvalError
from polykind.cel.runtime_values import NONE, Optional


def slot_field(slot: int, key: str, name: str) -> Closure:
    """A field of the object in a slot."""

    def get(frame: Frame) -> Any:
        value = frame[slot].get(key)
        if value is None:
            raise EvalError(f"no such key: {name}")
        return value

    return get


def field(below: Closure, key: str, name: str) -> Closure:
    """A field of the object that something gives."""

    def get(frame: Frame) -> Any:
        value = below(frame).get(key)
        if value is None:
            raise EvalError(f"no such key: {name}")
        return value

    return get


def converted(field: Closure, read: Callable[[Any], Any]) -> Closure:
    """JSON that something gives, read as what it is declared to be."""
    return lambda frame: read(field(frame))


def authorizer_variable(name: str, slot: int) -> Interpretable:
    """A variable that is declared in more places than it is given in."""

    def get(frame: Frame) -> Any:
        value = frame[slot]
        if value is None:
            raise EvalError(f"no such attribute(s): {name}")
        return value

    return Interpretable(get, 1)


def old_self(read: Callable[[Any], Any] | None) -> Closure:
    """The old value, without which nothing can be said."""

    def get(frame: Frame) -> Any:
        raw = frame[OLD_SELF]
        if raw is None:
            raise EvalError("no such attribute(s): oldSelf")
        return read(raw) if read is not None else raw

    return get


def optional_old_self(frame: Frame) -> Optional:
    """The old value, which may be missing. It is plain JSON: the reference forgets the schema of what is optional."""
    raw = frame[OLD_SELF]
    return NONE if raw is None else Optional(True, raw)
