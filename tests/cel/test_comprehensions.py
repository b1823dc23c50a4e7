"""Runtime costs and errors of comprehensions, equal to those of cel-go."""

from __future__ import annotations

import pytest

from polykind.cel import environment
from polykind.contract import JsonObject
from tests.cel.support import declare, evaluate

SCHEMA: JsonObject = {
    "type": "object",
    "properties": {"l": {"type": "array", "maxItems": 5, "items": {"type": "integer"}}},
}


@pytest.mark.parametrize(
    ("text", "cost"),
    [
        ("self.l.all(x, x > 0)", 18),
        ("self.l.all(x, x < 3)", 18),
        ("self.l.all(x, x < 1)", 10),
        ("self.l.exists(x, x > 9)", 21),
        ("self.l.exists(x, x == 3)", 21),
        ("self.l.exists(x, x == 1)", 12),
        ("self.l.exists(i, x, x == 1)", 12),
    ],
)
def test_early_exit_charges_one_loop_condition(text: str, cost: int) -> None:
    decl_type, type_provider = declare(SCHEMA)
    compiled = environment.compile_rule(text, decl_type, type_provider, optional_old=False)
    assert compiled.program(decl_type).run({"l": [1, 2, 3]}, None).cost == cost


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("['1', 'a', 'b'].map(x, {'1': 1}[x])", "a"),
        ("['1', 'a', 'b'].filter(x, {'1': 1}[x] > 0)", "b"),
        ("['1', 'a', 'b'].exists_one(x, {'1': 1}[x] > 0)", "b"),
        ("['1', 'a', 'b'].map(x, {'1': 1}[x] > 0, x)", "b"),
        ("['1', 'a', 'b'].transformMap(i, x, {'1': 1}[x])", "a"),
        ("['1', 'a', 'b'].transformMap(i, x, {'1': 1}[x] > 0, x)", "b"),
        ("['1', 'a', 'b'].all(x, {'1': 1}[x] > 0)", "a"),
    ],
)
def test_error_of_a_comprehension(text: str, expected: str) -> None:
    """An error does not end the loop: a later failing predicate replaces it, a later failing item does not."""
    assert evaluate(text) == f"error: no such key: {expected}"
