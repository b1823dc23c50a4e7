"""Quantities of resources: 1500m, 2Gi, 1e3."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import ROUND_UP, Context, Decimal
from typing import Any, NamedTuple

from polykind.cel.evaluation_errors import EvalError
from polykind.cel.runtime_values import KIND_BY_CLASS, IncomparableValue

_FORMAT = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
_SUFFIX = "unable to parse quantity's suffix"
_NUMERIC = "unable to parse numeric part of quantity"
_shape = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?([eEinumkKMGTP]*[-+]?[0-9]*)").fullmatch
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_WIDE = Context(prec=400, Emax=999_999_999_999, Emin=-999_999_999_999)
_LONGEST = 300
_INT64 = range(-(2**63), 2**63)


class Quantity(NamedTuple):
    """An amount; `small` is the integer and power of ten it was read as, if both are small enough."""

    amount: Decimal
    small: tuple[int, int] | None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Quantity) and self.amount == other.amount

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self.amount)


class Computed(Quantity, IncomparableValue):
    """A quantity that was added up."""

    __slots__ = ()


KIND_BY_CLASS[Quantity] = KIND_BY_CLASS[Computed] = "kubernetes.Quantity"


def parse(text: str) -> Quantity:
    """Raises EvalError."""
    found = _shape(text)
    if not text or found is None:
        raise EvalError(_FORMAT)
    sign, whole, fraction, suffix = found[1], found[2].lstrip("0"), found[3] or "", found[4]
    binary = suffix in _BINARY
    if binary:
        exponent = _BINARY[suffix]
    elif suffix in _DECIMAL:
        exponent = _DECIMAL[suffix]
    elif len(suffix) > 1 and suffix[0] in "eE" and re.fullmatch(r"[+-]?[0-9]{1,9}", suffix[1:]):
        exponent = int(suffix[1:])
    else:
        raise EvalError(_SUFFIX)
    if len(whole) + len(fraction) > _LONGEST:
        raise EvalError(_NUMERIC)
    number = int((whole + fraction) or "0") * (-1 if sign == "-" else 1)
    if binary:
        amount = _WIDE.multiply(Decimal(number).scaleb(-len(fraction), _WIDE), Decimal(2**exponent))
        precision = 15 - max(len(whole), 1) - int(exponent * 3 / 10) - 1 if not fraction else -1
        small = (number * 2**exponent, 0)
    else:
        amount = Decimal(number).scaleb(exponent - len(fraction), _WIDE)
        precision = 18 - len(whole or "0") - len(fraction)
        small = (number, exponent - len(fraction))
    if precision < 0 or small[1] < -9 or small[0] not in _INT64:
        if not found[2] and not fraction:
            raise EvalError(_NUMERIC)
        if amount.adjusted() < _LONGEST:
            amount = amount.quantize(Decimal(1).scaleb(-9), ROUND_UP, _WIDE)
        if binary and abs(amount) > _INT64[-1]:
            amount = Decimal(_INT64[-1]).copy_sign(amount)
        return Quantity(amount, None)
    return Quantity(amount, small)


def _is_quantity(text: str) -> bool:
    try:
        parse(text)
    except EvalError:
        return False
    return True


def _integer(quantity: Quantity) -> int | None:
    if quantity.small is None or quantity.small[1] < 0:
        return None
    value = quantity.small[0] * 10 ** min(quantity.small[1], 40)
    return value if value in _INT64 else None


def _as_integer(quantity: Quantity) -> int:
    value = _integer(quantity)
    if value is None:
        raise EvalError("cannot convert value to integer")
    return value


def _compare(left: Quantity, right: Quantity) -> int:
    return int(_WIDE.compare(left.amount, right.amount))


def _combined(left: Quantity, right: Quantity | int, sign: int) -> Quantity:
    other = Quantity(Decimal(right), (right, 0)) if isinstance(right, int) else right
    amount = _WIDE.add(left.amount, _WIDE.multiply(other.amount, Decimal(sign)))
    small = None
    if left.small is not None and other.small is not None and not (left.small[0] and other.small[0]):
        small = left.small if left.small[0] else (sign * other.small[0], other.small[1])
    elif left.small is not None and other.small is not None:
        scale = min(left.small[1], other.small[1])
        apart = max(left.small[1], other.small[1]) - scale
        if apart <= 40:
            one, two = (value * 10 ** (power - scale) for value, power in (left.small, other.small))
            total = one + sign * two
            small = (total, scale) if total in _INT64 else None
    return Computed(amount, small)


def _float(quantity: Quantity) -> float:
    """The digits times a power of ten, which is not always the nearest number."""
    if quantity.small is not None:
        digits, exponent = quantity.small
    else:
        _, _, exponent = quantity.amount.as_tuple()  # type: ignore[assignment]
        digits = int(quantity.amount.scaleb(-exponent, _WIDE))
    return float(digits) * float(f"1e{exponent}") if exponent else float(digits)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "string_to_quantity": parse,
    "is_quantity_string": _is_quantity,
    "quantity_sign": lambda quantity: (quantity.amount > 0) - (quantity.amount < 0),
    "quantity_is_greater_than": lambda a, b: _compare(a, b) > 0,
    "quantity_is_less_than": lambda a, b: _compare(a, b) < 0,
    "quantity_compare_to": _compare,
    "quantity_get_float": _float,
    "quantity_get_int": _as_integer,
    "quantity_is_integer": lambda quantity: _integer(quantity) is not None,
    "quantity_add": lambda a, b: _combined(a, b, 1),
    "quantity_add_int": lambda a, b: _combined(a, b, 1),
    "quantity_sub": lambda a, b: _combined(a, b, -1),
    "quantity_sub_int": lambda a, b: _combined(a, b, -1),
}
