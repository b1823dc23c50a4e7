from __future__ import annotations

from typing import Any

import pytest

from polykind.codec import yaml_scalar
from polykind.golang.fmt import go_float


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None),
        ("~", None),
        ("Null", None),
        ("yes", True),
        ("y", True),
        ("On", True),
        ("no", False),
        ("N", False),
        ("yEs", "yEs"),
        ("5", 5),
        ("-5", -5),
        ("+7", 7),
        ("1_000", 1000),
        ("0x1F", 31),
        ("0o17", 15),
        ("017", 15),
        ("08", 8.0),
        ("0b11", 3),
        ("-0b11", -3),
        ("0b2", "0b2"),
        ("1e3", 1000.0),
        (".5", 0.5),
        ("1.", 1.0),
        ("1e999", "1e999"),
        ("18446744073709551615", 18446744073709551615),
        ("18446744073709551616", 18446744073709551616.0),
        ("12:30:45", "12:30:45"),
        ("2024-01-01", "2024-01-01"),
        ("1.2.3", "1.2.3"),
        ("word", "word"),
    ],
)
def test_plain_scalars(text: str, value: Any) -> None:
    got = yaml_scalar.resolve_plain(text)
    assert got == value
    assert type(got) is type(value)


@pytest.mark.parametrize(
    ("tag", "text", "value"),
    [
        ("str", "5", "5"),
        ("float", "3", 3.0),
        ("bool", "yes", True),
        ("binary", "aGk=", "hi"),
        ("timestamp", "2024-01-01", "2024-01-01"),
    ],
)
def test_tagged_scalars(tag: str, text: str, value: Any) -> None:
    assert yaml_scalar.resolve_tagged(f"tag:yaml.org,2002:{tag}", text) == value


@pytest.mark.parametrize(
    ("tag", "text", "message"),
    [
        ("int", "x", "cannot decode !!str `x` as a !!int"),
        ("bool", "5", "cannot decode !!int `5` as a !!bool"),
        ("binary", "?", "!!binary value contains invalid base64 data"),
    ],
)
def test_mismatching_tags(tag: str, text: str, message: str) -> None:
    with pytest.raises(yaml_scalar.ScalarError) as raised:
        yaml_scalar.resolve_tagged(f"tag:yaml.org,2002:{tag}", text)
    assert str(raised.value) == message


@pytest.mark.parametrize(
    ("text", "quotes"),
    [
        ("", True),
        ("on", True),
        ("5", True),
        ("2024-01-01T00:00:00Z", True),
        ("2024-02-30", False),
        ("12:30:45", True),
        ("1.2.3", False),
        ("<<", False),
        ("word", False),
    ],
)
def test_needs_quotes(text: str, quotes: bool) -> None:
    assert yaml_scalar.needs_quotes(text) is quotes


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.5, "1.5"),
        (123456.0, "123456"),
        (1234567.5, "1.2345675e+06"),
        (1e21, "1e+21"),
        (1e-5, "1e-05"),
        (0.0001, "0.0001"),
    ],
)
def test_format_float_g(value: float, text: str) -> None:
    assert go_float(value) == text
