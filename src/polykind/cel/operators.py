"""Closures for what is common or odd: logic that absorbs errors, comparisons, arithmetic, calls that count."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

from polykind.cel.activation import PER_CALL_LIMIT, Closure, Frame, Interpretable, reserve_cost
from polykind.cel.arithmetic import MAX_INT, MIN_INT
from polykind.cel.ast import Expr, Literal
from polykind.cel.evaluation_errors import (
    CEL_ERRORS,
    NO_OVERLOAD,
    CostExceededError,
    EvalError,
    InternalError,
    error_message,
)
from polykind.cel.function_declarations import OVERLOADS_BY_ID
from polykind.cel.library.standard import double_comparison, in_list, optional_index
from polykind.cel.overload_dispatch import no_such_overload
from polykind.cel.runtime_cost import CallCost
from polykind.cel.runtime_values import Optional, actual_size, equals, string_traversal_cost
from polykind.golang.regexp import compile_pattern

_MISFITS = (AttributeError, TypeError)
"""What Python raises where a null stands in the place of something else."""
_NO_LIST = "interface conversion: *types.Err is not traits.Lister: missing method Add"
_SCALARS = frozenset({"int", "uint", "bool", "double", "duration"})
_PLAIN = frozenset({"int", "uint", "bool", "string", "bytes", "double"})
_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "less": operator.lt,
    "less_equals": operator.le,
    "greater": operator.gt,
    "greater_equals": operator.ge,
}
_QUICK: dict[str, Callable[[Any, Any], bool]] = {
    f"{word}_{kind}": test for word, test in _COMPARISONS.items() for kind in ("int", "uint", "duration")
} | {f"{word}_double": double_comparison(test) for word, test in _COMPARISONS.items()}
_TEXTUAL = frozenset({"starts_with_string", "ends_with_string", "contains_string", "matches_string"})
_INTEGER: dict[str, Callable[[Any, Any], int]] = {
    "add_int64": operator.add,
    "subtract_int64": operator.sub,
    "multiply_int64": operator.mul,
}


def logical(parts: Sequence[Interpretable], *, stop: bool) -> Interpretable:
    """&& (which a false stops) and || (which a true stops): an error counts only if no term stops it."""
    if len(parts) == 2:
        return Interpretable(_pair(parts[0].run, parts[1], stop), parts[0].cost)
    terms = [(part.run, part.cost) for part in parts[1:]]
    first = parts[0].run

    def run(frame: Frame) -> bool:
        failure = _term(first, frame, stop)
        if failure is True:
            return stop
        for term, cost in terms:
            frame[0] += cost
            found = _term(term, frame, stop)
            if found is True:
                return stop
            failure = failure or found
        if failure:
            raise failure
        return not stop

    return Interpretable(run, parts[0].cost)


def _term(run: Closure, frame: Frame, stop: bool) -> bool | EvalError:
    """True if the term decides, False if it does not, or its error."""
    try:
        value: object = run(frame)
    except CEL_ERRORS as failure:
        return EvalError(error_message(failure))
    if value is stop:
        return True
    return False if value is (not stop) else EvalError(NO_OVERLOAD)


def _pair(first: Closure, other: Interpretable, stop: bool) -> Closure:
    second, cost = other
    go_on = not stop

    def run(frame: Frame) -> bool:
        try:
            value: object = first(frame)
        except CEL_ERRORS as failure:
            frame[0] += cost
            if _term(second, frame, stop) is True:
                return stop
            raise EvalError(error_message(failure)) from None
        if value is stop:
            return stop
        frame[0] += cost
        if value is not go_on:
            # Neither true nor false: the other may still decide, whatever else it comes to.
            if _term(second, frame, stop) is True:
                return stop
            raise EvalError(NO_OVERLOAD)
        other_value: object = second(frame)
        if other_value is stop:
            return stop
        if other_value is not go_on:
            raise EvalError(NO_OVERLOAD)
        return go_on

    return run


def conditional(condition: Interpretable, then: Interpretable, otherwise_: Interpretable) -> Interpretable:
    test, (yes, yes_cost), (no, no_cost) = condition.run, then, otherwise_

    def run(frame: Frame) -> Any:
        value = test(frame)
        if value is True:
            frame[0] += yes_cost
            return yes(frame)
        if value is False:
            frame[0] += no_cost
            return no(frame)
        raise EvalError(NO_OVERLOAD)

    return Interpretable(run, condition.cost)


def optional_or(first: Interpretable, second: Interpretable, *, unwrap: bool) -> Interpretable:
    """or() and orValue(): the second is looked at only if the first holds nothing."""
    left, (right, cost) = first.run, second

    def run(frame: Frame) -> Any:
        optional = left(frame)
        if not isinstance(optional, Optional):
            # Whatever it is that is not optional: there is no need of another.
            return optional
        if optional.present:
            return optional.value if unwrap else optional
        frame[0] += cost
        return right(frame)

    return Interpretable(run, first.cost)


def optional_index_or_select(container: Closure, key: Interpretable, cost: int) -> Interpretable:
    """An element that may be missing: it costs something only if it is there, and nothing is sought in nothing."""
    find, key_cost = key

    def run(frame: Frame) -> Optional:
        held = container(frame)
        if isinstance(held, Optional):
            if not held.present:
                return held
            held = held.value
        frame[0] += key_cost
        found = optional_index(held, find(frame))
        frame[0] += found.present
        return found

    return Interpretable(run, cost)


def equality(nodes: Sequence[Expr], args: Sequence[Interpretable], *, negated: bool) -> Interpretable:
    left, right = args[0].run, args[1].run
    cost = args[0].cost + args[1].cost
    kinds = {node.type.kind for node in nodes}
    if len(kinds) == 1 and kinds <= _SCALARS:
        test: Callable[[Any, Any], bool] = operator.ne if negated else operator.eq
        return Interpretable(_compared(test, left, right, nodes[1]), cost + 1)
    if kinds == {"string"}:
        return Interpretable(_text_equality(left, right, negated), cost)

    def run(frame: Frame) -> bool:
        one, other = left(frame), right(frame)
        if type(one) is int and type(other) is int:
            frame[0] += 1
            return (one == other) is not negated
        frame[0] += string_traversal_cost(min(actual_size(one), actual_size(other)))
        found = equals(one, other)
        if found is None and not negated:
            raise EvalError(NO_OVERLOAD)
        return bool(found) is not negated

    return Interpretable(run, cost)


def _text_equality(left: Closure, right: Closure, negated: bool) -> Closure:
    def run(frame: Frame) -> bool:
        one, other = left(frame), right(frame)
        if type(one) is str and type(other) is str:
            frame[0] += (min(len(one), len(other)) + 9) // 10
            return (one == other) is not negated
        return bool(equals(one, other)) is not negated

    return run


def _compared(test: Callable[[Any, Any], bool], left: Closure, right: Closure, right_node: Expr) -> Closure:
    if isinstance(right_node, Literal):
        constant = right_node.value
        return lambda frame: test(left(frame), constant)
    return lambda frame: test(left(frame), right(frame))


def fast_call(overload: str, nodes: Sequence[Expr], args: Sequence[Interpretable], cost: int) -> Interpretable | None:
    """Comparisons and sums of numbers whose types are known, without a call more than needed."""
    test = _QUICK.get(overload)
    if test is not None:
        return Interpretable(_compared(test, args[0].run, args[1].run, nodes[1]), cost + 1)
    if overload in _TEXTUAL and isinstance(nodes[1], Literal):
        return Interpretable(_textual(overload, args[0].run, str(nodes[1].value)), cost)
    compute = _INTEGER.get(overload)
    if compute is None:
        return None
    left, right, function = args[0].run, args[1].run, OVERLOADS_BY_ID[overload].function

    def run(frame: Frame) -> int:
        one, other = left(frame), right(frame)
        try:
            value = compute(one, other)
        except TypeError:
            raise no_such_overload(function, [one, other]) from None
        if MIN_INT <= value <= MAX_INT:
            return value
        raise EvalError("integer overflow")

    return Interpretable(run, cost + 1)


def _textual(overload: str, text: Closure, constant: str) -> Closure:
    """A test of a text by a constant, at a cost of so much for each ten characters."""
    each, test = _text_test(overload, constant)
    more = 10 if overload == "matches_string" else 9

    def run(frame: Frame) -> bool:
        value = text(frame)
        frame[0] += (len(value) + more) // 10 * each
        return test(value)

    return run


def _text_test(overload: str, constant: str) -> tuple[int, Callable[[str], bool]]:
    if overload == "matches_string":
        return -(-len(constant) // 4), compile_pattern(constant)
    if overload == "contains_string":
        return string_traversal_cost(len(constant)), lambda value: constant in value
    if overload == "starts_with_string":
        return 1, lambda value: value.startswith(constant)
    return 1, lambda value: value.endswith(constant)


def list_membership(nodes: Sequence[Expr]) -> Callable[[Any, list[Any]], bool]:
    """`in` a list: Python's own where the types are known and plain."""
    if nodes[0].type.kind in _PLAIN and nodes[1].type.params and nodes[1].type.params[0] == nodes[0].type:
        return lambda item, items: item in items
    return in_list


