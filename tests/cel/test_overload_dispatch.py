"""Errors for arguments that no overload accepts."""

from __future__ import annotations

from typing import Any

import pytest

from polykind.cel import compile_expression
from polykind.cel.cel_types import DYN
from tests.cel.support import evaluate

_INT_OR_STRING = {"x-kubernetes-int-or-string": True}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("self.matches('^a$')", "error: no such overload"),
        ("self.matches(string(self) + 'a')", "error: no such overload: matches"),
        ("self.find('a')", "error: no such overload"),
        ("self.find(string(self))", "error: no such overload: find(int, string)"),
        ("self.findAll('a', 1)", "error: no such overload"),
        ("-dyn(1u)", "error: no such overload: -_"),
        ("dyn(duration('1s')) * self", "error: no such overload"),
        ("dyn(timestamp(0)).size()", "error: no such overload"),
        ("self.flatten(1)", "error: no such overload: int.flatten(int)"),
        ("{'a': 1}[dyn(duration(string(self) + 's'))]", "error: invalid qualifier type: types.Duration"),
    ],
)
def test_integer_argument_without_matching_overload(text: str, expected: Any) -> None:
    assert evaluate(text, _INT_OR_STRING, 5) == expected


@pytest.mark.parametrize(
    "text",
    [
        "self.l.sort()",
        "self.l.distinct()",
        "self.l.sortBy(x, x)",
        "self.l.sort() == [] || true",
        "[1].map(x, self.l.sort())",
    ],
)
def test_absent_list_argument_is_an_internal_error(text: str) -> None:
    """cel-go panics when it computes the cost, which no operator absorbs."""
    schema = {"type": "object", "properties": {"l": {"type": "array", "items": {"type": "string"}}}}
    expected = "error: internal error: interface conversion: *types.Err is not traits.Lister: missing method Add"
    assert evaluate(text, schema, {}) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("object.l.last().value() + object.a", "ca"),
        ("object.l.last().value().size()", 1),
        ("timestamp(object.l.last().value())", "no such overload: timestamp(string)"),
        ("object.l.distinct().max()", "no such overload: max(list)"),
        ("object.l.max()", "c"),
        ("object.n.distinct().max()", 2),
        ("object.l[?0].optMap(q, q + object.a).value()", "ba"),
    ],
)
def test_dynamic_argument_types_are_checked_at_runtime(text: str, expected: Any) -> None:
    obj = {"l": ["b", "c"], "n": [1, 2], "a": "a"}
    result = compile_expression(text, {"object": DYN}, results=()).run({"object": obj})
    assert (result.error or result.value) == expected
