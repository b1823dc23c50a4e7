"""Equality of JSON values that distinguishes types."""

from __future__ import annotations

from hypothesis import given

from polykind.schema.equality import deep_copy, deep_equal, hashable_key
from tests.schema.strategies import junk


@given(junk, junk)
def test_values_are_equal_exactly_if_their_keys_are(left: object, right: object) -> None:
    assert deep_equal(left, right) == (hashable_key(left) == hashable_key(right))
    assert deep_equal(left, deep_copy(left))


def test_true_one_and_one_point_zero_differ() -> None:
    assert not deep_equal(True, 1)
    assert not deep_equal(1, 1.0)
    assert not deep_equal([{"a": 1}], [{"a": True}])
    assert deep_equal({"a": [1, None]}, {"a": [1, None]})


def test_deep_copy_shares_no_container() -> None:
    value = {"a": [{"b": 1}]}
    copied = deep_copy(value)
    copied["a"][0]["b"] = 2
    assert value == {"a": [{"b": 1}]}
