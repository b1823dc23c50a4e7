from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polykind.codec import json_syntax

BEGIN = "looking for beginning of value"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "unexpected end of JSON input"),
        (b"  ", "unexpected end of JSON input"),
        (b"{", "unexpected end of JSON input"),
        (b'{"a":1', "unexpected end of JSON input"),
        (b'"abc', "unexpected end of JSON input"),
        (b"x", f"invalid character 'x' {BEGIN}"),
        (b"'a'", f"invalid character '\\'' {BEGIN}"),
        (b"[,]", f"invalid character ',' {BEGIN}"),
        (b"[1,]", f"invalid character ']' {BEGIN}"),
        (b"\xef\xbb\xbf{}", f"invalid character 'ï' {BEGIN}"),
        (b"\x00", f"invalid character '\\x00' {BEGIN}"),
        (b"{a:1}", "invalid character 'a' looking for beginning of object key string"),
        (b'{"a":1,}', "invalid character '}' looking for beginning of object key string"),
        (b'{"a" 1}', "invalid character '1' after object key"),
        (b'{"a":1 "b"}', "invalid character '\"' after object key:value pair"),
        (b"[1 2]", "invalid character '2' after array element"),
        (b"{} {}", "invalid character '{' after top-level value"),
        (b"01", "invalid character '1' after top-level value"),
        (b'"a\nb"', "invalid character '\\n' in string literal"),
        (b'"\\x"', "invalid character 'x' in string escape code"),
        (b'"\\u12g4"', "invalid character 'g' in \\u hexadecimal character escape"),
        (b"-", "invalid character ' ' in numeric literal"),
        (b"-x", "invalid character 'x' in numeric literal"),
        (b"1.}", "invalid character '}' after decimal point in numeric literal"),
        (b"1e+", "invalid character ' ' in exponent of numeric literal"),
        (b"tru", "invalid character ' ' in literal true (expecting 'e')"),
        (b"nil", "invalid character 'i' in literal null (expecting 'u')"),
        (b"[" * 10001, "invalid character '[' exceeded max depth"),
    ],
)
def test_syntax_errors(body: bytes, message: str) -> None:
    assert json_syntax.syntax_error(body) == message


@pytest.mark.parametrize(
    "body", [b"{}", b" [ ] ", b"0", b"-0.5E-7", b'{"a":{"b":[{},[],1]}}', b"[" * 10000 + b"]" * 10000]
)
def test_valid_json_has_no_syntax_error(body: bytes) -> None:
    assert json_syntax.syntax_error(body) is None


@given(st.text(alphabet='{}[],:"\\u0e.-1tn \n', max_size=15))
def test_agrees_with_standard_library(text: str) -> None:
    try:
        json.loads(text, parse_constant=lambda name: pytest.fail(name))
    except ValueError:
        assert json_syntax.syntax_error(text.encode()) is not None
    else:
        assert json_syntax.syntax_error(text.encode()) is None


def test_duplicate_keys() -> None:
    body = b'{"a":1,"b":[{"x":1,"x":[{"y":0,"y":0}]}],"a":{"c":1,"\\u0063":2},"a":3}'
    assert json_syntax.duplicate_keys(body) == ["b[0].x", "b[0].x[0].y", "a", "a.c"]
    assert json_syntax.duplicate_keys(b'[[{"x":"x","y":"}"}],{"x":1}]') == []
