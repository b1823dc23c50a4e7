"""What macros that go over lists spend, to the unit: an evaluation is ended by it."""

from __future__ import annotations

import pytest

from polykind.cel import environment
from polykind.contract import JsonObject
from tests.cel.support import declared, value_of

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
def test_who_stops_before_the_end_has_asked_whether_to_go_on(text: str, cost: int) -> None:
    found, registry = declared(SCHEMA)
    checked = environment.compile_rule(text, found, registry, optional_old=False)
    assert checked.program(found).run({"l": [1, 2, 3]}, None).cost == cost


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
def test_which_error_of_a_fold_counts(text: str, expected: str) -> None:
    """What fails does not end a fold: a later test that fails takes its place, a later item does not."""
    assert value_of(text) == f"error: no such key: {expected}"
