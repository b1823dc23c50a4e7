"""The quantity library: resource quantities such as 1500m, 2Gi and 1e3."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from polykind.cel.evaluation_errors import EvalError, is_valid
from polykind.cel.runtime_values import KIND_BY_CLASS, IncomparableValue
from polykind.quantity import Quantity, QuantityError, parse_quantity


class Computed(Quantity, IncomparableValue):
    """The result of add() or sub(). In kube-apiserver it is a Go pointer, which cannot be the right operand of ==."""

    __slots__ = ()


KIND_BY_CLASS[Quantity] = KIND_BY_CLASS[Computed] = "kubernetes.Quantity"


def parse(text: str) -> Quantity:
    """Parse a quantity. Raise EvalError if the text is invalid."""
    try:
        return parse_quantity(text)
    except QuantityError as error:
        raise EvalError(str(error)) from None


def _as_integer(quantity: Quantity) -> int:
    value = quantity.as_int64()
    if value is None:
        raise EvalError("cannot convert value to integer")
    return value


def _add(left: Quantity, right: Quantity | int) -> Quantity:
    return _computed(left + (Quantity.of(right) if isinstance(right, int) else right))


def _subtract(left: Quantity, right: Quantity | int) -> Quantity:
    return _computed(left - (Quantity.of(right) if isinstance(right, int) else right))


def _computed(quantity: Quantity) -> Computed:
    return Computed(quantity.amount, quantity.int64_amount, quantity.format)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "quantity string_to_quantity string -> quantity": parse,
    "isQuantity is_quantity_string string -> bool": is_valid(parse),
    "sign quantity_sign quantity -> int": lambda quantity: quantity.sign,
    ".isGreaterThan quantity_is_greater_than quantity quantity -> bool": lambda a, b: a > b,
    ".isLessThan quantity_is_less_than quantity quantity -> bool": lambda a, b: a < b,
    ".compareTo quantity_compare_to quantity quantity -> int": lambda a, b: a.compare(b),
    ".asApproximateFloat quantity_get_float quantity -> double": lambda quantity: quantity.approximate_float(),
    ".asInteger quantity_get_int quantity -> int": _as_integer,
    ".isInteger quantity_is_integer quantity -> bool": lambda quantity: quantity.as_int64() is not None,
    ".add quantity_add quantity quantity -> quantity": _add,
    ".add quantity_add_int quantity int -> quantity": _add,
    ".sub quantity_sub quantity quantity -> quantity": _subtract,
    ".sub quantity_sub_int quantity int -> quantity": _subtract,
}
