"""The evaluation frame (variables and cost), the checks of its cost limit, and closures that read variables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

from polykind.cel.evaluation_errors import CostExceededError, EvalError
from polykind.cel.runtime_values import NONE, Optional
from polykind.contract import InterruptCheck

PER_CALL_LIMIT = 1_000_000
"""Runtime cost limit of one evaluation, kube-apiserver's PerCallLimit."""
SELF, OLD_SELF, FIRST_FREE_SLOT = 1, 2, 3
_INTERRUPT_INTERVAL = 50
"""Runtime cost between two calls of the interrupt check. Small, because cost says little about elapsed time."""

Frame: TypeAlias = list[Any]
"""The state of one evaluation, a list: the runtime cost so far, the value of each variable, the interrupt check, and
the cost at which to check the limit next.
"""
Closure: TypeAlias = Callable[[Frame], Any]


class Plan(NamedTuple):
    """The closure `run`, which evaluates an expression, and the fixed part of the expression's runtime cost.

    `run` does not add `cost` to the frame. Its caller does.
    """

    run: Closure
    cost: int


def interrupt_slots(check: InterruptCheck | None) -> tuple[InterruptCheck | None, int]:
    """Return the last two items of a frame. If `check` is None, only the cost limit ends an evaluation."""
    return check, PER_CALL_LIMIT if check is None else 0


def check_cost_limit(frame: Frame) -> None:
    """Raise CostExceededError if the frame's cost is above the limit. Otherwise call the interrupt check."""
    if frame[0] > PER_CALL_LIMIT:
        raise CostExceededError
    frame[-2](0)
    frame[-1] = min(frame[0] + _INTERRUPT_INTERVAL, PER_CALL_LIMIT)


def reserve_cost(frame: Frame, cost: int) -> None:
    """Raise CostExceededError if `cost` more would exceed the limit. Otherwise call the interrupt check."""
    if frame[0] + cost > PER_CALL_LIMIT:
        frame[0] += cost
        raise CostExceededError
    if frame[-2] is not None:
        frame[-2](cost)


def slot_field(slot: int, key: str, name: str) -> Closure:
    """Return a closure that reads the field `key` of the JSON object at `frame[slot]`. Errors call the field `name`."""

    def get(frame: Frame) -> Any:
        value = frame[slot].get(key)
        if value is None:
            raise EvalError(f"no such key: {name}")
        return value

    return get


def nested_field(operand: Closure, key: str, name: str) -> Closure:
    """Return a closure that reads the field `key` of the JSON object that `operand` returns. Errors call it `name`."""

    def get(frame: Frame) -> Any:
        value = operand(frame).get(key)
        if value is None:
            raise EvalError(f"no such key: {name}")
        return value

    return get


def authorizer_variable(name: str, slot: int) -> Plan:
    """Plan the variable `name`, an authorizer. Evaluating it raises EvalError if the frame contains no authorizer."""

    def get(frame: Frame) -> Any:
        value = frame[slot]
        if value is None:
            raise EvalError(f"no such attribute(s): {name}")
        return value

    return Plan(get, 1)


def old_self(from_json: Callable[[Any], Any] | None) -> Closure:
    """Return a closure that returns oldSelf. The closure raises EvalError if there is no old value."""

    def get(frame: Frame) -> Any:
        raw = frame[OLD_SELF]
        if raw is None:
            raise EvalError("no such attribute(s): oldSelf")
        return from_json(raw) if from_json is not None else raw

    return get


def optional_old_self(frame: Frame) -> Optional:
    """Return oldSelf as an optional of untyped JSON, because kube-apiserver drops the schema of an optional oldSelf."""
    raw = frame[OLD_SELF]
    return NONE if raw is None else Optional(True, raw)
