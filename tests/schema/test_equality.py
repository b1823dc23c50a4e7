"""Equality with types."""

from __future__ import annotations

from hypothesis import given

from polykind.schema.equality import fresh, identity, same
from tests.schema.strategies import junk


@given(junk, junk)
def test_two_values_are_the_same_exactly_if_their_identities_are(left: object, right: object) -> None:
    assert same(left, right) == (identity(left) == identity(right))
    assert same(left, fresh(left))


def test_true_one_and_one_point_zero_are_three_values() -> None:
    assert not same(True, 1)
    assert not same(1, 1.0)
    assert not same([{"a": 1}], [{"a": True}])
    assert same({"a": [1, None]}, {"a": [1, None]})


def test_a_copy_shares_nothing() -> None:
    value = {"a": [{"b": 1}]}
    copied = fresh(value)
    copied["a"][0]["b"] = 2
    assert value == {"a": [{"b": 1}]}
