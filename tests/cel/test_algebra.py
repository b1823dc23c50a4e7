"""Laws that hold for all values: arithmetic within 64 bits, logic that absorbs errors, order, equality."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from polykind.cel import arithmetic, environment
from polykind.cel.evaluation_errors import EvalError
from polykind.cel.runtime_values import compare, equals
from tests.cel.support import declared, value_of

_INTS = st.integers(-(2**63), 2**63 - 1)
_VALUES = st.recursive(
    st.none() | st.booleans() | _INTS | st.floats(allow_nan=False) | st.text(max_size=5) | st.binary(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
_TERMS = {"true": True, "false": False, "1 / (self - self) > 0": None}


@given(_INTS, _INTS)
def test_sums_are_right_or_refused(left: int, right: int) -> None:
    try:
        assert arithmetic.add(left, right) == left + right
    except EvalError:
        assert not -(2**63) <= left + right < 2**63


@given(_INTS, _INTS)
def test_a_quotient_and_its_rest_make_the_dividend(left: int, right: int) -> None:
    try:
        quotient, rest = arithmetic.divide(left, right), arithmetic.modulo(left, right)
    except EvalError:
        assert right == 0 or (left == -(2**63) and right == -1)
        return
    assert quotient * right + rest == left
    assert abs(rest) < abs(right)
    assert rest == 0 or (rest < 0) == (left < 0)


@given(_VALUES)
def test_a_value_equals_itself(value: Any) -> None:
    assert equals(value, value)


@given(_VALUES, _VALUES)
def test_equality_has_no_sides(left: Any, right: Any) -> None:
    assert equals(left, right) == equals(right, left)


@given(_INTS | st.floats(allow_nan=False), _INTS | st.floats(allow_nan=False))
def test_numbers_have_one_order(left: float, right: float) -> None:
    assert compare(left, right) == -compare(right, left)


@given(st.lists(st.sampled_from(sorted(_TERMS)), min_size=2, max_size=4), st.sampled_from(["&&", "||"]))
def test_logic_absorbs_errors(terms: list[str], op: str) -> None:
    values = [_TERMS[term] for term in terms]
    deciding = op == "||"
    found = value_of(f" {op} ".join(terms))
    if deciding in values:
        assert found is deciding
    elif None in values:
        assert found == "error: division by zero"
    else:
        assert found is not deciding


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
def test_data_that_is_not_what_its_schema_says_does_no_harm(text: str, schema: dict[str, Any], value: Any) -> None:
    found, registry = declared(schema)
    checked = environment.compile_rule(text, found, registry, optional_old=False)
    if checked.ast is not None:
        checked.program(found).run(value, None)
