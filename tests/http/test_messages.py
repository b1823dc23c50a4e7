"""Query strings and Warning headers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polykind.http.messages import bool_value, first_value, parse_query, warning_headers


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


def warnings(*texts: str) -> list[str]:
    headers = warning_headers(list(texts))
    assert all(name == b"Warning" for name, _ in headers)
    return [value.decode() for _, value in headers]


def test_each_distinct_warning_once_in_order() -> None:
    assert warnings("b", "a", "b", "") == ['299 - "b"', '299 - "a"']


@pytest.mark.parametrize(
    ("text", "quoted"),
    [('say "hi"', r'"say \"hi\""'), ("a\\b", r'"a\\b"'), ("é 日本", '"é 日本"'), ("\u200b", '"\u200b"')],
)
def test_warnings_are_quoted(text: str, quoted: str) -> None:
    assert warnings(text) == [f"299 - {quoted}"]


@pytest.mark.parametrize("text", ["a\nb", "a\rb", "\x00", "\x7f", "\x85", "\ud800"])
def test_warnings_with_control_characters_are_dropped(text: str) -> None:
    assert warnings("before", text, "after") == ['299 - "before"', '299 - "after"']


def test_long_warnings_within_the_limit_are_complete() -> None:
    assert warnings("x" * 4096) == [f'299 - "{"x" * 4096}"']
    assert warnings("x" * 2048, "y" * 2048) == [f'299 - "{"x" * 2048}"', f'299 - "{"y" * 2048}"']


def test_warnings_above_the_limit_are_all_truncated() -> None:
    assert warnings("x" * 4097) == [f'299 - "{"x" * 256}"']
    assert warnings("short", "é" * 4092) == ['299 - "short"', f'299 - "{"é" * 256}"']


def test_truncated_warnings_above_the_limit_are_dropped() -> None:
    assert len(warnings(*(f"{i:03}" + "x" * 300 for i in range(40)))) == 16
    assert len(warnings(*(f"{i:03}" + "x" * 247 for i in range(40)))) == 17
