"""Texts as Go prints them. The expected texts were printed by Go."""

from __future__ import annotations

import json
import math
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polykind.golang.fmt import go_float, go_quote
from polykind.golang.json import encode_json, escape_html, go_json, json_float
from polykind.golang.strconv import shortest_int

FLOATS = [
    (0.0, "0", "0"),
    (-0.0, "-0", "-0"),
    (1.0, "1", "1"),
    (-1.0, "-1", "-1"),
    (0.1, "0.1", "0.1"),
    (1.5, "1.5", "1.5"),
    (12345.678, "12345.678", "12345.678"),
    (100000.0, "100000", "100000"),
    (123456.5, "123456.5", "123456.5"),
    (999999.9, "999999.9", "999999.9"),
    (1e6, "1e+06", "1000000"),
    (1234567.0, "1.234567e+06", "1234567"),
    (1234567.5, "1.2345675e+06", "1234567.5"),
    (-1234567.5, "-1.2345675e+06", "-1234567.5"),
    (9007199254740992.0, "9.007199254740992e+15", "9007199254740992"),
    (1e20, "1e+20", "100000000000000000000"),
    (123456789012345680000.0, "1.2345678901234568e+20", "123456789012345680000"),
    (1e21, "1e+21", "1e+21"),
    (1.5e21, "1.5e+21", "1.5e+21"),
    (0.0001, "0.0001", "0.0001"),
    (0.00012, "0.00012", "0.00012"),
    (0.00001, "1e-05", "0.00001"),
    (1.5e-5, "1.5e-05", "0.000015"),
    (1e-6, "1e-06", "0.000001"),
    (1e-7, "1e-07", "1e-7"),
    (1.25e-7, "1.25e-07", "1.25e-7"),
    (1e100, "1e+100", "1e+100"),
    (5e-324, "5e-324", "5e-324"),
    (1.7976931348623157e308, "1.7976931348623157e+308", "1.7976931348623157e+308"),
    (0.30000000000000004, "0.30000000000000004", "0.30000000000000004"),
]


@pytest.mark.parametrize(("value", "printed", "encoded"), FLOATS)
def test_floats_are_formatted_as_in_go(value: float, printed: str, encoded: str) -> None:
    assert go_float(value) == printed
    assert json_float(value) == encoded


def test_nan_and_infinity() -> None:
    assert [go_float(v) for v in (math.nan, math.inf, -math.inf)] == ["NaN", "+Inf", "-Inf"]


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_formatted_float_parses_to_the_same_value(value: float) -> None:
    assert float(go_float(value)) == value
    assert float(json_float(value)) == value


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("plain", '"plain"'),
        ("", '""'),
        ('a"b', r'"a\"b"'),
        ("a\\b", r'"a\\b"'),
        ("tab\tnl\n", r'"tab\tnl\n"'),
        ("\a\b\f\r\v", r'"\a\b\f\r\v"'),
        ("\x00\x1f\x7f", r'"\x00\x1f\x7f"'),
        ("é", '"é"'),
        ("日本", '"日本"'),
        ("\U0001f600", '"\U0001f600"'),
        ("\u00a0", r'"\u00a0"'),
        ("\u200b", r'"\u200b"'),
        ("\u2028", r'"\u2028"'),
        ("\u00ad", r'"\u00ad"'),
        ("\u3000", r'"\u3000"'),
        ("\ufeff", r'"\ufeff"'),
        ("\u0378", r'"\u0378"'),
        ("\U000e0001", r'"\U000e0001"'),
        ("\U0010ffff", r'"\U0010ffff"'),
    ],
)
def test_go_quote(text: str, quoted: str) -> None:
    assert go_quote(text) == quoted


def test_json_sorts_keys_and_escapes_html() -> None:
    assert go_json({"b": "<a>&\u2028\u2029", "a": 1.5}) == r'{"a":1.5,"b":"\u003ca\u003e\u0026\u2028\u2029"}'
    assert encode_json({"b": 1, "a": 2}, sort_keys=False) == b'{"b":1,"a":2}'


def test_json_numbers_are_formatted_as_in_go() -> None:
    assert go_json([1e21, 1e20, 1e-7, 5.0, 2**70]) == f"[1e+21,100000000000000000000,1e-7,5,{2**70}]"


def test_json_of_lone_surrogates_and_deep_values() -> None:
    assert go_json({"\ud800": "\udfff"}) == '{"���":"���"}'
    deep: object = 1
    for _ in range(1000):
        deep = [deep]
    assert go_json(deep) == "[" * 1000 + "1" + "]" * 1000


def test_encoded_text_takes_no_more_memory_than_its_length() -> None:
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        encoded = encode_json({"text": "x" * 3000})
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert after - before < len(encoded) + 500


@pytest.mark.parametrize("text", ["plain", "é", "\u2027\u202a", "â", "\u2028", "a<b>c&d\u2029"])
def test_html_escaping_keeps_the_value(text: str) -> None:
    encoded = json.dumps(text, ensure_ascii=False).encode()
    escaped = escape_html(encoded)
    assert json.loads(escaped) == text
    assert not any(c in escaped.decode() for c in "<>&\u2028\u2029")


@pytest.mark.parametrize(
    ("value", "whole"),
    [(3.0, 3), (-(2.0**53), -(2**53)), (2.0**63, 9223372036854776000), (-(2.0**63), -9223372036854776000)],
)
def test_shortest_int_of_a_float(value: float, whole: int) -> None:
    assert shortest_int(value) == whole
