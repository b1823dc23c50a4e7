"""JSON values as Go's fmt writes them: %v and %T."""

from __future__ import annotations

from typing import Any

from polykind.golang.text import go_float

_TYPES = {
    dict: "map[string]interface {}",
    list: "[]interface {}",
    str: "string",
    bool: "bool",
    int: "int64",
    float: "float64",
    type(None): "<nil>",
}


def go_type(value: Any) -> str:
    return _TYPES.get(type(value), "interface {}")


def go_print(value: Any, depth: int = 100) -> str:
    """The value as %v; what lies deeper than `depth` is cut."""
    if value is None:
        return "<nil>"
    if value is True or value is False:
        return "true" if value else "false"
    if isinstance(value, float):
        return go_float(value)
    if isinstance(value, list):
        return f"[{' '.join(go_print(item, depth - 1) for item in value)}]" if depth else "[...]"
    if isinstance(value, dict):
        if not depth:
            return "map[...]"
        return f"map[{' '.join(f'{key}:{go_print(value[key], depth - 1)}' for key in sorted(value))}]"
    return str(value)
