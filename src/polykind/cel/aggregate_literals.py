"""Closures that construct lists, maps and structs from literals."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from typing import Any

from polykind.cel.activation import Closure, Frame, Plan
from polykind.cel.evaluation_errors import EvalError
from polykind.cel.runtime_values import Optional
from polykind.cel.to_native import value_string


def list_literal(items: Sequence[Closure], optional: Container[int], list_class: type[list[Any]]) -> Closure:
    """Return a closure that builds a list. An item at an `optional` index is left out if its value is absent."""
    if not optional:
        if list_class is not list:
            return lambda frame: list_class([item(frame) for item in items])
        return lambda frame: [item(frame) for item in items]

    def construct(frame: Frame) -> list[Any]:
        result = list_class()
        for index, item in enumerate(items):
            value = item(frame)
            if index not in optional:
                result.append(value)
            elif value.present:
                result.append(value.value)
        return result

    return construct


def map_literal(entries: Sequence[tuple[Plan, Plan, bool]], map_class: type[dict[Any, Any]]) -> Closure:
    """Return a closure that builds a map from (key, value, optional) entries. Absent optional entries are left out."""

    def construct(frame: Frame) -> dict[Any, Any]:
        result = map_class()
        for key_plan, value_plan, optional in entries:
            key, value = key_plan.run(frame), value_plan.run(frame)
            if optional:
                if not value.present:
                    continue
                value = value.value
            result[key] = value
        return result

    return construct


def struct_literal(construct: Callable[[dict[str, Any]], Any], fields: Sequence[tuple[str, Plan, bool]]) -> Closure:
    """Return a closure that builds a struct from (name, value, optional) fields, without absent optional fields."""

    def evaluate(frame: Frame) -> Any:
        values: dict[str, Any] = {}
        for name, plan, optional in fields:
            value = plan.run(frame)
            if optional:
                if not isinstance(value, Optional):
                    message = f"cannot initialize optional entry '{name}' from non-optional value"
                    raise EvalError(f"{message} {value_string(value)}")
                if not value.present:
                    values.pop(name, None)
                    continue
                value = value.value
            values[name] = value
        return construct(values)

    return evaluate
