"""The numeric keywords, with the reference's arithmetic: bounds are float64, and meet an integer truncated to int64."""

from __future__ import annotations

import math
import struct
from typing import Any

from polykind.golang.fmt import go_float
from polykind.golang.strconv import float_to_int64, shortest_int
from polykind.schema.node import SchemaNode
from polykind.schema.validation_result import SchemaError, ValidationResult, invalid

_EPSILON = 1e-9
_MOST = float(2**53 - 1)


def is_integral(value: float) -> bool:
    """Whether a float64 counts as an integer: within 2**53, and near enough to a whole number."""
    if not -_MOST <= value <= _MOST:
        return False
    if value == int(value):
        return True
    if value < 0:
        return False
    whole = float(int(value))
    return whole != 0 and abs(value - whole) / (abs(value) + abs(whole)) < _EPSILON


def check_number(node: SchemaNode, value: int | float, path: str) -> ValidationResult:
    found = ValidationResult()
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        value = float(value) if abs(value) < 2**1023 else math.copysign(math.inf, value)
    for fault in _range_faults(node, value, "Checked", path):
        found.add(fault)
    if node.multiple_of is not None:
        _multiple(node, value, path, found)
    if node.minimum is not None:
        _bound(node, value, node.minimum, node.exclusive_minimum, -1, path, found)
    if node.maximum is not None:
        _bound(node, value, node.maximum, node.exclusive_maximum, 1, path, found)
    found.match_count += 1
    return found


_RANGES = {"integer": ("int32", "int64"), "number": ("float", "double")}


def is_in_range(node: SchemaNode, value: int | float) -> bool:
    """Whether a number lies in the range of the node's type and format."""
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


def _range_faults(node: SchemaNode, value: int | float, what: str, path: str) -> list[SchemaError]:
    if is_in_range(node, value):
        return []
    # Only a type's own formats bound its numbers; any other is not even told.
    form = f"with format {node.format}" if node.format in _RANGES[node.types[0]] else "(default format)"
    return [SchemaError(f"{what} value must be of type {node.types[0]} {form} in {path}")]


def _multiple(node: SchemaNode, value: int | float, path: str, found: ValidationResult) -> None:
    factor = node.multiple_of
    assert factor is not None
    strange = _range_faults(node, factor, "MultipleOf", path)
    for fault in strange:
        found.add(fault)
    if isinstance(value, int) and not strange:
        step = float_to_int64(factor)
        if step <= 0:
            found.add(_not_positive(path, step, str(step)))
        elif value % step:
            found.add(invalid(path, value, f"should be a multiple of {step}"))
        return
    if factor <= 0:
        found.add(_not_positive(path, factor, go_float(factor)))
    elif not is_integral(1 / factor * value if factor < 1 else value / factor):
        found.add(invalid(path, float(value), f"should be a multiple of {go_float(factor)}"))


def _not_positive(path: str, factor: Any, shown: str) -> SchemaError:
    text = f"factor MultipleOf declared for {path} must be positive: {shown}"
    return SchemaError(text, "FieldValueInvalid", path, factor)


def _bound(
    node: SchemaNode, value: int | float, bound: float, exclusive: bool, sign: int, path: str, found: ValidationResult
) -> None:
    """Check a maximum (sign 1) or a minimum (sign -1)."""
    strange = _range_faults(node, bound, "Maximum boundary" if sign > 0 else "Minimum boundary", path)
    for fault in strange:
        found.add(fault)
    limit: int | float = bound
    if isinstance(value, int):
        if strange:
            value = float(value)
        else:
            limit = float_to_int64(bound)
    beyond = value > limit if sign > 0 else value < limit
    if beyond or (exclusive and value == limit):
        word = "less than" if sign > 0 else "greater than"
        shown = str(limit) if isinstance(limit, int) else go_float(limit)
        text = f"should be {word}{'' if exclusive else ' or equal to'} {shown}"
        found.add(invalid(path, value, text))
