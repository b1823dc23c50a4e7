"""Numbers: 64 bits wide, never wrapping around; conversions between the kinds."""

from __future__ import annotations

import math
import re
from decimal import Decimal

from polykind.cel.ast import UInt
from polykind.cel.evaluation_errors import EvalError

MIN_INT, MAX_INT, MAX_UINT = -(2**63), 2**63 - 1, 2**64 - 1
_integer = re.compile(r"[+-]?[0-9]+").fullmatch
_unsigned = re.compile(r"[0-9]+").fullmatch
_decimal = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?").fullmatch
_word = re.compile(r"[+-]?(?:inf|infinity|nan)", re.IGNORECASE).fullmatch
_HEX = re.compile(r"[+-]?0[xX][0-9a-fA-F]*\.?[0-9a-fA-F]*[pP][+-]?[0-9]+").fullmatch
_apart = re.compile(r"(?<![0-9a-fA-FxX])_|_(?![0-9a-fA-F])")
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


def subtract(left: int, right: int) -> int:
    return check_int(left - right)


def multiply(left: int, right: int) -> int:
    return check_int(left * right)


def negate(value: int) -> int:
    return check_int(-value)


def divide(left: int, right: int) -> int:
    """Cut towards zero."""
    if right == 0:
        raise EvalError("division by zero")
    quotient = abs(left) // abs(right)
    return check_int(quotient if (left < 0) == (right < 0) else -quotient)


def modulo(left: int, right: int) -> int:
    """With the sign of the dividend."""
    if right == 0:
        raise EvalError("modulus by zero")
    if left == MIN_INT and right == -1:
        raise EvalError("integer overflow")
    rest = abs(left) % abs(right)
    return rest if left >= 0 else -rest


def add_unsigned(left: int, right: int) -> UInt:
    return check_uint(int(left) + int(right))


def subtract_unsigned(left: int, right: int) -> UInt:
    return check_uint(int(left) - int(right))


def multiply_unsigned(left: int, right: int) -> UInt:
    return check_uint(int(left) * int(right))


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


def _mistaken(kind: str) -> EvalError:
    return EvalError(f"type conversion error from 'string' to '{kind}'")


def string_to_int(text: str) -> int:
    if len(text) > 400 or not _integer(text) or not MIN_INT <= int(text) <= MAX_INT:
        raise _mistaken("int")
    return int(text)


def string_to_uint(text: str) -> UInt:
    if len(text) > 400 or not _unsigned(text) or int(text) > MAX_UINT:
        raise _mistaken("uint")
    return UInt(int(text))


def string_to_double(text: str) -> float:
    if "_" in text:
        if _apart.search(text):
            raise _mistaken("double")
        text = text.replace("_", "")
    if _decimal(text) or _word(text):
        value = float(text)
        if value in (math.inf, -math.inf) and _decimal(text):
            raise _mistaken("double")
        return value
    if _HEX(text):
        try:
            return float.fromhex(text)
        except (ValueError, OverflowError):
            raise _mistaken("double") from None
    raise _mistaken("double")


def string_to_bool(text: str) -> bool:
    found = _BOOLS.get(text)
    if found is None:
        raise _mistaken("bool")
    return found


def double_to_string(value: float) -> str:
    """The shortest form; an exponent below 1e-4 and from 1e6 on."""
    if value != value:
        return "NaN"
    if value in (math.inf, -math.inf):
        return "+Inf" if value > 0 else "-Inf"
    sign, digits, power = Decimal(repr(value)).normalize().as_tuple()
    text = "".join(map(str, digits))
    exponent = len(text) + int(power) - 1
    shown = "-" if sign else ""
    if value == 0:
        return f"{shown}0"
    if exponent < -4 or exponent >= 6:
        fraction = f".{text[1:]}" if len(text) > 1 else ""
        return f"{shown}{text[0]}{fraction}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"
    return shown + format(Decimal(text).scaleb(int(power)), "f")
