"""Expressions over small schemas, for the tables of the other tests."""

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


def declared(schema: JsonObject) -> tuple[DeclType, DeclTypeProvider]:
    registry = DeclTypeProvider()
    found = registry.declare(schema, "selfType1")
    assert found is not None
    return found, registry


def problems(text: str, schema: JsonObject = SCHEMA) -> tuple[str, ...]:
    """What is wrong with an expression: the first line of each complaint, without what all have in common."""
    told = environment.compile_rule(text, *declared(schema), optional_old=False).errors
    return tuple(
        line.removeprefix("ERROR: <input>:") for line in told.split("\n") if line.startswith("ERROR: <input>:")
    )


def value_of(text: str, schema: JsonObject | None = None, value: Any = 1) -> Any:
    """An expression's value; its error as a text if it has none."""
    found, registry = declared(schema or {"type": "integer"})
    checked = environment.compile_rule(text, found, registry, optional_old=False)
    assert checked.ast is not None, checked.errors
    outcome = checked.program(found).run(value, None)
    return outcome.value if outcome.error is None else f"error: {outcome.error}"


def judged(schema: JsonObject, obj: JsonObject, old: JsonObject | None = None) -> list[str]:
    """What an object's rules say, warnings last and marked."""
    rules = compile_schema(schema)
    assert rules is not None
    errors, warnings = rules.validate(obj, old)
    return [str(error) for error in errors] + [f"warning: {text}" for text in warnings]
