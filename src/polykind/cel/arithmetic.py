"""Arithmetic on 64-bit numbers with overflow errors, and conversions between number types."""

from __future__ import annotations

import math
import re

from polykind.cel.ast import UInt
from polykind.cel.evaluation_errors import EvalError
from polykind.golang.strconv import fixed_point, scientific, shortest_decimal

MIN_INT, MAX_INT, MAX_UINT = -(2**63), 2**63 - 1, 2**64 - 1
_is_decimal_int = re.compile(r"[+-]?[0-9]+").fullmatch
_is_decimal_uint = re.compile(r"[0-9]+").fullmatch
_is_decimal_float = re.compile(r"[+-]?(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][+-]?[0-9]+)?").fullmatch
_is_inf_or_nan = re.compile(r"[+-]?(?:inf|infinity|nan)", re.IGNORECASE).fullmatch
_is_hex_float = re.compile(r"[+-]?0[xX][0-9a-fA-F]*+(?:\.[0-9a-fA-F]*+)?[pP][+-]?[0-9]+").fullmatch
_misplaced_underscore = re.compile(r"(?<![0-9a-fA-FxX])_|_(?![0-9a-fA-F])")
_BOOLS = {
    **dict.fromkeys(("1", "t", "T", "true", "TRUE", "True"), True),
    **dict.fromkeys(("0", "f", "F", "false", "FALSE", "False"), False),
}


def check_int(value: int) -> int:
    if MIN_INT <= value <= MAX_INT:
        return value
    raise EvalError("integer overflow")


def check_uint(value: int) -> UInt:
    if 0 <= value <= MAX_UINT:
        return UInt(value)
    raise EvalError("unsigned integer overflow")


def add(left: int, right: int) -> int:
    return check_int(left + right)


def divide(left: int, right: int) -> int:
    """Divide and truncate towards zero, as Go does."""
    if right == 0:
        raise EvalError("division by zero")
    quotient = abs(left) // abs(right)
    return check_int(quotient if (left < 0) == (right < 0) else -quotient)


def modulo(left: int, right: int) -> int:
    """Return the remainder of a division with the sign of the dividend, as Go does."""
    if right == 0:
        raise EvalError("modulus by zero")
    if left == MIN_INT and right == -1:
        raise EvalError("integer overflow")
    remainder = abs(left) % abs(right)
    return remainder if left >= 0 else -remainder


def add_unsigned(left: int, right: int) -> UInt:
    return check_uint(int(left) + int(right))


def divide_unsigned(left: int, right: int) -> UInt:
    if right == 0:
        raise EvalError("division by zero")
    return UInt(int(left) // int(right))


def modulo_unsigned(left: int, right: int) -> UInt:
    if right == 0:
        raise EvalError("modulus by zero")
    return UInt(int(left) % int(right))


def divide_double(left: float, right: float) -> float:
    if right != 0:
        return left / right
    if left == 0 or left != left:
        return math.nan
    return math.copysign(math.inf, left) * math.copysign(1, right)


def double_to_int(value: float) -> int:
    if value != value or not -(2.0**63) < value < 2.0**63:
        raise EvalError("integer overflow")
    return int(value)


def double_to_uint(value: float) -> UInt:
    if value != value or not 0 <= value < 2.0**64:
        raise EvalError("unsigned integer overflow")
    return UInt(int(value))


def _conversion_error(kind: str) -> EvalError:
    return EvalError(f"type conversion error from 'string' to '{kind}'")


def string_to_int(text: str) -> int:
    if len(text) > 400 or not _is_decimal_int(text) or not MIN_INT <= int(text) <= MAX_INT:
        raise _conversion_error("int")
    return int(text)


def string_to_uint(text: str) -> UInt:
    if len(text) > 400 or not _is_decimal_uint(text) or int(text) > MAX_UINT:
        raise _conversion_error("uint")
    return UInt(int(text))


def string_to_double(text: str) -> float:
    if "_" in text:
        if _misplaced_underscore.search(text):
            raise _conversion_error("double")
        text = text.replace("_", "")
    if _is_decimal_float(text) or _is_inf_or_nan(text):
        value = float(text)
        if value in (math.inf, -math.inf) and _is_decimal_float(text):
            raise _conversion_error("double")
        return value
    if _is_hex_float(text):
        try:
            return float.fromhex(text)
        except (ValueError, OverflowError):
            raise _conversion_error("double") from None
    raise _conversion_error("double")


def string_to_bool(text: str) -> bool:
    value = _BOOLS.get(text)
    if value is None:
        raise _conversion_error("bool")
    return value


def double_to_string(value: float) -> str:
    """Return the shortest decimal form. Like Go's %g, use an exponent for numbers below 1e-4 and from 1e6 on."""
    if value != value:
        return "NaN"
    if value in (math.inf, -math.inf):
        return "+Inf" if value > 0 else "-Inf"
    sign, digits, power = shortest_decimal(value)
    if -4 <= power < 6:
        return sign + fixed_point(digits, power)
    return f"{sign}{scientific(digits)}e{power:+03d}"
