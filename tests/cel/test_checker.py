"""Type checking: errors and result types."""

from __future__ import annotations

import pytest

from polykind.cel import environment
from tests.cel.support import SCHEMA, compile_errors, declare


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("self.zzz == 1", ("1:5: undefined field 'zzz'",)),
        ("nosuch", ("1:1: undeclared reference to 'nosuch' (in container '')",)),
        ("nosuch(1)", ("1:7: undeclared reference to 'nosuch' (in container '')",)),
        ("self.a > 1", ("1:8: found no matching overload for '_>_' applied to '(string, int)'",)),
        ("self.b == 1.5", ("1:8: found no matching overload for '_==_' applied to '(int, double)'",)),
        ("self.b && true", ("1:5: expected type 'bool' but found 'int'",)),
        ("!self.a", ("1:1: found no matching overload for '!_' applied to '(string)'",)),
        ("self.a.b", ("1:7: type 'string' does not support field selection",)),
        ("self.b.c == 1", ("1:7: type 'int' does not support field selection",)),
        ("self.a.size(1)", ("1:12: found no matching overload for 'size' applied to 'string.(int)'",)),
        (
            "startsWith(self.a, 'x')",
            ("1:11: found no matching overload for 'startsWith' applied to '(string, string)'",),
        ),
        ("self.a.matches('[')", ("1:16: invalid matches argument",)),
        ("duration('x') == duration('1s')", ("1:10: invalid duration argument",)),
        ("duration(1) == duration('1s')", ("1:10: invalid duration argument",)),
        ("timestamp(null) == timestamp(1)", ("1:11: invalid timestamp argument",)),
        (
            "'%d'.format(['a']) == ''",
            ("1:14: error during formatting: decimal clause can only be used on integers, was given string",),
        ),
        ("'%d %d'.format([1]) == ''", ("1:15: index 1 out of range",)),
        ("'%d'.format([1, 2]) == ''", ("1:12: too many arguments supplied to string.format (expected 1, got 2)",)),
        ("[1, 'a'].size() == 2", ("1:5: expected type 'int' but found 'string'",)),
        ("{'a': 1, 2: 2}.size() == 2", ("1:10: expected type 'string' but found 'int'",)),
        (
            "self.a.all(x, true)",
            ("1:5: expression of type 'string' cannot be range of a comprehension (must be list, map, or dynamic)",),
        ),
        ("self.l.all(1, true)", ("1:12: argument must be a simple name",)),
        ("has(self)", ("1:5: invalid argument to has() macro",)),
        ("self.a == null", ("1:8: found no matching overload for '_==_' applied to '(string, null)'",)),
        ("self.l.all(i, i, true)", ("1:15: duplicate variable name: i",)),
        (
            "self.?a.orValue(1) == 'x'",
            ("1:16: found no matching overload for 'orValue' applied to 'optional_type(string).(int)'",),
        ),
        (
            "sets.contains([1], ['a'])",
            ("1:14: found no matching overload for 'sets.contains' applied to '(list(int), list(string))'",),
        ),
        ("Foo{a: 1}", ("1:4: undeclared reference to 'Foo' (in container '')",)),
        ("self.l.exists_one(x, 1)", ("1:18: found no matching overload for '_?_:_' applied to '(int, int, int)'",)),
        (
            "cel.bind(x, 1, x == 1)",
            (
                "1:1: undeclared reference to 'cel' (in container '')",
                "1:9: undeclared reference to 'bind' (in container '')",
                "1:10: undeclared reference to 'x' (in container '')",
                "1:16: undeclared reference to 'x' (in container '')",
            ),
        ),
        ("self.a.reverse() == ''", ("1:15: found no matching overload for 'reverse' applied to 'string.()'",)),
    ],
)
def test_type_errors(text: str, expected: tuple[str, ...]) -> None:
    assert compile_errors(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("self.a", "string"),
        ("self.b + 1", "int"),
        ("self.l.map(x, x.size())", "list(int)"),
        ("{'a': self.b}", "map(string, int)"),
        ("self.?a", "optional_type(string)"),
        ("self.l[0]", "string"),
        ("[]", "list(dyn)"),
        ("dyn(1)", "dyn"),
        ("true ? 1 : 2", "int"),
        ("type(1)", "type(int)"),
        ("self.l.transformMap(i, v, v)", "map(int, string)"),
        ("duration('1s') + timestamp('2020-01-01T00:00:00Z')", "timestamp"),
    ],
)
def test_expression_type(text: str, expected: str) -> None:
    compiled = environment.compile_rule(text, *declare(SCHEMA), optional_old=False)
    assert compiled.ast is not None
    assert str(compiled.ast.type) == expected


def test_old_self_is_optional_with_optional_old_self() -> None:
    compiled = environment.compile_rule("oldSelf.hasValue()", *declare(SCHEMA), optional_old=True)
    assert compiled.ast is not None
    assert compiled.uses_old_self
    assert compile_errors("oldSelf.hasValue()") == (
        "1:17: found no matching overload for 'hasValue' applied to 'selfType1.()'",
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("matches(self.a, '(')", "error parsing regexp: missing closing ): `(`"),
        ("self.a.find('(') == ''", "error parsing regexp: missing closing ): `(`"),
        ("int('x') == 1", "type conversion error from 'string' to 'int'"),
        ("int('5') == 5", None),
        ("{b'a': 1}[b'a'] == 1", "invalid qualifier type: types.Bytes"),
        ("{dyn('a'): 1}[dyn(b'a')] == 1", "invalid qualifier type: types.Bytes"),
        ("{null: 1}[null] == 1", "invalid qualifier type: types.Null"),
        ("{dyn('a'): 1}[duration('1s')] == 1", "invalid qualifier type: types.Duration"),
        ("{dyn('a'): 1}[timestamp('2020-01-01T00:00:00Z')] == 1", "invalid qualifier type: types.Timestamp"),
        ("{dyn('a'): 1}[type(1)] == 1", "invalid qualifier type: *types.Type"),
        ("{dyn('a'): 1}[[1]] == 1", "invalid qualifier type: *types.baseList"),
        ("{dyn('a'): 1}[{1: 2}] == 1", "invalid qualifier type: *types.baseMap"),
        ("{dyn('a'): 1}[1.5] == 1 || {true: 1}[true] == 1 || {dyn(b'a'): 1}[b'a' + b'b'] == 1", None),
    ],
)
def test_constants_are_evaluated_when_the_program_is_instantiated(text: str, expected: str | None) -> None:
    assert environment.compile_rule(text, *declare(SCHEMA), optional_old=False).instantiation_error() == expected


def test_format_reports_the_first_invalid_argument() -> None:
    errors = compile_errors("'%d %s'.format(['a'])")
    assert errors == ("1:17: error during formatting: decimal clause can only be used on integers, was given string",)
