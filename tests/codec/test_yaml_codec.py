from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polykind.codec import json_codec, yaml_codec


@pytest.mark.parametrize(
    ("body", "value"),
    [
        (b"", None),
        (b"# only a comment\n", None),
        (b"a: 1\nb: [x, yes, 0x10]\n", {"a": 1, "b": ["x", True, 16]}),
        (b'{"a": 1.0, "b": "\\u00e9"}', {"a": 1, "b": "\u00e9"}),
        (b"1: a\ntrue: b\n1.5: c\n2024-01-01: d\n", {"1": "a", "true": "b", "1.5": "c", "2024-01-01": "d"}),
        (b"a: 2024-01-01T00:00:00Z", {"a": "2024-01-01T00:00:00Z"}),
        (b"a: 1e3\nb: 18446744073709551615", {"a": 1000, "b": 18446744073709551615.0}),
        (b"a: 1\n---\nb: 2\n", {"a": 1}),
        (b"a: 1\na: 2\n", {"a": 2}),
        (b"a: &x {k: 1}\nb: *x\n", {"a": {"k": 1}, "b": {"k": 1}}),
        (b"a: &x {k: 1, l: 1}\nb:\n  <<: *x\n  k: 2\n", {"a": {"k": 1, "l": 1}, "b": {"k": 2, "l": 1}}),
        (b"a: &x {k: 1}\nb:\n  k: 2\n  <<: *x\n", {"a": {"k": 1}, "b": {"k": 1}}),
        (b"b:\n  <<: [{k: 1}, {k: 2, l: 2}]\n", {"b": {"k": 1, "l": 2}}),
        (b"a: |\n  x\n  y\n", {"a": "x\ny\n"}),
        (b'a: "<<"\n"<<": 1\n', {"a": "<<", "<<": 1}),
    ],
)
def test_decode(body: bytes, value: Any) -> None:
    assert yaml_codec.decode(body) == value


def test_aliases_are_copied() -> None:
    value = yaml_codec.decode(b"a: &x {k: [1]}\nb: *x\n")
    value["a"]["k"].append(2)
    assert value["b"] == {"k": [1]}


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"kind: [unclosed", "yaml: line 1: did not find expected ',' or ']'"),
        (b"a: b: c", "yaml: mapping values are not allowed in this context"),
        (b"x: 1\na: b: c", "yaml: line 2: mapping values are not allowed in this context"),
        (b"a: *nope", "yaml: unknown anchor 'nope' referenced"),
        (b"a: &x\n  b: *x\n", "yaml: anchor 'x' value contains itself"),
        (b"a:\n  <<: 5\n", "yaml: map merge requires map or sequence of maps as the value"),
        (b"a: &x [1]\nb:\n  <<: *x\n", "yaml: map merge requires map or sequence of maps as the value"),
        (b"a: !!int x", "yaml: cannot decode !!str `x` as a !!int"),
        (b"? [a]\n: b", 'yaml: invalid map key: []interface {}{"a"}'),
        (rb'{"a": "\ud83d\udd53"}', "yaml: found invalid Unicode character escape code"),
        (rb'{"a": "\/"}', "yaml: found unknown escape character"),
        (rb'{"a": "\\\/"}', "yaml: found unknown escape character"),
        (b'a: 1\nb: "\\/"\n', "yaml: line 2: found unknown escape character"),
        (b"a: \x01", "yaml: control characters are not allowed"),
        (b"a: .inf", "json: unsupported value: +Inf"),
        (b"b: .nan\na: {c: [1, -.inf]}", "json: unsupported value: -Inf"),
        (b"~: 1", "unsupported map key of type: %!s(<nil>), key: <nil>, value: 1"),
        (b"%YAML 1.2\n---\na: 1\n", "yaml: found incompatible YAML document"),
        (b"# v\n%YAML 1.2\n---\na: 1\n", "yaml: line 1: found incompatible YAML document"),
    ],
)
def test_malformed_bodies(body: bytes, message: str) -> None:
    with pytest.raises(yaml_codec.MalformedYAMLError) as raised:
        yaml_codec.decode(body)
    assert raised.value.message == message
    assert raised.value.code == 400


def test_duplicate_keys() -> None:
    value, _, strict_errors = yaml_codec.decode_strict(b'a: 1\nb:\n  x: 1\n  x: 2\n  1: a\n  1: b\n"a":\n  c: 1\n')
    assert value == {"a": {"c": 1}, "b": {"x": 2, "1": "b"}}
    assert strict_errors == [
        'line 4: key "x" already set in map',
        "line 6: key 1 already set in map",
        'line 8: key "a" already set in map',
    ]
    assert yaml_codec.strict_error(strict_errors[:2]) == (
        'yaml: unmarshal errors:\n  line 4: key "x" already set in map\n  line 6: key 1 already set in map'
    )
    assert yaml_codec.decode_strict(b'{"a":1,"a":2}') == ({"a": 2}, False, ['line 1: key "a" already set in map'])


