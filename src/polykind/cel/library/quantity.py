"""The quantity library: resource quantities such as 1500m, 2Gi and 1e3."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import ROUND_UP, Context, Decimal
from typing import Any, NamedTuple

from polykind.cel.evaluation_errors import EvalError, is_valid
from polykind.cel.runtime_values import KIND_BY_CLASS, IncomparableValue

_FORMAT_ERROR = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
_SUFFIX_ERROR = "unable to parse quantity's suffix"
_NUMERIC_ERROR = "unable to parse numeric part of quantity"
_parse_parts = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?([eEinumkKMGTP]*[-+]?[0-9]*)").fullmatch
_DECIMAL_SUFFIXES = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY_SUFFIXES = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_CONTEXT = Context(prec=400, Emax=999_999_999_999, Emin=-999_999_999_999)
_MAX_DIGITS = 300
_INT64 = range(-(2**63), 2**63)


class Quantity(NamedTuple):
    """A resource quantity.

    `int64_amount` holds the integer and power of ten of kube-apiserver's fast path, or None if they do not fit.
    """

    amount: Decimal
    int64_amount: tuple[int, int] | None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Quantity) and self.amount == other.amount

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self.amount)


class Computed(Quantity, IncomparableValue):
    """The result of add() or sub(). kube-apiserver returns it as a pointer."""

    __slots__ = ()


KIND_BY_CLASS[Quantity] = KIND_BY_CLASS[Computed] = "kubernetes.Quantity"


def parse(text: str) -> Quantity:
    """Parse a quantity as apimachinery's resource.ParseQuantity does. Raises EvalError if the text is invalid."""
    match = _parse_parts(text)
    if not text or match is None:
        raise EvalError(_FORMAT_ERROR)
    sign, integer, fraction, suffix = match[1], match[2].lstrip("0"), match[3] or "", match[4]
    binary = suffix in _BINARY_SUFFIXES
    if binary:
        exponent = _BINARY_SUFFIXES[suffix]
    elif suffix in _DECIMAL_SUFFIXES:
        exponent = _DECIMAL_SUFFIXES[suffix]
    elif len(suffix) > 1 and suffix[0] in "eE" and re.fullmatch(r"[+-]?[0-9]{1,9}", suffix[1:]):
        exponent = int(suffix[1:])
    else:
        raise EvalError(_SUFFIX_ERROR)
    if len(integer) + len(fraction) > _MAX_DIGITS:
        raise EvalError(_NUMERIC_ERROR)
    number = int((integer + fraction) or "0") * (-1 if sign == "-" else 1)
    if binary:
        amount = _CONTEXT.multiply(Decimal(number).scaleb(-len(fraction), _CONTEXT), Decimal(2**exponent))
        precision = 15 - max(len(integer), 1) - int(exponent * 3 / 10) - 1 if not fraction else -1
        int64_amount = (number * 2**exponent, 0)
    else:
        amount = Decimal(number).scaleb(exponent - len(fraction), _CONTEXT)
        precision = 18 - len(integer or "0") - len(fraction)
        int64_amount = (number, exponent - len(fraction))
    if precision < 0 or int64_amount[1] < -9 or int64_amount[0] not in _INT64:
        if not match[2] and not fraction:
            raise EvalError(_NUMERIC_ERROR)
        if amount.adjusted() < _MAX_DIGITS:
            amount = amount.quantize(Decimal(1).scaleb(-9), ROUND_UP, _CONTEXT)
        if binary and abs(amount) > _INT64[-1]:
            amount = Decimal(_INT64[-1]).copy_sign(amount)
        return Quantity(amount, None)
    return Quantity(amount, int64_amount)


def _integer(quantity: Quantity) -> int | None:
    if quantity.int64_amount is None or quantity.int64_amount[1] < 0:
        return None
    value = quantity.int64_amount[0] * 10 ** min(quantity.int64_amount[1], 40)
    return value if value in _INT64 else None


def _as_integer(quantity: Quantity) -> int:
    value = _integer(quantity)
    if value is None:
        raise EvalError("cannot convert value to integer")
    return value


def _compare(left: Quantity, right: Quantity) -> int:
    return int(_CONTEXT.compare(left.amount, right.amount))


def _add(left: Quantity, right: Quantity | int, sign: int) -> Quantity:
    other = Quantity(Decimal(right), (right, 0)) if isinstance(right, int) else right
    amount = _CONTEXT.add(left.amount, _CONTEXT.multiply(other.amount, Decimal(sign)))
    int64_amount = None
    if (
        left.int64_amount is not None
        and other.int64_amount is not None
        and not (left.int64_amount[0] and other.int64_amount[0])
    ):
        int64_amount = (
            left.int64_amount if left.int64_amount[0] else (sign * other.int64_amount[0], other.int64_amount[1])
        )
    elif left.int64_amount is not None and other.int64_amount is not None:
        scale = min(left.int64_amount[1], other.int64_amount[1])
        scale_difference = max(left.int64_amount[1], other.int64_amount[1]) - scale
        if scale_difference <= 40:
            one, two = (value * 10 ** (power - scale) for value, power in (left.int64_amount, other.int64_amount))
            total = one + sign * two
            int64_amount = (total, scale) if total in _INT64 else None
    return Computed(amount, int64_amount)


def _float(quantity: Quantity) -> float:
    """Return the digits times a power of ten, computed as Go does. The result is not always the nearest double."""
    if quantity.int64_amount is not None:
        digits, exponent = quantity.int64_amount
    else:
        _, _, exponent = quantity.amount.as_tuple()  # type: ignore[assignment]
        digits = int(quantity.amount.scaleb(-exponent, _CONTEXT))
    return float(digits) * float(f"1e{exponent}") if exponent else float(digits)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "quantity string_to_quantity string -> quantity": parse,
    "isQuantity is_quantity_string string -> bool": is_valid(parse),
    "sign quantity_sign quantity -> int": lambda quantity: (quantity.amount > 0) - (quantity.amount < 0),
    ".isGreaterThan quantity_is_greater_than quantity quantity -> bool": lambda a, b: _compare(a, b) > 0,
    ".isLessThan quantity_is_less_than quantity quantity -> bool": lambda a, b: _compare(a, b) < 0,
    ".compareTo quantity_compare_to quantity quantity -> int": _compare,
    ".asApproximateFloat quantity_get_float quantity -> double": _float,
    ".asInteger quantity_get_int quantity -> int": _as_integer,
    ".isInteger quantity_is_integer quantity -> bool": lambda quantity: _integer(quantity) is not None,
    ".add quantity_add quantity quantity -> quantity": lambda a, b: _add(a, b, 1),
    ".add quantity_add_int quantity int -> quantity": lambda a, b: _add(a, b, 1),
    ".sub quantity_sub quantity quantity -> quantity": lambda a, b: _add(a, b, -1),
    ".sub quantity_sub_int quantity int -> quantity": lambda a, b: _add(a, b, -1),
}
