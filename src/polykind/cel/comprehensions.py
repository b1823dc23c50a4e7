"""Closures for macros that go over lists and maps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from polykind.cel.activation import Closure, Frame, Interpretable, check_cost_limit
from polykind.cel.evaluation_errors import CEL_ERRORS, NO_OVERLOAD, EvalError, error_message
from polykind.cel.runtime_values import SchemaObject, kind_of

_QUANTIFIED = {"all": (False, 3), "exists": (True, 4)}
_COLLECTED = 12
_COUNTED = 2
_END = object()


def _items(value: Any) -> Iterable[Any]:
    """What one variable takes on: items, or keys."""
    if isinstance(value, list | dict):
        return value
    if isinstance(value, SchemaObject):
        return value.names()
    raise _not_iterable(value)


def _pairs(value: Any) -> Iterable[tuple[Any, Any]]:
    """What two variables take on: index and item, or key and value."""
    if isinstance(value, list):
        return enumerate(value)
    if isinstance(value, dict):
        return value.items()
    if isinstance(value, SchemaObject):
        return [(name, value.get(name)) for name in value.names()]
    raise EvalError(f"unsupported comprehension range type: types.{kind_of(value).capitalize()}")


def _not_iterable(value: Any) -> EvalError:
    return EvalError(f"got 'types.{kind_of(value).capitalize()}', expected iterable type")


def _walk(ranged: Closure, slots: Sequence[int]) -> Callable[[Frame], Iterable[None]]:
    """Sets the variables to one element after the other."""
    if len(slots) == 1:
        only = slots[0]

        def single(frame: Frame) -> Iterable[None]:
            for item in _items(ranged(frame)):
                frame[only] = item
                yield

        return single
    first, second = slots

    def double(frame: Frame) -> Iterable[None]:
        for key, item in _pairs(ranged(frame)):
            frame[first], frame[second] = key, item
            yield

    return double


def macro_comprehension(
    macro: str, ranged: Interpretable, slots: Sequence[int], parts: Sequence[Interpretable], *, fixed: bool = False
) -> Interpretable:
    """With `fixed`, what is collected is the same for every element: the list of it is made but once."""
    if macro in _QUANTIFIED:
        stop, step_cost = _QUANTIFIED[macro]
        if len(slots) == 1:
            return _quantified_single(ranged, slots[0], parts[0], stop, step_cost)
        return _quantified(ranged, slots, parts[0], stop, step_cost)
    if macro == "exists_one":
        return _exactly_one(ranged, slots, parts[0])
    return _collected(ranged, slots, parts, fixed)


def _quantified_single(
    ranged: Interpretable, slot: int, predicate: Interpretable, stop: bool, step_cost: int
) -> Interpretable:
    """all() and exists() with one variable, where most of the work of rules is done."""
    source, test = ranged.run, predicate.run
    each = step_cost + predicate.cost
    go_on = not stop

    def run(frame: Frame) -> bool:
        values = source(frame)
        failure: EvalError | None = None
        rest = iter(values if type(values) is list else _items(values))
        for item in rest:
            frame[slot] = item
            frame[0] += each
            if frame[0] > frame[-1]:
                check_cost_limit(frame)
            try:
                found: object = test(frame)
            except CEL_ERRORS as wrong:
                failure = failure or EvalError(error_message(wrong))
                continue
            if found is stop:
                _stop(frame, rest, step_cost)
                return stop
            if found is not go_on:
                failure = failure or EvalError(NO_OVERLOAD)
        if failure is not None:
            raise failure
        return go_on

    return Interpretable(run, ranged.cost + 1)


def _quantified(
    ranged: Interpretable, slots: Sequence[int], predicate: Interpretable, stop: bool, step_cost: int
) -> Interpretable:
    walk, test = _walk(ranged.run, slots), predicate.run
    each = step_cost + predicate.cost

    def run(frame: Frame) -> bool:
        failure: EvalError | None = None
        rest = iter(walk(frame))
        for _ in rest:
            _spend(frame, each)
            try:
                found: object = test(frame)
            except CEL_ERRORS as wrong:
                failure = failure or EvalError(error_message(wrong))
                continue
            if found is stop:
                _stop(frame, rest, step_cost)
                return stop
            if found is not (not stop):
                failure = failure or EvalError(NO_OVERLOAD)
        if failure is not None:
            raise failure
        return not stop

    return Interpretable(run, ranged.cost + 1)


def _exactly_one(ranged: Interpretable, slots: Sequence[int], predicate: Interpretable) -> Interpretable:
    walk, test = _walk(ranged.run, slots), _tested(predicate.run)
    each = predicate.cost

    def run(frame: Frame) -> bool:
        count = 0
        failure: EvalError | None = None
        for _ in walk(frame):
            _spend(frame, each)
            found = test(frame)
            if found is True:
                frame[0] += _COUNTED
                count += 1
            elif found is not False:
                failure = found
        if failure is not None:
            raise failure
        return count == 1

    return Interpretable(run, ranged.cost + 2)


def _collected(
    ranged: Interpretable, slots: Sequence[int], parts: Sequence[Interpretable], fixed: bool
) -> Interpretable:
    """map() and filter(): one list grows, instead of a new one for every item.

    What fails does not end the fold: the last test that fails counts, else the first item.
    """
    walk, (make, make_cost) = _walk(ranged.run, slots), parts[0]
    make_cost += _COUNTED if fixed else _COLLECTED
    test = _tested(parts[1].run) if len(parts) == 2 else None
    each = parts[1].cost if len(parts) == 2 else 0

    def run(frame: Frame) -> list[Any]:
        found: list[Any] = []
        failure: EvalError | None = None
        for _ in walk(frame):
            _spend(frame, each)
            if test is not None:
                holds = test(frame)
                if holds is not True:
                    failure = failure if holds is False else holds
                    continue
            frame[0] += make_cost
            try:
                found.append(make(frame))
            except CEL_ERRORS as wrong:
                failure = failure or EvalError(error_message(wrong))
        _spend(frame, 0)
        if failure is not None:
            raise failure
        return found

    return Interpretable(run, ranged.cost + 1)


def general_comprehension(
    ranged: Interpretable, slots: Sequence[int], accumulator: int, initial: Interpretable, step: Interpretable
) -> Interpretable:
    """A fold as it is written: the accumulator becomes what each step gives, be it an error. Its map is a new one."""
    walk = _walk(ranged.run, slots)

    def run(frame: Frame) -> Any:
        total: Any = dict(initial.run(frame))
        for _ in walk(frame):
            _spend(frame, step.cost)
            frame[accumulator] = total
            try:
                total = step.run(frame)
            except CEL_ERRORS as wrong:
                total = EvalError(error_message(wrong))
        if isinstance(total, EvalError):
            raise total
        return total

    return Interpretable(run, ranged.cost + initial.cost + 1)


def bind(slot: int, value: Interpretable, body: Interpretable) -> Interpretable:
    """A body in which a variable has a value, be it an error."""
    start, (result, cost) = value.run, body

    def run(frame: Frame) -> Any:
        try:
            frame[slot] = start(frame)
        except CEL_ERRORS as wrong:
            frame[slot] = EvalError(error_message(wrong))
        return result(frame)

    return Interpretable(run, value.cost + cost)


def accumulator(slot: int) -> Closure:
    """What a fold has come to before a step."""

    def get(frame: Frame) -> Any:
        total = frame[slot]
        if isinstance(total, EvalError):
            raise total
        return total

    return get


def _stop(frame: Frame, rest: Iterator[Any], step_cost: int) -> None:
    """Before an element that is left, it is asked whether to go on: that costs all of a step but the step itself."""
    if next(rest, _END) is not _END:
        _spend(frame, step_cost - 1)


def _spend(frame: Frame, cost: int) -> None:
    frame[0] += cost
    if frame[0] > frame[-1]:
        check_cost_limit(frame)


def _tested(run: Closure) -> Callable[[Frame], bool | EvalError]:
    """A test that gives its error instead of raising it."""

    def test(frame: Frame) -> bool | EvalError:
        try:
            value = run(frame)
        except CEL_ERRORS as wrong:
            return EvalError(error_message(wrong))
        return value if type(value) is bool else EvalError(NO_OVERLOAD)

    return test