def test_alias_bombs_are_rejected() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 10)]
    with pytest.raises(yaml_codec.MalformedYAMLError, match="document contains excessive aliasing"):
        yaml_codec.decode("\n".join(lines).encode())


@pytest.mark.parametrize("body", [b"[" * 10001, b"{a: " * 10001, b"- " * 10001, b"[" * 10001 + b"]" * 10001])
def test_too_deep_bodies_are_rejected(body: bytes) -> None:
    with pytest.raises(yaml_codec.MalformedYAMLError):
        yaml_codec.decode(body)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (
            {"kind": "Status", "apiVersion": "v1", "metadata": {}, "code": 404},
            "apiVersion: v1\ncode: 404\nkind: Status\nmetadata: {}\n",
        ),
        (
            {"message": "found '(', expected: !, identifier, or 'end of string'"},
            "message: 'found ''('', expected: !, identifier, or ''end of string'''\n",
        ),
        (
            {"message": 'shelves.yaml-rest.example.com "oak" already exists'},
            'message: shelves.yaml-rest.example.com "oak" already exists\n',
        ),
        (
            {"message": "only the following media types are accepted: application/json;stream=watch, x/y;stream=watch"},
            "message: 'only the following media types are accepted: application/json;stream=watch,\n"
            "  x/y;stream=watch'\n",
        ),
        (
            {"t": "2024-01-01T00:00:00Z", "n": "7", "b": "yes", "l": [1, {"x": None}], "e": []},
            'b: "yes"\ne: []\nl:\n- 1\n- x: null\n"n": "7"\nt: "2024-01-01T00:00:00Z"\n',
        ),
        ({"a10": 1, "a2": 2, "-x": 3, "B": 4}, "-x: 3\nB: 4\na2: 2\na10: 1\n"),
        ({"text": "one\ntwo\n"}, "text: |\n  one\n  two\n"),
        ({"f": 1234567.5, "g": 1e21}, "f: 1.2345675e+06\ng: 1e+21\n"),
        ("word", "word\n"),
    ],
)
def test_encode(value: Any, text: str) -> None:
    assert yaml_codec.encode(value).decode() == text


scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(1 << 63), (1 << 63) - 1)
    | st.text(alphabet="ab1 :#-'\"\n.yné~{}[]", max_size=12)
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab1-n~", max_size=5), inner, max_size=3),
)


@pytest.mark.parametrize("text", ["...\n", "wait...\n", "a\n...\n", "...", "---\n", "a\n---\nb"])
def test_trailing_dots_are_kept(text: str) -> None:
    for value in (text, {"a": text}, [text]):
        assert yaml_codec.decode(yaml_codec.encode(value)) == value


@given(values)
def test_encode_decode_round_trip(value: Any) -> None:
    assert yaml_codec.decode(yaml_codec.encode(value)) == value


@given(values)
def test_json_decodes_alike_as_yaml(value: Any) -> None:
    assert yaml_codec.decode(b" " + json_codec.encode(value)) == value


@settings(deadline=None)
@given(st.text(alphabet="ab: -[]{}&*!|>'\"\n#?,<1~%", max_size=30))
def test_arbitrary_text_decodes_or_raises(text: str) -> None:
    try:
        value = yaml_codec.decode(text.encode())
    except yaml_codec.MalformedYAMLError:
        return
    json_codec.encode(value)


def test_backslash_solidus_outside_double_quotes() -> None:
    assert yaml_codec.decode(rb"""{"a": "\\/", 'b': '\/', c: x\/y}""") == {"a": "\\/", "b": "\\/", "c": "x\\/y"}


def test_json_with_yaml_differences() -> None:
    assert yaml_codec.decode('{"a": "x\u2028  y"}'.encode()) == {"a": "x\u2028y"}


@pytest.mark.parametrize("key", ['"%s"' % ("k" * 1023), '"%s"  ' % ("k" * 1021), '"a"\n', '"a" \r'])
def test_yaml_incompatible_json_keys_are_rejected(key: str) -> None:
    with pytest.raises(yaml_codec.MalformedYAMLError, match=r"did not find expected ',' or '}'"):
        yaml_codec.decode(f'{{"b":1,{key}:2}}'.encode())


def test_long_values_and_keys_within_limit() -> None:
    long, longer = "k" * 1022, "v" * 3000
    assert yaml_codec.decode(f'{{"{long}":"{longer}",\n"a":\n1}}'.encode()) == {long: longer, "a": 1}


def test_encode_ordered_keeps_order_and_long_lines() -> None:
    value = {"b": "word " * 30 + "end", "a": {"d": "on", "c": "012"}}
    text = f'b: {value["b"]}\na:\n  d: "on"\n  c: "012"\n'
    assert yaml_codec.encode_ordered(value).decode() == text
    assert yaml_codec.encode(value).decode().startswith("a:\n  c: ")
