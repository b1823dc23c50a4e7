from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polykind.codec import json_codec, json_syntax
from polykind.errors import RequestTooLargeError
from polykind.golang.json import NumberLiteral


@pytest.mark.parametrize(
    ("body", "value"),
    [
        (b"42.0", 42),
        (b"1e3", 1000),
        (b"-0.0", 0),
        (b"1.5", 1.5),
        (b"1234567890123456789.0", 1234567890123456800),
        (b"-9223372036854775809e0", -9223372036854775808.0),
        (b"9223372036854775807", 9223372036854775807),
        (b"-9223372036854775808", -9223372036854775808),
        (b"9223372036854775808", 9223372036854775808.0),
        (b'{"a":[18446744073709551616]}', {"a": [1.8446744073709552e19]}),
        (b'"\\ud800x"', "\ufffdx"),
        (b'"\\ud83d\\ude00"', "\U0001f600"),
        (b'"\\\\ud800"', "\\ud800"),
        (b'"\xff\xe2\x82"', "\ufffd\ufffd\ufffd"),
        (b'{"a":1,"a":2}', {"a": 2}),
    ],
)
def test_decode(body: bytes, value: Any) -> None:
    decoded = json_codec.decode(body)
    assert decoded == value
    assert type(decoded) is type(value)


def test_long_integers_are_floats() -> None:
    value = json_codec.decode(b'{"a":[18446744073709551616,1],"b":{"c":9223372036854775808}}')
    assert type(value["a"][0]) is float
    assert type(value["a"][1]) is int
    assert type(value["b"]["c"]) is float


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "couldn't get version/kind; json parse error: unexpected end of JSON input"),
        (b'{"a":1', "couldn't get version/kind; json parse error: unexpected end of JSON input"),
        (b"{} x", "couldn't get version/kind; json parse error: invalid character 'x' after top-level value"),
        (b'{"a":1e999}', "json: cannot unmarshal number 1e999 into Go value of type float64"),
        (b'{"a":1e999', "couldn't get version/kind; json parse error: unexpected end of JSON input"),
        (b"1" * 400, f"json: cannot unmarshal number {'1' * 400} into Go value of type float64"),
    ],
)
def test_malformed_bodies(body: bytes, message: str) -> None:
    with pytest.raises(json_codec.MalformedJSONError) as raised:
        json_codec.decode(body)
    assert raised.value.message == message
    assert raised.value.code == 400


@pytest.mark.parametrize("levels", [1100, 5000, 20000])
def test_too_deep_bodies_are_rejected(levels: int) -> None:
    with pytest.raises(json_codec.MalformedJSONError, match="exceeded max depth"):
        json_codec.decode(b'{"a":' * levels + b"1" + b"}" * levels)


@pytest.mark.parametrize(
    ("value", "encoded"),
    [
        ({"b": 1, "a": [True, None]}, b'{"a":[true,null],"b":1}'),
        ("<a&b>\u2028", rb'"\u003ca\u0026b\u003e\u2028"'),
        (1e21, b"1e+21"),
        (1e20, b"100000000000000000000"),
        ([1e-7, 0.000001, 1.5], b"[1e-7,0.000001,1.5]"),
        ({"a": 2.0}, b'{"a":2}'),
        ("\ud800", '"\ufffd\ufffd\ufffd"'.encode()),
        ("\b\f\x01\x7f", b'"\\b\\f\\u0001\x7f"'),
        ({"x": ":1e5"}, b'{"x":":1e5"}'),
        (1 << 70, b"1180591620717411303424"),
    ],
)
def test_encode(value: Any, encoded: bytes) -> None:
    assert json_codec.encode(value) == encoded
    assert json_codec.encode_line(value) == encoded + b"\n"


def test_encode_ordered_keeps_key_order() -> None:
    assert json_codec.encode_ordered({"b": "<", "a": 1}) == b'{"b":"\\u003c","a":1}'
    assert json_codec.encode_ordered({"b": 1e21, "a": {"d": 1, "c": 2}}) == b'{"b":1e+21,"a":{"d":1,"c":2}}'


def test_deep_nesting_is_encoded() -> None:
    value: Any = 1
    for _ in range(3000):
        value = {"a": [value]}
    assert json_codec.encode(value) == b'{"a":[' * 3000 + b"1" + b"]}" * 3000


@pytest.mark.parametrize(
    ("body", "paths"),
    [
        (b'{"a":1,"b":"x"}', []),
        (b'{"a" : 1, "b" :\n2}', []),
        (b'{"a":"{\\"x\\":1}"}', []),
        (b'{"spec":{"x":1,"x":2}}', ["spec.x"]),
        (b'{"spec":[{"x" :1,"x":2,"y" : 1}]}', ["spec[0].x"]),
        (b'{"a":"\\u0022:","b":1,"b":1}', ["b"]),
        (b'{"\xff":1,"\xff":2}', ["\ufffd"]),
    ],
)
def test_duplicate_keys(body: bytes, paths: list[str]) -> None:
    assert json_codec.duplicate_keys(body, json_codec.decode(body)) == paths


def test_duplicate_field_errors() -> None:
    assert json_codec.duplicate_field_errors(b'{"a":1,"a":1}', {"a": 1}) == ['duplicate field "a"']


def test_strict_errors_are_sorted_by_position() -> None:
    found = ['duplicate field "b"', 'duplicate field "a.c"', 'unknown field "a"', 'unknown field "d"']
    body = b'{"b":1,"a":{"c":1,"c":2},"b":2,"d":3}'
    assert json_codec.sort_strict_errors(found, body) == [found[2], found[1], found[0], found[3]]
    assert len(json_codec.sort_strict_errors(found * 50, body)) == 100


