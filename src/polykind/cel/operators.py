"""Closures for operators and function calls: logical operators, optional values, comparisons and calls with costs."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

from polykind.cel import evaluation_errors
from polykind.cel.activation import PER_CALL_LIMIT, Closure, Frame, Plan, reserve_cost
from polykind.cel.arithmetic import MAX_INT, MIN_INT
from polykind.cel.ast import Expr, Literal
from polykind.cel.evaluation_errors import CEL_ERRORS, NO_OVERLOAD, CostExceededError, EvalError, error_message
from polykind.cel.library import OVERLOADS_BY_ID
from polykind.cel.library.standard import COMPARISONS, double_comparison, in_list, optional_index
from polykind.cel.overload_dispatch import no_such_overload
from polykind.cel.runtime_cost import CallCost, string_traversal_cost
from polykind.cel.runtime_values import Optional, actual_size, equals
from polykind.golang.regexp import Pattern, PatternTooLargeError, compile_pattern

_TYPE_ERRORS = (AttributeError, TypeError)
"""Exceptions that Python raises if an argument is null although its schema declares a non-null type."""
_NOT_A_LISTER = "interface conversion: *types.Err is not traits.Lister: missing method Add"
_SCALARS = frozenset({"int", "uint", "bool", "double", "duration"})
_HASHABLE = frozenset({"int", "uint", "bool", "string", "bytes", "double"})

_FAST_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    f"{word}_{kind}": test for word, test in COMPARISONS.items() for kind in ("int", "uint", "duration")
} | {f"{word}_double": double_comparison(test) for word, test in COMPARISONS.items()}
_STRING_TESTS = frozenset({"starts_with_string", "ends_with_string", "contains_string", "matches_string"})
_INT_ARITHMETIC: dict[str, Callable[[Any, Any], int]] = {
    "add_int64": operator.add,
    "subtract_int64": operator.sub,
    "multiply_int64": operator.mul,
}


def logical(parts: Sequence[Plan], *, stop: bool) -> Plan:
    """Plan && (`stop` is False) or || (`stop` is True). If any term equals `stop`, the result is `stop`, even if other
    terms fail.
    """
    if len(parts) == 2:
        return Plan(_logical_pair(parts[0].run, parts[1], stop), parts[0].cost)
    terms = [(part.run, part.cost) for part in parts[1:]]
    first = parts[0].run

    def run(frame: Frame) -> bool:
        first_error = _logical_term(first, frame, stop)
        if first_error is True:
            return stop
        for term, cost in terms:
            frame[0] += cost
            result = _logical_term(term, frame, stop)
            if result is True:
                return stop
            first_error = first_error or result
        if first_error:
            raise first_error
        return not stop

    return Plan(run, parts[0].cost)


def _logical_term(run: Closure, frame: Frame, stop: bool) -> bool | EvalError:
    """Evaluate one term of && or ||. Return True if it equals `stop`, False if it is the other bool, or its error."""
    try:
        value: object = run(frame)
    except CEL_ERRORS as error:
        return EvalError(error_message(error))
    if value is stop:
        return True
    return False if value is (not stop) else EvalError(NO_OVERLOAD)


def _logical_pair(first: Closure, other: Plan, stop: bool) -> Closure:
    second, cost = other
    go_on = not stop

    def run(frame: Frame) -> bool:
        try:
            value: object = first(frame)
        except CEL_ERRORS as error:
            frame[0] += cost
            if _logical_term(second, frame, stop) is True:
                return stop
            raise EvalError(error_message(error)) from None
        if value is stop:
            return stop
        frame[0] += cost
        if value is not go_on:
            # The first operand is not a bool. This is an error unless the second operand equals `stop`.
            if _logical_term(second, frame, stop) is True:
                return stop
            raise EvalError(NO_OVERLOAD)
        other_value: object = second(frame)
        if other_value is stop:
            return stop
        if other_value is not go_on:
            raise EvalError(NO_OVERLOAD)
        return go_on

    return run


def conditional(condition: Plan, then: Plan, otherwise: Plan) -> Plan:
    test, (yes, yes_cost), (no, no_cost) = condition.run, then, otherwise

    def run(frame: Frame) -> Any:
        value = test(frame)
        if value is True:
            frame[0] += yes_cost
            return yes(frame)
        if value is False:
            frame[0] += no_cost
            return no(frame)
        raise EvalError(NO_OVERLOAD)

    return Plan(run, condition.cost)


def optional_or(first: Plan, second: Plan, *, unwrap: bool) -> Plan:
    """Plan or(), or orValue() if `unwrap` is true. The second operand is evaluated only if the first has no value."""
    left, (right, cost) = first.run, second

    def run(frame: Frame) -> Any:
        optional = left(frame)
        if not isinstance(optional, Optional):
            # If the receiver is not an optional value, cel-go returns it unchanged.
            return optional
        if optional.present:
            return optional.value if unwrap else optional
        frame[0] += cost
        return right(frame)

    return Plan(run, first.cost)


def optional_index_or_select(container: Closure, key: Plan, cost: int) -> Plan:
    """Plan container[?key] or container.?key. Reading a present element costs 1. If the container is optional.none(),
    the result is optional.none().
    """
    evaluate_key, key_cost = key

    def run(frame: Frame) -> Optional:
        value = container(frame)
        if isinstance(value, Optional):
            if not value.present:
                return value
            value = value.value
        frame[0] += key_cost
        element = optional_index(value, evaluate_key(frame))
        frame[0] += element.present
        return element

    return Plan(run, cost)


def equality(nodes: Sequence[Expr], args: Sequence[Plan], *, negated: bool) -> Plan:
    left, right = args[0].run, args[1].run
    cost = args[0].cost + args[1].cost
    kinds = {node.type.kind for node in nodes}
    if len(kinds) == 1 and kinds <= _SCALARS:
        test: Callable[[Any, Any], bool] = operator.ne if negated else operator.eq
        return Plan(_comparison(test, left, right, nodes[1]), cost + 1)
    if kinds == {"string"}:
        return Plan(_string_equality(left, right, negated), cost)

    def run(frame: Frame) -> bool:
        one, other = left(frame), right(frame)
        if type(one) is int and type(other) is int:
            frame[0] += 1
            return (one == other) is not negated
        frame[0] += string_traversal_cost(min(actual_size(one), actual_size(other)))
        equal = equals(one, other)
        if equal is None and not negated:
            raise EvalError(NO_OVERLOAD)
        return bool(equal) is not negated

    return Plan(run, cost)


def _string_equality(left: Closure, right: Closure, negated: bool) -> Closure:
    def run(frame: Frame) -> bool:
        one, other = left(frame), right(frame)
        if type(one) is str and type(other) is str:
            frame[0] += (min(len(one), len(other)) + 9) // 10
            return (one == other) is not negated
        return bool(equals(one, other)) is not negated

    return run


def _comparison(test: Callable[[Any, Any], bool], left: Closure, right: Closure, right_node: Expr) -> Closure:
    if isinstance(right_node, Literal):
        constant = right_node.value
        return lambda frame: test(left(frame), constant)
    return lambda frame: test(left(frame), right(frame))


def fast_call(overload: str, nodes: Sequence[Expr], args: Sequence[Plan], cost: int) -> Plan | None:
    """Plan a comparison, string test or integer operation whose operand types are known, without dynamic dispatch.

    Return None for any other overload.
    """
    test = _FAST_COMPARISONS.get(overload)
    if test is not None:
        return Plan(_comparison(test, args[0].run, args[1].run, nodes[1]), cost + 1)
    if overload in _STRING_TESTS and isinstance(nodes[1], Literal):
        return Plan(_string_test(overload, args[0].run, str(nodes[1].value)), cost)
    compute = _INT_ARITHMETIC.get(overload)
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

    return Plan(run, cost + 1)


def _string_test(overload: str, text: Closure, constant: str) -> Closure:
    """Return a closure that tests a string against a constant and charges for every ten characters, rounded up."""
    if overload == "matches_string":
        return _pattern_test(text, compile_pattern(constant), -(-len(constant) // 4))
    cost, test = _compile_string_test(overload, constant)

    def run(frame: Frame) -> bool:
        value = text(frame)
        frame[0] += (len(value) + 9) // 10 * cost
        return test(value)

    return run


def _pattern_test(text: Closure, pattern: Pattern, cost: int) -> Closure:
    """Return a closure for matches(). It also charges for an empty string, as cel-go does."""

    def run(frame: Frame) -> bool:
        value = text(frame)
        frame[0] += (len(value) + 10) // 10 * cost
        if frame[-2] is not None and (work := pattern.work):
            frame[-2](work)
        try:
            return pattern(value)
        except PatternTooLargeError as error:
            raise EvalError(str(error)) from None

    return run


def _compile_string_test(overload: str, constant: str) -> tuple[int, Callable[[str], bool]]:
    if overload == "contains_string":
        return string_traversal_cost(len(constant)), lambda value: constant in value
    if overload == "starts_with_string":
        return 1, lambda value: value.startswith(constant)
    return 1, lambda value: value.endswith(constant)


def list_membership(nodes: Sequence[Expr]) -> Callable[[Any, list[Any]], bool]:
    """Return the implementation of `in` for a list. Use Python's `in` if both types are equal and hashable."""
    if nodes[0].type.kind in _HASHABLE and nodes[1].type.params and nodes[1].type.params[0] == nodes[0].type:
        return lambda item, items: item in items
    return in_list