def fixed_cost_call(function: str, implementation: Callable[..., Any], runs: Sequence[Closure]) -> Closure:
    """A call that costs the same whatever it is given."""
    if len(runs) == 1:
        only = runs[0]

        def single(frame: Frame) -> Any:
            value = only(frame)
            try:
                return implementation(value)
            except _MISFITS:
                raise no_such_overload(function, [value]) from None

        return single
    if len(runs) == 2:
        left, right = runs

        def pair(frame: Frame) -> Any:
            one, other = left(frame), right(frame)
            try:
                return implementation(one, other)
            except _MISFITS:
                raise no_such_overload(function, [one, other]) from None

        return pair

    def call(frame: Frame) -> Any:
        values = [run(frame) for run in runs]
        try:
            return implementation(*values)
        except _MISFITS:
            raise no_such_overload(function, values) from None

    return call


def variable_cost_call(
    function: str, implementation: Callable[..., Any], runs: Sequence[Closure], spend: CallCost, *, known: bool = False
) -> Closure:
    """A call whose cost depends on its arguments and result; where it is `known` before, it is looked at before."""

    def call(frame: Frame) -> Any:
        values = [run(frame) for run in runs]
        if known:
            reserve_cost(frame, spend(values, None))
        try:
            result = implementation(*values)
        except _MISFITS:
            raise no_such_overload(function, values) from None
        frame[0] += spend(values, result)
        if frame[0] > PER_CALL_LIMIT:
            raise CostExceededError
        return result

    return call


def list_argument(run: Closure) -> Closure:
    """An argument that the reference takes for a list even if there is an error instead of it."""

    def checked(frame: Frame) -> Any:
        try:
            return run(frame)
        except CEL_ERRORS:
            raise InternalError(_NO_LIST) from None

    return checked
