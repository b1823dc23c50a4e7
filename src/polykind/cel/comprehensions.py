"""Closures for comprehensions: macros that iterate over lists and maps, and variables bound with cel.bind()."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from polykind.cel.activation import Closure, Frame, Plan, check_cost_limit
from polykind.cel.evaluation_errors import CEL_ERRORS, NO_OVERLOAD, EvalError, error_message
from polykind.cel.runtime_values import SchemaObject, kind_of

_QUANTIFIERS = {"all": (False, 3), "exists": (True, 4)}
"""Per macro: the predicate result that ends the loop, and the cost of one iteration without the predicate."""
_APPEND_COST = 12
_COUNT_COST = 2
_END = object()


def _single_values(value: Any) -> Iterable[Any]:
    """Return the successive values of a single iteration variable: the items of a list or the keys of a map."""
    if isinstance(value, list | dict):
        return value
    if isinstance(value, SchemaObject):
        return value.names()
    raise EvalError(f"got 'types.{kind_of(value).capitalize()}', expected iterable type")


def _value_pairs(value: Any) -> Iterable[tuple[Any, Any]]:
    """Return the successive values of two iteration variables: index and item of a list, or key and value of a map."""
    if isinstance(value, list):
        return enumerate(value)
    if isinstance(value, dict):
        return value.items()
    if isinstance(value, SchemaObject):
        return [(name, value.get(name)) for name in value.names()]
    raise EvalError(f"unsupported comprehension range type: types.{kind_of(value).capitalize()}")


def _iterator(iter_range: Closure, slots: Sequence[int]) -> Callable[[Frame], Iterable[None]]:
    """Return a generator function that assigns each element in turn to the iteration variables."""
    if len(slots) == 1:
        slot = slots[0]

        def iterate(frame: Frame) -> Iterable[None]:
            for item in _single_values(iter_range(frame)):
                frame[slot] = item
                yield

        return iterate
    first, second = slots

    def iterate_pairs(frame: Frame) -> Iterable[None]:
        for key, item in _value_pairs(iter_range(frame)):
            frame[first], frame[second] = key, item
            yield

    return iterate_pairs


def macro_comprehension(
    macro: str, iter_range: Plan, slots: Sequence[int], parts: Sequence[Plan], *, is_constant: bool
) -> Plan:
    """Plan the comprehension that a macro expands to. `parts` are the macro's arguments.

    `is_constant` is true if the expression that map() collects is a constant: cel-go creates its list only once.
    """
    if macro in _QUANTIFIERS:
        stop, step_cost = _QUANTIFIERS[macro]
        if len(slots) == 1:
            return _single_quantifier(iter_range, slots[0], parts[0], stop, step_cost)
        return _pair_quantifier(iter_range, slots, parts[0], stop, step_cost)
    if macro == "exists_one":
        return _exists_one(iter_range, slots, parts[0])
    return _collect(iter_range, slots, parts, is_constant)


def _single_quantifier(iter_range: Plan, slot: int, predicate: Plan, stop: bool, step_cost: int) -> Plan:
    """Plan all() or exists() with one variable. Most rules spend most of their time here."""
    source, test = iter_range.run, predicate.run
    iteration_cost = step_cost + predicate.cost
    go_on = not stop

    def run(frame: Frame) -> bool:
        values = source(frame)
        first_error: EvalError | None = None
        rest = iter(values if type(values) is list else _single_values(values))
        for item in rest:
            frame[slot] = item
            frame[0] += iteration_cost
            if frame[0] > frame[-1]:
                check_cost_limit(frame)
            try:
                result: object = test(frame)
            except CEL_ERRORS as error:
                first_error = first_error or EvalError(error_message(error))
                continue
            if result is stop:
                _charge_loop_condition(frame, rest, step_cost)
                return stop
            if result is not go_on:
                first_error = first_error or EvalError(NO_OVERLOAD)
        if first_error is not None:
            raise first_error
        return go_on

    return Plan(run, iter_range.cost + 1)


def _pair_quantifier(iter_range: Plan, slots: Sequence[int], predicate: Plan, stop: bool, step_cost: int) -> Plan:
    """Plan all() or exists() with two variables."""
    source, test, (first, second) = iter_range.run, predicate.run, slots

    def run_pair(frame: Frame) -> Any:
        # The first slot holds the pair of the current iteration.
        frame[first], frame[second] = frame[first]
        return test(frame)

    pairs = Plan(lambda frame: list(_value_pairs(source(frame))), iter_range.cost)
    return _single_quantifier(pairs, first, Plan(run_pair, predicate.cost), stop, step_cost)


def _exists_one(iter_range: Plan, slots: Sequence[int], predicate: Plan) -> Plan:
    iterate, test = _iterator(iter_range.run, slots), _error_as_value(predicate.run)

    def run(frame: Frame) -> bool:
        count = 0
        last_error: EvalError | None = None
        for _ in iterate(frame):
            _charge(frame, predicate.cost)
            result = test(frame)
            if result is True:
                frame[0] += _COUNT_COST
                count += 1
            elif result is not False:
                last_error = result
        if last_error is not None:
            raise last_error
        return count == 1

    return Plan(run, iter_range.cost + 2)


def _collect(iter_range: Plan, slots: Sequence[int], parts: Sequence[Plan], is_constant: bool) -> Plan:
    """Plan map() or filter(). The closure appends each item to one list instead of concatenating lists.

    An error does not end the loop. After the loop, the closure raises the error of the last predicate that failed, or
    else of the first item that failed.
    """
    iterate, (make_item, item_cost) = _iterator(iter_range.run, slots), parts[0]
    item_cost += _COUNT_COST if is_constant else _APPEND_COST
    test = _error_as_value(parts[1].run) if len(parts) == 2 else None
    test_cost = parts[1].cost if len(parts) == 2 else 0

    def run(frame: Frame) -> list[Any]:
        result: list[Any] = []
        result_error: EvalError | None = None
        for _ in iterate(frame):
            _charge(frame, test_cost)
            if test is not None:
                test_result = test(frame)
                if test_result is not True:
                    result_error = result_error if test_result is False else test_result
                    continue
            frame[0] += item_cost
            try:
                result.append(make_item(frame))
            except CEL_ERRORS as error:
                result_error = result_error or EvalError(error_message(error))
        _charge(frame, 0)
        if result_error is not None:
            raise result_error
        return result

    return Plan(run, iter_range.cost + 1)


def general_comprehension(
    iter_range: Plan, slots: Sequence[int], accu_slot: int, accu_init: Plan, loop_step: Plan
) -> Plan:
    """Plan a comprehension that builds a new map. Each step assigns its result, or its error, to the accumulator."""
    iterate = _iterator(iter_range.run, slots)

    def run(frame: Frame) -> Any:
        accumulated: Any = dict(accu_init.run(frame))
        for _ in iterate(frame):
            _charge(frame, loop_step.cost)
            frame[accu_slot] = accumulated
            try:
                accumulated = loop_step.run(frame)
            except CEL_ERRORS as error:
                accumulated = EvalError(error_message(error))
        if isinstance(accumulated, EvalError):
            raise accumulated
        return accumulated

    return Plan(run, iter_range.cost + accu_init.cost + 1)


def bind(slot: int, value: Plan, body: Plan) -> Plan:
    """Plan cel.bind(). If the value fails to evaluate, the error is raised only where the body uses the variable."""
    evaluate, (result, cost) = value.run, body

    def run(frame: Frame) -> Any:
        try:
            frame[slot] = evaluate(frame)
        except CEL_ERRORS as error:
            frame[slot] = EvalError(error_message(error))
        return result(frame)

    return Plan(run, value.cost + cost)


def accumulator(slot: int) -> Closure:
    """Return a closure that reads an accumulator or bound variable, and raises an error that the slot holds."""

    def get(frame: Frame) -> Any:
        value = frame[slot]
        if isinstance(value, EvalError):
            raise value
        return value

    return get


def _charge_loop_condition(frame: Frame, rest: Iterator[Any], step_cost: int) -> None:
    """If another element follows, charge the cost of the loop condition, which is `step_cost` minus 1 for the step."""
    if next(rest, _END) is not _END:
        _charge(frame, step_cost - 1)


def _charge(frame: Frame, cost: int) -> None:
    frame[0] += cost
    if frame[0] > frame[-1]:
        check_cost_limit(frame)


def _error_as_value(run: Closure) -> Callable[[Frame], bool | EvalError]:
    """Return a closure that runs the predicate and returns its error instead of raising it."""

    def test(frame: Frame) -> bool | EvalError:
        try:
            value = run(frame)
        except CEL_ERRORS as error:
            return EvalError(error_message(error))
        return value if type(value) is bool else EvalError(NO_OVERLOAD)

    return test