def fixed_cost_call(function: str, implementation: Callable[..., Any], runs: Sequence[Closure]) -> Closure:
    """Return a closure for a call whose cost does not depend on its arguments."""
    if len(runs) == 1:
        only = runs[0]

        def single(frame: Frame) -> Any:
            value = only(frame)
            try:
                return implementation(value)
            except _TYPE_ERRORS:
                raise no_such_overload(function, [value]) from None

        return single
    if len(runs) == 2:
        left, right = runs

        def pair(frame: Frame) -> Any:
            one, other = left(frame), right(frame)
            try:
                return implementation(one, other)
            except _TYPE_ERRORS:
                raise no_such_overload(function, [one, other]) from None

        return pair

    def call(frame: Frame) -> Any:
        values = [run(frame) for run in runs]
        try:
            return implementation(*values)
        except _TYPE_ERRORS:
            raise no_such_overload(function, values) from None

    return call


def variable_cost_call(
    function: str,
    implementation: Callable[..., Any],
    runs: Sequence[Closure],
    call_cost: CallCost,
    *,
    reserve: bool = False,
    work: Callable[[Sequence[Any]], int] | None = None,
) -> Closure:
    """Return a closure for a call whose cost depends on its arguments and result.

    If `reserve` is true, the cost depends only on the arguments and is checked against the limit before the call.
    `work` tells how long the call takes besides, so that it can be interrupted on an event loop.
    """

    def call(frame: Frame) -> Any:
        values = [run(frame) for run in runs]
        if reserve:
            reserve_cost(frame, call_cost(values, None))
        if work is not None and frame[-2] is not None:
            frame[-2](work(values))
        try:
            result = implementation(*values)
        except _TYPE_ERRORS:
            raise no_such_overload(function, values) from None
        frame[0] += call_cost(values, result)
        if frame[0] > PER_CALL_LIMIT:
            raise CostExceededError
        return result

    return call


def list_argument(run: Closure) -> Closure:
    """Return a closure for a list argument. If the argument fails, raise InternalError, because cel-go panics."""

    def checked(frame: Frame) -> Any:
        try:
            return run(frame)
        except CEL_ERRORS:
            raise evaluation_errors.InternalError(_NOT_A_LISTER) from None

    return checked
