"""Object and JSONPatch values constructed by mutating admission policies."""

from __future__ import annotations

from typing import Any

import pytest

from polykind.cel import CompilationError, compile_expression
from polykind.cel.cel_types import BOOL, DYN, list_of
from polykind.cel.mutation_types import JSON_PATCH_TYPE, OBJECT_TYPE, JSONPatchOperation
from polykind.cel.program import Program
from polykind.cel.runtime_values import ConstructedObject
from polykind.cel.to_native import UnconvertibleError, object_to_native, to_json, type_name_errors
from polykind.golang.fmt import GoValue

OBJ = {"spec": {"name": "n", "list": ["a", "b"], "flag": True}, "metadata": {"labels": {"l": "1"}}}


def compile_program(text: str, *results: Any) -> Program:
    return compile_expression(text, {"object": DYN}, results=results, patches=True)


def evaluate(text: str) -> Any:
    result = compile_program(text).run({"object": OBJ})
    assert result.error is None, result.error
    return result.value


def evaluation_error(text: str) -> str | None:
    return compile_program(text).run({"object": OBJ}).error


def compile_error(text: str, *results: Any) -> str:
    with pytest.raises(CompilationError) as raised:
        compile_program(text, *results)
    return str(raised.value)


def test_object_type_is_named_by_its_path_and_has_any_field() -> None:
    value = evaluate('Object{spec: Object.spec{name: "x", n: 1}}')
    assert isinstance(value, ConstructedObject)
    assert object_to_native(value) == {"spec": {"name": "x", "n": 1}}


def test_absent_optional_field_is_left_out() -> None:
    assert object_to_native(evaluate("Object{?a: object.spec.?nope, ?b: object.spec.?name}")) == {"b": "n"}
    assert (
        evaluation_error("Object{?a: object.spec.name}")
        == "cannot initialize optional entry 'a' from non-optional value n"
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1", "must evaluate to Object but got int"),
        ("Object.spec{}", "must evaluate to Object but got Object.spec"),
        ("Object", "must evaluate to Object but got type(Object)"),
        ("dyn(Object{})", "must evaluate to Object but got dyn"),
    ],
)
def test_result_must_be_an_object(text: str, expected: str) -> None:
    assert compile_error(text, OBJECT_TYPE) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[JSONPatch{op: 1}]", "1:14: expected type of field 'op' is 'string' but provided type is 'int'"),
        ("[JSONPatch{foo: 1}]", "1:15: expected type of field 'foo' is '' but provided type is 'int'"),
        ("Object{?a: 1}", "1:12: expected type 'optional_type(int)' but found 'int'"),
        ("Object{a: [Object.a{}, 1]}", "1:24: expected type 'Object.a' but found 'int'"),
        ("Objekt{}", "1:7: undeclared reference to 'Objekt' (in container '')"),
        ("Object{`a-b`: 1}", "1:8: unsupported syntax: '`'"),
        ("Object{a: 1,, b: 2}", "1:13: Syntax error: mismatched input ',' expecting '}'"),
        ("Object{5}", "1:8: Syntax error: extraneous input '5' expecting {'}', ',', '?', IDENTIFIER, ESC_IDENTIFIER}"),
        ("Object{a}", "1:9: Syntax error: mismatched input '}' expecting ':'"),
    ],
)
def test_invalid_constructions_do_not_compile(text: str, expected: str) -> None:
    assert compile_error(text).startswith(f"compilation failed: ERROR: <input>:{expected}\n")


def test_object_types_are_undefined_at_runtime() -> None:
    with pytest.raises(CompilationError, match=r"reference to undefined type: Object\.x") as raised:
        compile_program("type(Object.x{}) == Object.x", BOOL)
    assert raised.value.internal


def test_objects_and_patches_are_undeclared_without_patches() -> None:
    with pytest.raises(CompilationError, match="undeclared reference to 'Object'"):
        compile_expression("Object{}", {}, results=())
    with pytest.raises(CompilationError, match="undeclared reference to 'jsonpatch'"):
        compile_expression('jsonpatch.escapeKey("a")', {}, results=())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('jsonpatch.escapeKey("a/b~c~1")', "a~1b~0c~01"),
        ('Object{a: "q"}.a', "q"),
        ("Object{}.b", None),
        ("has(Object{a: 1}.a)", True),
        ("has(Object{a: 1}.b)", False),
        ("Object{a: [1]} == Object{a: [1]}", True),
        ("Object{a: 1} == Object{a: 1.0}", False),
        ("dyn(Object{a: 1}) == dyn(Object.b{a: 1})", False),
        ('dyn(Object{a: 1}) == dyn({"a": 1})', False),
        ("type(Object.a{}) == type(Object.b{})", False),
        ('JSONPatch{op: "a"}.op', "a"),
        ('dyn(JSONPatch{op: "a"}).path', ""),
        ("has(JSONPatch{}.op)", False),
        ("has(JSONPatch{value: null}.value)", True),
        ("JSONPatch{value: 1} == JSONPatch{value: 1.0}", True),
        ("JSONPatch{value: 1} == JSONPatch{}", False),
    ],
)
def test_constructed_values_can_be_used(text: str, expected: Any) -> None:
    assert evaluate(text) == expected


def test_constructed_object_is_no_map() -> None:
    assert evaluation_error('dyn(Object{a: "q"}).a') == "no such key: a"
    assert evaluation_error('dyn(Object{a: "q"})["a"]') == "no such key: a"
    assert evaluation_error("size(dyn(Object{a: 1}))") == "no such overload: size"


