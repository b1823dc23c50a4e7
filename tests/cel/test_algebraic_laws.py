"""Property tests: 64-bit arithmetic, error-absorbing logic, ordering and equality."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from polykind.cel import arithmetic, environment
from polykind.cel.evaluation_errors import EvalError
from polykind.cel.runtime_values import compare, equals
from tests.cel.support import declare, evaluate

_INTS = st.integers(-(2**63), 2**63 - 1)
_VALUES = st.recursive(
    st.none() | st.booleans() | _INTS | st.floats(allow_nan=False) | st.text(max_size=5) | st.binary(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
_TERMS = {"true": True, "false": False, "1 / (self - self) > 0": None}


@given(_INTS, _INTS)
def test_int_addition_is_exact_or_overflows(left: int, right: int) -> None:
    try:
        assert arithmetic.add(left, right) == left + right
    except EvalError:
        assert not -(2**63) <= left + right < 2**63


@given(_INTS, _INTS)
def test_division_and_modulo_are_consistent(left: int, right: int) -> None:
    try:
        quotient, remainder = arithmetic.divide(left, right), arithmetic.modulo(left, right)
    except EvalError:
        assert right == 0 or (left == -(2**63) and right == -1)
        return
    assert quotient * right + remainder == left
    assert abs(remainder) < abs(right)
    assert remainder == 0 or (remainder < 0) == (left < 0)


@given(_VALUES)
def test_equality_is_reflexive(value: Any) -> None:
    assert equals(value, value)


@given(_VALUES, _VALUES)
def test_equality_is_symmetric(left: Any, right: Any) -> None:
    assert equals(left, right) == equals(right, left)


@given(_INTS | st.floats(allow_nan=False), _INTS | st.floats(allow_nan=False))
def test_number_comparison_is_antisymmetric(left: float, right: float) -> None:
    assert compare(left, right) == -compare(right, left)


@given(st.lists(st.sampled_from(sorted(_TERMS)), min_size=2, max_size=4), st.sampled_from(["&&", "||"]))
def test_logical_operators_absorb_errors(terms: list[str], op: str) -> None:
    values = [_TERMS[term] for term in terms]
    absorbing = op == "||"
    result = evaluate(f" {op} ".join(terms))
    if absorbing in values:
        assert result is absorbing
    elif None in values:
        assert result == "error: division by zero"
    else:
        assert result is not absorbing


@given(
    st.sampled_from(
        ["self > 0", "self.size() > 0", "self.startsWith('a')", "self.all(x, x == 1)", "self.a == 1", "has(self.a)"]
    ),
    st.sampled_from(
        [
            {"type": "integer"},
            {"type": "string"},
            {"type": "array", "items": {"type": "integer"}},
            {"type": "object", "properties": {"a": {"type": "integer"}}},
            {"type": "object", "additionalProperties": {"type": "integer"}},
            {"x-kubernetes-int-or-string": True},
        ]
    ),
    _VALUES,
)
def test_data_that_violates_its_schema_raises_nothing(text: str, schema: dict[str, Any], value: Any) -> None:
    decl_type, type_provider = declare(schema)
    compiled = environment.compile_rule(text, decl_type, type_provider, optional_old=False)
    if compiled.ast is not None:
        compiled.program(decl_type).run(value, None)
