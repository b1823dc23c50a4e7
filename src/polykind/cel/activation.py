"""The frame that closures evaluate on: runtime cost, variables and interrupt check; closures that resolve variables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

from polykind.cel.evaluation_errors import CostExceededError, EvalError
from polykind.cel.runtime_values import NONE, Optional

PER_CALL_LIMIT = 1_000_000
"""Runtime cost limit of one evaluation, kube-apiserver's PerCallLimit."""
SELF, OLD_SELF, FIRST_FREE_SLOT = 1, 2, 3
_INTERRUPT_INTERVAL = 50
"""Runtime cost between two interrupt checks; small, because cost says little about the time an operation takes."""

Frame: TypeAlias = list[Any]
"""[runtime cost so far, variables..., interrupt check, cost at which to check the limit next]."""
Closure: TypeAlias = Callable[[Frame], Any]
InterruptCheck: TypeAlias = Callable[[int], None]
"""Raises an exception to end the evaluation; the argument is the cost of the next operation if known, else 0."""


class Plan(NamedTuple):
    """A planned expression; the caller of `run` adds `cost`, the part of the cost that depends on no value."""

    run: Closure
    cost: int


def interrupt_slots(check: InterruptCheck | None) -> tuple[InterruptCheck | None, int]:
    """Return the last two items of a frame. Without a check only the cost limit ends an evaluation."""
    return check, PER_CALL_LIMIT if check is None else 0


def check_cost_limit(frame: Frame) -> None:
    """Check the limit and call the interrupt check. Raises CostExceededError, or what the interrupt check raises."""
    if frame[0] > PER_CALL_LIMIT:
        raise CostExceededError
    frame[-2](0)
    frame[-1] = min(frame[0] + _INTERRUPT_INTERVAL, PER_CALL_LIMIT)


def reserve_cost(frame: Frame, cost: int) -> None:
    """Check the limit before an expensive operation runs. Raises as `check_cost_limit` does."""
    if frame[0] + cost > PER_CALL_LIMIT:
        frame[0] += cost
        raise CostExceededError
    if frame[-2] is not None:
        frame[-2](cost)


def slot_field(slot: int, key: str, name: str) -> Closure:
    """Return a closure for a field of the JSON object in a slot."""

    def get(frame: Frame) -> Any:
        value = frame[slot].get(key)
        if value is None:
            raise EvalError(f"no such key: {name}")
        return value

    return get


def nested_field(operand: Closure, key: str, name: str) -> Closure:
    """Return a closure for a field of the JSON object that another closure returns."""

    def get(frame: Frame) -> Any:
        value = operand(frame).get(key)
        if value is None:
            raise EvalError(f"no such key: {name}")
        return value

    return get


def authorizer_variable(name: str, slot: int) -> Plan:
    """Plan an authorizer variable, which is declared even where the activation does not provide it."""

    def get(frame: Frame) -> Any:
        value = frame[slot]
        if value is None:
            raise EvalError(f"no such attribute(s): {name}")
        return value

    return Plan(get, 1)


def old_self(from_json: Callable[[Any], Any] | None) -> Closure:
    """Return a closure for oldSelf that fails if there is no old value."""

    def get(frame: Frame) -> Any:
        raw = frame[OLD_SELF]
        if raw is None:
            raise EvalError("no such attribute(s): oldSelf")
        return from_json(raw) if from_json is not None else raw

    return get


def optional_old_self(frame: Frame) -> Optional:
    """Return oldSelf as an optional of untyped JSON: kube-apiserver drops the schema of an optional oldSelf."""
    raw = frame[OLD_SELF]
    return NONE if raw is None else Optional(True, raw)
