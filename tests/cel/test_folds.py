"""What macros that go over lists spend, to the unit: an evaluation is ended by it."""

from __future__ import annotations

import pytest

from polykind.cel import expression
from polykind.contract import JsonObject
from tests.cel.support import declared

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
    checked = expression.check(text, found, registry, optional_old=False)
    assert checked.program(found).run({"l": [1, 2, 3]}, None).cost == cost
