"""Expressions over untyped variables, as in admission policies and webhook match conditions."""

from __future__ import annotations

from typing import Any

import pytest

from polykind.cel import CompilationError, compile_expression
from polykind.cel.cel_types import DYN, NULL, STRING, struct_type

_NAMES = dict.fromkeys(("object", "oldObject", "request"), DYN)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("!has(object.litres) || object.litres <= 100", False),
        ("request.operation == 'CREATE' || oldObject.?owner == object.?owner", True),
        ("!object.metadata.name.startsWith('test-')", True),
        ("oldObject == null", True),
        ("object.tags.exists(t, t == 'a')", True),
        ("object.nosuch == 1", "no such key: nosuch"),
        ("object.litres + 'a' == ''", "no such overload"),
    ],
)
def test_expression_over_untyped_variables(text: str, expected: Any) -> None:
    obj = {"metadata": {"name": "a"}, "litres": 101, "tags": ["a"]}
    result = compile_expression(text, _NAMES).run({"object": obj, "request": {"operation": "CREATE"}})
    assert (result.error or result.value) == expected


def test_string_result() -> None:
    message = compile_expression("'owner ' + object.owner + ' is not known'", _NAMES, results=(STRING,))
    assert message.run({"object": {"owner": "me"}}).value == "owner me is not known"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 + 1", "must evaluate to bool but got int"),
        ("nosuch", "compilation failed: ERROR: <input>:1:1: undeclared reference to 'nosuch' (in container '')"),
        ("object.litres", "must evaluate to bool but got dyn"),
        ("timestamp('2026-01-01T00:00:00Z')", "must evaluate to bool but got google.protobuf.Timestamp"),
        ("[null]", "must evaluate to bool but got list(null_type)"),
        ("'a'.find('(') == ''", "program instantiation failed: error parsing regexp: missing closing ): `(`"),
    ],
)
def test_compilation_errors(text: str, expected: str) -> None:
    with pytest.raises(CompilationError) as raised:
        compile_expression(text, _NAMES)
    assert str(raised.value).split("\n")[0] == expected


def test_several_result_types() -> None:
    with pytest.raises(CompilationError) as raised:
        compile_expression("1", _NAMES, results=(STRING, NULL))
    assert str(raised.value) == "must evaluate to one of [string null_type] but got int"
    assert compile_expression("[1]", _NAMES, results=()).type.declared_name == "list(int)"


def test_struct_variables_are_checked_by_field_and_evaluated_as_maps() -> None:
    variables = {"request": struct_type("Request")}
    program = compile_expression(
        "request.name == 'a'", variables, fields=lambda type_, name: STRING if name == "name" else None
    )
    assert program.run({"request": {"name": "a"}}).value is True
    assert program.run({"request": {}}).error == "no such key: name"
    with pytest.raises(CompilationError, match="undefined field 'size'"):
        compile_expression("request.size == 'a'", variables)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("object.s - object.s", "no such overload"),
        ("object.l - object.s", "no such overload: _-_"),
        ("-object.l", "no such overload: -_"),
        ("object.i.matches(object.s)", "no such overload: matches"),
        ("object.s.matches(object.i)", "no such overload"),
        ("object.m.flatten()", "no such overload: map(dyn, dyn).flatten()"),
        ("object.i.sort()", "no such overload: sort"),
        ("object.l.join('-')", "no such overload: join(list, string)"),
        ("duration(object.i)", "type conversion error from 'int' to 'google.protobuf.Duration'"),
        ("object.m[object.l]", "invalid qualifier type: []interface {}"),
        ("object.m[?object.n].hasValue()", "invalid qualifier type: <nil>"),
        ("object.l[?object.s].hasValue()", "unsupported index type 'string' in list"),
        ("object.i[?object.s].hasValue()", False),
        ("object.m[?'k'].hasValue()", True),
        ("object.l in object.m", False),
        ("object.l && object.nope", "no such overload"),
        ("object.l && false", False),
        ("object.i.orValue(7)", 3),
        ("object.?i.orValue(7)", 3),
    ],
)
def test_values_of_undeclared_types(text: str, expected: Any) -> None:
    obj = {"i": 3, "s": "abc", "l": [1, 2], "m": {"k": 1}, "n": None}
    result = compile_expression(text, _NAMES, results=()).run({"object": obj})
    assert (result.error or result.value) == expected
