"""Query strings."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polykind.golang.query import bool_value, first_value, parse_query


@pytest.mark.parametrize(
    ("raw", "query"),
    [
        ("", {}),
        ("a=1&b=2&a=3", {"a": ["1", "3"], "b": ["2"]}),
        ("a&b=&&=x", {"a": [""], "b": [""], "": ["x"]}),
        ("a=b=c", {"a": ["b=c"]}),
        ("a=x+y%20z", {"a": ["x y z"]}),
        ("a=%zz&b=1", {"b": ["1"]}),
        ("a=1;2&b=1", {"b": ["1"]}),
        ("a=%C3%A9", {"a": ["é"]}),
        ("a=%e2%82", {"a": ["\ufffd\ufffd"]}),
    ],
)
def test_parse_query(raw: str, query: dict[str, list[str]]) -> None:
    assert parse_query(raw) == query
    assert parse_query(raw.encode()) == query


@pytest.mark.parametrize(
    ("raw", "value"),
    [("", None), ("w=1", True), ("w=true", True), ("w=maybe", True), ("w=", True), ("w=0", False), ("w=FALSE", False)],
)
def test_bool_value(raw: str, value: bool | None) -> None:
    assert bool_value(parse_query(raw), "w") is value


@given(st.text())
def test_parse_query_accepts_any_text(raw: str) -> None:
    assert first_value(parse_query(raw), "never given") == ""