def test_json_patch_operations() -> None:
    patches = compile_program('[JSONPatch{op: "add", path: "/a", value: 1}]', list_of(JSON_PATCH_TYPE)).run({}).value
    assert [type(one) for one in patches] == [JSONPatchOperation]
    assert patches[0].raw == {"op": "add", "path": "/a", "value": 1}
    assert evaluation_error("[JSONPatch{op: dyn(1)}]") == "unexpected type int64 for JSONPatchType 'op' field"
    expected = "unexpected type structpb.NullValue for JSONPatchType 'path' field"
    assert evaluation_error("[JSONPatch{path: dyn(null)}]") == expected


@pytest.mark.parametrize(("text", "cost"), [("Object{}", 40), ("Object{a: Object.a{b: object}}", 81)])
def test_construction_cost(text: str, cost: int) -> None:
    assert compile_program(text).run({"object": OBJ}).cost == cost


def test_type_names_must_match_the_field_path() -> None:
    value = evaluate("Object{a: Object.x{}, b: [Object.y{}], c: {'d': Object.c{}}}")
    assert type_name_errors(value, "Object") == [
        f'unexpected type name "Object.{got}", expected "Object.{want}", which matches field name path from root '
        "Object type"
        for got, want in (("x", "a"), ("y", "b"))
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[1]", [1]),
        ("[[1]]", [GoValue("[1]", "[]ref.Val{1}", "[]ref.Val")]),
        ('{"a": {"b": "c"}}', {"a": GoValue("map[b:c]", 'map[ref.Val]ref.Val{"b":"c"}', "map[ref.Val]ref.Val")}),
        ('{"a": object.metadata.labels}', {"a": {"l": "1"}}),
        ('object.spec.list + ["c"]', ["a", "b", "c"]),
        ('"a,b".split(",")', GoValue("[a b]", '[]string{"a", "b"}', "[]string")),
        ("object.spec.list.map(x, x)", ["a", "b"]),
        ("null", GoValue("NULL_VALUE", "0", "structpb.NullValue")),
        ("optional.none()", None),
        ("optional.of(1)", 1),
        ("5u", GoValue("5", "0x5", "uint64")),
        ("type(1)", "int"),
        ('b"ab"', GoValue("[97 98]", "[]uint8{0x61, 0x62}", "[]uint8")),
        ('duration("1h2m3.5s")', GoValue("1h2m3.5s", "3723500000000", "time.Duration")),
        ('duration("1ms")', GoValue("1ms", "1000000", "time.Duration")),
        (
            'timestamp("2020-01-01T00:00:00Z")',
            GoValue(
                "2020-01-01 00:00:00 +0000 UTC", "time.Date(2020, time.January, 1, 0, 0, 0, 0, time.UTC)", "time.Time"
            ),
        ),
        (
            'timestamp("2020-01-01T00:00:00.5+01:00")',
            GoValue(
                "2020-01-01 00:00:00.5 +0100 +0100",
                'time.Date(2020, time.January, 1, 0, 0, 0, 500000000, time.Location(""))',
                "time.Time",
            ),
        ),
    ],
)
def test_object_fields_as_native_values(text: str, expected: Any) -> None:
    assert object_to_native(evaluate(f"Object{{f: {text}}}")) == {"f": expected}


def test_map_keys_must_be_strings() -> None:
    message = "fail to convert field \"f\": map key '\\x01' is of type types.Int, not string"
    with pytest.raises(UnconvertibleError) as raised:
        object_to_native(evaluate("Object{f: {1: 2}}"))
    assert str(raised.value) == message
    assert object_to_native(evaluate("Object{a: Object.a{f: {1: 2}}}")) == {
        "a": GoValue(message, message, "*types.Err")
    }


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1", 1),
        ("2.0", 2),
        ("1e30", 1e30),
        ("9007199254740993", "9007199254740993"),
        ("5u", 5),
        ("null", None),
        ('b"abc"', "YWJj"),
        ('duration("90s")', "90s"),
        ('timestamp("2020-01-01T00:00:00Z")', "2020-01-01T00:00:00Z"),
        ('{"a": {"b": [1]}}', {"a": {"b": [1]}}),
        ('"a,b".split(",")', ["a", "b"]),
        ("optional.of([1])", [1]),
        ("Object.x{a: 9007199254740993, b: 5u, c: b'abc'}", {"a": 9007199254740992, "b": 5, "c": "YWJj"}),
    ],
)
def test_patch_values_as_json(text: str, expected: Any) -> None:
    assert to_json(evaluate(text)) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{1: 'a'}", "unsupported type conversion from 'int' to string"),
        ("{true: 1}", "type conversion error from bool to 'string'"),
        ("{1.5: 1}", "type conversion error from Double to 'string'"),
        ("optional.none()", "optional.none() dereference"),
        ("type(1)", "type conversion not supported for 'type'"),
        ("quantity('1')", "type conversion error from 'Quantity' to '*structpb.Value'"),
        ("ip('1.2.3.4')", "type conversion error from 'IP' to '*structpb.Value'"),
        ("JSONPatch{}", "cannot convert to native type: *structpb.Value"),
        ("Object.x{a: null}", "proto: invalid type: structpb.NullValue"),
        ("Object.x{a: [[1]]}", "proto: invalid type: []ref.Val"),
        (
            "0.0 / 0.0",
            "json: error calling MarshalJSON for type *structpb.Value: proto: google.protobuf.Value.number_value: "
            "invalid NaN value",
        ),
    ],
)
def test_unconvertible_patch_values(text: str, message: str) -> None:
    with pytest.raises(UnconvertibleError) as raised:
        to_json(evaluate(text))
    assert str(raised.value) == message
