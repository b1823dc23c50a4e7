"""Helpers that compile and evaluate expressions over small schemas."""

from __future__ import annotations

from typing import Any

from polykind.cel import compile_schema, environment
from polykind.cel.schema_types import DeclType, DeclTypeProvider
from polykind.contract import JsonObject

SCHEMA: JsonObject = {
    "type": "object",
    "properties": {
        "a": {"type": "string"},
        "b": {"type": "integer"},
        "l": {"type": "array", "maxItems": 5, "items": {"type": "string", "maxLength": 5}},
    },
}


def declare(schema: JsonObject) -> tuple[DeclType, DeclTypeProvider]:
    type_provider = DeclTypeProvider()
    decl_type = type_provider.declare(schema, "selfType1")
    assert decl_type is not None
    return decl_type, type_provider


def compile_errors(text: str, schema: JsonObject = SCHEMA) -> tuple[str, ...]:
    """Return the first line of each compile error without the common prefix."""
    errors = environment.compile_rule(text, *declare(schema), optional_old=False).errors
    return tuple(
        line.removeprefix("ERROR: <input>:") for line in errors.split("\n") if line.startswith("ERROR: <input>:")
    )


def evaluate(text: str, schema: JsonObject | None = None, value: Any = 1) -> Any:
    """Return the value of an expression, or its error as a string."""
    decl_type, type_provider = declare(schema or {"type": "integer"})
    compiled = environment.compile_rule(text, decl_type, type_provider, optional_old=False)
    assert compiled.ast is not None, compiled.errors
    result = compiled.program(decl_type).run(value, None)
    return result.value if result.error is None else f"error: {result.error}"


def violations(schema: JsonObject, obj: JsonObject, old: JsonObject | None = None) -> list[str]:
    """Return the violations of an object's rules, then the warnings with a prefix."""
    rules = compile_schema(schema)
    assert rules is not None
    errors, warnings = rules.validate(obj, old)
    return [str(error) for error in errors] + [f"warning: {text}" for text in warnings]
