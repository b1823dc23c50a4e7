"""Tests of resource quantities: texts, comparison and arithmetic as in apimachinery."""

from __future__ import annotations

import pytest

from polykind.quantity import BINARY_SI, Quantity, QuantityError, parse_quantity


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("0", "0"),
        ("0m", "0"),
        ("000", "0"),
        ("0.5", "500m"),
        ("1.5", "1500m"),
        ("1.500", "1.500"),
        ("1000m", "1"),
        ("1001m", "1001m"),
        ("+5", "+5"),
        ("0100", "0100"),
        ("-1.5", "-1500m"),
        ("1000", "1k"),
        ("100000", "100k"),
        ("1500", "1500"),
        ("1024Mi", "1Gi"),
        ("1025Mi", "1025Mi"),
        ("0.5Gi", "512Mi"),
        ("1.5Gi", "1536Mi"),
        ("0.5Ki", "512"),
        ("0.0001Ki", "102400u"),
        ("1e3", "1e3"),
        ("1E3", "1E3"),
        ("1000e3", "1e6"),
        ("12e1", "120"),
        ("0.1n", "1n"),
        ("16Ei", "9223372036854775807"),
        ("1000E", "1"),
        ("123456789012345678901", "123456789012345678901"),
    ],
)
def test_canonical_text(text: str, canonical: str) -> None:
    assert parse_quantity(text).canonical() == canonical


@pytest.mark.parametrize("text", ["", "a", "1 ", "1Zi", "1.2.3", "--1", "1e", "1ki", "e"])
def test_invalid_text(text: str) -> None:
    with pytest.raises(QuantityError):
        parse_quantity(text)


def test_comparison_ignores_the_format() -> None:
    assert parse_quantity("1") == parse_quantity("1000m")
    assert hash(parse_quantity("1")) == hash(parse_quantity("1000m"))
    assert parse_quantity("1Ki") > parse_quantity("1k")
    assert parse_quantity("999m") < parse_quantity("1") <= parse_quantity("1.0")


@pytest.mark.parametrize(
    ("left", "right", "total", "difference"),
    [
        ("1", "500m", "1500m", "500m"),
        ("1Gi", "512Mi", "1536Mi", "512Mi"),
        ("0", "1Gi", "1Gi", "-1Gi"),
        ("1Gi", "1", "1073741825", "1073741823"),
        ("9E", "9E", "18E", "0"),
    ],
)
def test_arithmetic(left: str, right: str, total: str, difference: str) -> None:
    one, two = parse_quantity(left), parse_quantity(right)
    assert (str(one + two), str(one - two)) == (total, difference)


def test_multiplication_and_negation() -> None:
    assert str(parse_quantity("100m") * 15) == "1500m"
    assert str(-parse_quantity("1Gi")) == "-1Gi"


@pytest.mark.parametrize(
    ("text", "value", "milli"),
    [("1500m", 2, 1500), ("-1500m", -2, -1500), ("1n", 1, 1), ("2Ki", 2048, 2048000), ("-0.0000000001", 1, 1)],
)
def test_rounded_values(text: str, value: int, milli: int) -> None:
    assert (parse_quantity(text).value(), parse_quantity(text).milli_value()) == (value, milli)


@pytest.mark.parametrize(
    ("text", "value", "milli"),
    [
        ("1e300", 0, 0),
        ("9e18", 9 * 10**18, 0),
        ("9223372036854775807", 2**63 - 1, -1000),
        ("9223372036854775808", -(2**63), 0),
        ("-99999999999999999999", -7886392054, -7886392055513),
        ("-6Pi", 1152921505, 1152921504607),
        ("80248459368627495", 80248459368627495, 6461483073789288536),
        ("123456789012345678901e70", 0, 0),
    ],
)
def test_values_that_do_not_fit_overflow_as_in_go(text: str, value: int, milli: int) -> None:
    assert (parse_quantity(text).value(), parse_quantity(text).milli_value()) == (value, milli)


def test_quantities_of_numbers() -> None:
    assert str(Quantity.of(2048, BINARY_SI)) == "2Ki"
    assert str(Quantity.of_milli(1500)) == "1500m"