finite = st.floats(allow_nan=False, allow_infinity=False).map(lambda value: value + 0.0)
scalars = st.none() | st.booleans() | st.integers(-(1 << 63), (1 << 63) - 1) | st.text() | finite
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4)
)


@given(values)
def test_encode_decode_round_trip(value: Any) -> None:
    encoded = json_codec.encode(value)
    assert json_codec.encode(json_codec.decode(encoded)) == encoded
    assert json_codec.duplicate_keys(encoded, json_codec.decode(encoded)) == []


@given(st.binary(max_size=30))
def test_arbitrary_bytes_decode_or_raise(body: bytes) -> None:
    try:
        value = json_codec.decode(body)
    except json_codec.MalformedJSONError:
        return
    assert not isinstance(value, float) or math.isfinite(value)


@pytest.mark.parametrize(
    ("body", "value", "integers_only"),
    [
        (b'{"a":[1,-2,0],"b":"1.5e300"}', {"a": [1, -2, 0], "b": "1.5e300"}, True),
        (b'{"a":1.5}', {"a": 1.5}, False),
        (b'{"a":2.0}', {"a": 2}, False),
        (b'{"a":1e300}', {"a": 1e300}, False),
        (b'{"a":92233720368547758070}', {"a": 9.223372036854776e19}, False),
        (b'{"a":1,"b":"\xff"}', {"a": 1, "b": "\ufffd"}, False),
    ],
)
def test_decode_flagged_reports_integers(body: bytes, value: Any, integers_only: bool) -> None:
    assert json_codec.decode_flagged(body) == (value, integers_only)
    assert json_codec.encode(value, no_floats=integers_only) == json_codec.encode(value)


@pytest.mark.parametrize(
    "body",
    [
        b'{"a":[1,-2,0],"b":"x:y"}',
        b'{"a":9007199254740993}',
        b'{"a":92233720368547758070}',
        b'{"a":1.0,"a":2}',
        b'{"a":1,"a":2}',
        b'{"a":":","a":2}',
        b'{"a":"\\u003a","b":1,"b":1}',
        b'{"a":1,"b":"\xff"}',
    ],
)
def test_decode_strict_equals_decode_with_errors(body: bytes) -> None:
    value, integers_only = json_codec.decode_flagged(body, keep_fractions=True)
    assert json_codec.decode_strict(body) == (value, integers_only, json_codec.duplicate_field_errors(body, value))


@given(values)
def test_decode_strict_of_encoded_value_has_no_errors(value: Any) -> None:
    body = json_codec.encode(value)
    assert json_codec.decode_strict(body) == (*json_codec.decode_flagged(body, keep_fractions=True), [])


def test_decode_literal_keeps_number_spelling() -> None:
    value, integers_only = json_codec.decode_literal(b"[1, 1.0, 1e400, 9223372036854775808]")
    assert [value[0], value[1].text, value[2].text, value[3]] == [1, "1.0", "1e400", 1 << 63]
    assert not integers_only
    assert json_codec.decode_literal(b'{"a":[1]}') == ({"a": [1]}, True)
    with pytest.raises(json_codec.MalformedJSONError):
        json_codec.decode_literal(b"{")


def test_keep_fractions() -> None:
    value, integers_only = json_codec.decode_flagged(b'{"a":[1,2.0,1e3,-0.0,1e17]}', keep_fractions=True)
    assert [type(item) for item in value["a"]] == [int, float, float, float, float]
    assert not integers_only
    assert json_codec.encode(value) == b'{"a":[1,2,1000,-0,100000000000000000]}'
    with pytest.raises(json_codec.MalformedJSONError):
        json_codec.decode(b'{"a":1e999}', keep_fractions=True)


def test_duplicate_keys_merge_objects_and_replace_other_values() -> None:
    body = b'{"data":{"a":"1","a":"2"},"list":[1],"data":{"b":"3"},"list":[2.5],"n":{"x":{"p":1}},"n":{"x":{"q":2}}}'
    merged = json_codec.decode_merging(body)
    assert merged["data"] == {"a": "2", "b": "3"}
    assert merged["list"] == [NumberLiteral("2.5")]
    assert merged["n"] == {"x": {"p": 1, "q": 2}}


def test_strict_errors_of_patches_are_sorted_by_position() -> None:
    body = b'[{"op":"add","x":1,"path":"/a","path":"/b","value":1},{"y":1}]'
    errors = ['patch duplicate field "[0].path"', 'patch unknown field "[0].x"', 'patch unknown field "[1].y"']
    ordered = json_codec.sort_strict_errors(errors, body, prefix="patch ")
    assert ordered == [errors[1], errors[0], errors[2]]


def test_dense_text_is_too_large() -> None:
    with pytest.raises(RequestTooLargeError, match="limit is 200000 objects and 400000 lists"):
        json_codec.decode(b"[" + b"[]," * 500_000 + b"0]")


def test_deep_duplicate_keys_take_linear_memory() -> None:
    body = b'{"a":1,"a":' * 5000 + b"1" + b"}" * 5000
    paths = json_syntax.duplicate_keys(body)
    assert len(paths) == 100
    assert paths[:2] == ["a", "a.a"]


def test_objects_of_a_decoded_body_are_counted() -> None:
    value = {"a": [{}, {"b": {}}], "c": "{{{{"}
    json_codec.check_object_count(value, 4)
    with pytest.raises(RequestTooLargeError, match="limit is 3 objects"):
        json_codec.check_object_count(value, 3)
