"""Validation of minimum, maximum and multipleOf.

As in kube-openapi, bounds are float64. For an integer value, a bound is truncated to an integer.
"""

from __future__ import annotations

import math
import struct
from typing import Any

from polykind.golang.fmt import go_float
from polykind.golang.strconv import float_to_int64, shortest_int
from polykind.schema.node import SchemaNode
from polykind.schema.validation_result import SchemaError, ValidationResult, invalid

_EPSILON = 1e-9
_MAX_EXACT = float(2**53 - 1)


def is_integral(value: float) -> bool:
    """True if kube-openapi accepts a float64 as an integer: it is below 2**53 and equals a whole number up to a
    rounding error.
    """
    if not -_MAX_EXACT <= value <= _MAX_EXACT:
        return False
    if value == int(value):
        return True
    if value < 0:
        return False
    whole = float(int(value))
    return whole != 0 and abs(value - whole) / (abs(value) + abs(whole)) < _EPSILON


def validate_number(node: SchemaNode, value: int | float, path: str) -> ValidationResult:
    """Validate a number against the numeric keywords of a node."""
    result = ValidationResult()
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        value = float(value) if abs(value) < 2**1023 else math.copysign(math.inf, value)
    for error in _range_errors(node, value, "Checked", path):
        result.add(error)
    if node.multiple_of is not None:
        _validate_multiple_of(node, value, path, result)
    if node.minimum is not None:
        _validate_bound(node, value, node.minimum, node.exclusive_minimum, -1, path, result)
    if node.maximum is not None:
        _validate_bound(node, value, node.maximum, node.exclusive_maximum, 1, path, result)
    result.match_count += 1
    return result


_RANGES = {"integer": ("int32", "int64"), "number": ("float", "double")}


def is_in_range(node: SchemaNode, value: int | float) -> bool:
    """True if a number lies in the range of the node's type and format."""
    if node.types == ("integer",):
        if isinstance(value, float):
            if value != value or value in (math.inf, -math.inf) or value != int(value):
                return False
            value = shortest_int(value)
        bits = 31 if node.format == "int32" else 63
        return bool(-(2**bits) <= value < 2**bits)
    if node.types == ("number",) and node.format == "float":
        try:
            struct.pack("<f", value)
        except OverflowError:
            return False
    return True


def _range_errors(node: SchemaNode, value: int | float, subject: str, path: str) -> list[SchemaError]:
    if is_in_range(node, value):
        return []
    # A format of another type does not limit the range, and the message does not name such a format.
    format_text = f"with format {node.format}" if node.format in _RANGES[node.types[0]] else "(default format)"
    return [SchemaError(f"{subject} value must be of type {node.types[0]} {format_text} in {path}")]


def _validate_multiple_of(node: SchemaNode, value: int | float, path: str, result: ValidationResult) -> None:
    factor = node.multiple_of
    assert factor is not None
    range_errors = _range_errors(node, factor, "MultipleOf", path)
    for error in range_errors:
        result.add(error)
    if isinstance(value, int) and not range_errors:
        step = float_to_int64(factor)
        if step <= 0:
            result.add(_not_positive(path, step, str(step)))
        elif value % step:
            result.add(invalid(path, value, f"should be a multiple of {step}"))
        return
    if factor <= 0:
        result.add(_not_positive(path, factor, go_float(factor)))
    elif not is_integral(1 / factor * value if factor < 1 else value / factor):
        result.add(invalid(path, float(value), f"should be a multiple of {go_float(factor)}"))


def _not_positive(path: str, factor: Any, limit_text: str) -> SchemaError:
    text = f"factor MultipleOf declared for {path} must be positive: {limit_text}"
    return SchemaError(text, "FieldValueInvalid", path, factor)


def _validate_bound(
    node: SchemaNode, value: int | float, bound: float, exclusive: bool, sign: int, path: str, result: ValidationResult
) -> None:
    """Validate a number against a maximum (`sign` is 1) or a minimum (`sign` is -1)."""
    range_errors = _range_errors(node, bound, "Maximum boundary" if sign > 0 else "Minimum boundary", path)
    for error in range_errors:
        result.add(error)
    limit: int | float = bound
    if isinstance(value, int):
        if range_errors:
            value = float(value)
        else:
            limit = float_to_int64(bound)
    beyond = value > limit if sign > 0 else value < limit
    if beyond or (exclusive and value == limit):
        word = "less than" if sign > 0 else "greater than"
        limit_text = str(limit) if isinstance(limit, int) else go_float(limit)
        text = f"should be {word}{'' if exclusive else ' or equal to'} {limit_text}"
        result.add(invalid(path, value, text))
