"""Closures for macros that go over lists and maps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from polykind.cel.failures import FAILURES, NO_OVERLOAD, EvalError, told
from polykind.cel.frame import Frame, Part, Run, overdrawn
from polykind.cel.values import Obj, kind_of

_QUANTIFIED = {"all": (False, 3), "exists": (True, 4)}
_COLLECTED = 12
_COUNTED = 2
_END = object()


def _items(value: Any) -> Iterable[Any]:
    """What one variable takes on: items, or keys."""
    if isinstance(value, list | dict):
        return value
    if isinstance(value, Obj):
        return value.names()
    raise _not_iterable(value)


def _pairs(value: Any) -> Iterable[tuple[Any, Any]]:
    """What two variables take on: index and item, or key and value."""
    if isinstance(value, list):
        return enumerate(value)
    if isinstance(value, dict):
        return value.items()
    if isinstance(value, Obj):
        return [(name, value.get(name)) for name in value.names()]
    raise EvalError(f"unsupported comprehension range type: types.{kind_of(value).capitalize()}")


def _not_iterable(value: Any) -> EvalError:
    return EvalError(f"got 'types.{kind_of(value).capitalize()}', expected iterable type")


def _walk(ranged: Run, slots: Sequence[int]) -> Callable[[Frame], Iterable[None]]:
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


def fold(macro: str, ranged: Part, slots: Sequence[int], parts: Sequence[Part], *, fixed: bool = False) -> Part:
    """With `fixed`, what is collected is the same for every element: the list of it is made but once."""
    if macro in _QUANTIFIED:
        stop, step_cost = _QUANTIFIED[macro]
        if len(slots) == 1:
            return _quantified_single(ranged, slots[0], parts[0], stop, step_cost)
        return _quantified(ranged, slots, parts[0], stop, step_cost)
    if macro == "exists_one":
        return _exactly_one(ranged, slots, parts[0])
    return _collected(ranged, slots, parts, fixed)


def _quantified_single(ranged: Part, slot: int, predicate: Part, stop: bool, step_cost: int) -> Part:
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
                overdrawn(frame)
            try:
                found: object = test(frame)
            except FAILURES as wrong:
                failure = failure or EvalError(told(wrong))
                continue
            if found is stop:
                _stop(frame, rest, step_cost)
                return stop
            if found is not go_on:
                failure = failure or EvalError(NO_OVERLOAD)
        if failure is not None:
            raise failure
        return go_on

    return Part(run, ranged.cost + 1)


def _quantified(ranged: Part, slots: Sequence[int], predicate: Part, stop: bool, step_cost: int) -> Part:
    walk, test = _walk(ranged.run, slots), predicate.run
    each = step_cost + predicate.cost

    def run(frame: Frame) -> bool:
        failure: EvalError | None = None
        rest = iter(walk(frame))
        for _ in rest:
            _spend(frame, each)
            try:
                found: object = test(frame)
            except FAILURES as wrong:
                failure = failure or EvalError(told(wrong))
                continue
            if found is stop:
                _stop(frame, rest, step_cost)
                return stop
            if found is not (not stop):
                failure = failure or EvalError(NO_OVERLOAD)
        if failure is not None:
            raise failure
        return not stop

    return Part(run, ranged.cost + 1)


def _exactly_one(ranged: Part, slots: Sequence[int], predicate: Part) -> Part:
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

    return Part(run, ranged.cost + 2)


def _collected(ranged: Part, slots: Sequence[int], parts: Sequence[Part], fixed: bool) -> Part:
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
            except FAILURES as wrong:
                failure = failure or EvalError(told(wrong))
        _spend(frame, 0)
        if failure is not None:
            raise failure
        return found

    return Part(run, ranged.cost + 1)


def general(ranged: Part, slots: Sequence[int], accumulator: int, initial: Part, step: Part) -> Part:
    """A fold as it is written: the accumulator becomes what each step gives, be it an error. Its map is a new one."""
    walk = _walk(ranged.run, slots)

    def run(frame: Frame) -> Any:
        total: Any = dict(initial.run(frame))
        for _ in walk(frame):
            _spend(frame, step.cost)
            frame[accumulator] = total
            try:
                total = step.run(frame)
            except FAILURES as wrong:
                total = EvalError(told(wrong))
        if isinstance(total, EvalError):
            raise total
        return total

    return Part(run, ranged.cost + initial.cost + 1)


def bound(slot: int, value: Part, body: Part) -> Part:
    """A body in which a variable has a value, be it an error."""
    start, (result, cost) = value.run, body

    def run(frame: Frame) -> Any:
        try:
            frame[slot] = start(frame)
        except FAILURES as wrong:
            frame[slot] = EvalError(told(wrong))
        return result(frame)

    return Part(run, value.cost + cost)


def accumulated(slot: int) -> Run:
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
        overdrawn(frame)


def _tested(run: Run) -> Callable[[Frame], bool | EvalError]:
    """A test that gives its error instead of raising it."""

    def test(frame: Frame) -> bool | EvalError:
        try:
            value = run(frame)
        except FAILURES as wrong:
            return EvalError(told(wrong))
        return value if type(value) is bool else EvalError(NO_OVERLOAD)

    return test
