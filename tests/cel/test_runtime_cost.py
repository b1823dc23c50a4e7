"""Runtime costs: constants are free, each step of a path costs 1, comprehensions cost per iteration."""

from __future__ import annotations

import pytest

from polykind.cel import environment
from tests.cel.support import declare

_SCHEMA = {
    "type": "object",
    "properties": {
        "a": {"type": "string"},
        "b": {"type": "integer"},
        "l": {"type": "array", "items": {"type": "integer"}},
        "o": {"type": "object", "properties": {"k": {"type": "string"}}},
    },
}
_VALUE = {"a": "x", "b": 1, "l": [3, 1, 2, 2], "o": {"k": "key"}}


@pytest.mark.parametrize(
    ("text", "cost"),
    [
        # constants
        ("[[1], [2]]", 0),
        ("{'a': {'b': 1}}", 0),
        ("{'a': int('5')}", 0),
        ("[type(1), int]", 0),
        ("int('5') + self.b", 3),
        ("duration('1h') < duration('2h')", 1),
        ("self.b in []", 0),
        ("self.b in [1, 2]", 2),
        ("b'a' in [b'a']", 1),
        # attributes, and operands that start one
        ("self.o.k", 3),
        ("dyn(self.o).k", 5),
        ("[1, 2][0]", 2),
        ("{'a': {'b': 1}}.a.b", 3),
        ("self.l[self.b]", 4),
        ("self.b > 0 ? self.o.k : self.a", 5),
        ("self.b > 0 ? has(self.o.k) : false", 5),
        # an optional selection charges only for a present element
        ("self.?a", 2),
        ("self.?o.?k", 3),
        ("self.l[?9]", 2),
        ("optional.none()[?self.l[0]]", 2),
        # comprehensions
        ("self.l.exists_one(x, x > 2)", 14),
        ("self.l.map(x, 'a')", 11),
        ("self.l.map(x, x)", 55),
    ],
)
def test_runtime_cost(text: str, cost: int) -> None:
    decl_type, type_provider = declare(_SCHEMA)
    compiled = environment.compile_rule(text, decl_type, type_provider, optional_old=False)
    assert compiled.program(decl_type).run(_VALUE, None).cost == cost
