"""Construction of protobuf's well-known types, and types that cannot be constructed."""

from __future__ import annotations

from typing import Any

import pytest

from polykind.cel import CompilationError, compile_expression
from polykind.cel.cel_types import DYN, STRING, struct_type
from tests.cel.support import compile_errors, evaluate

_USER = {"kubernetes.UserInfo": {"username": STRING}}
_VARIABLES = {"object": DYN, "user": struct_type("kubernetes.UserInfo")}


def _value(text: str) -> Any:
    result = compile_expression(f"({text})", _VARIABLES, fields=_field, structs=_USER, results=()).run(
        {"object": {"n": 5}}
    )
    return result.value if result.error is None else f"error: {result.error}"


def _field(type_: str, name: str) -> Any:
    return _USER.get(type_, {}).get(name)


def _compile_error(text: str) -> str:
    with pytest.raises(CompilationError) as refusal:
        compile_expression(text, _VARIABLES, fields=_field, structs=_USER, results=())
    return str(refusal.value).removeprefix("compilation failed: ").partition("\n")[0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("google.protobuf.Int32Value{value: 5} + 1", 6),
        (".google.protobuf.Int64Value{} == 0", True),
        ("google.protobuf.Int32Value{} == null", False),
        ("google.protobuf.Int32Value{?value: optional.none()}", 0),
        ("google.protobuf.Int32Value{value: object.n}", 5),
        ("google.protobuf.UInt32Value{value: 5u} == 5u", True),
        ("google.protobuf.BoolValue{value: true} ? 1 : 2", 1),
        ("google.protobuf.StringValue{value: 'a'} + 'b'", "ab"),
        ("google.protobuf.BytesValue{}", b""),
        ("google.protobuf.FloatValue{value: 1.1} == 1.1", False),
        ("google.protobuf.FloatValue{value: -1e300}", float("-inf")),
        ("google.protobuf.Timestamp{seconds: 5, nanos: -3} == timestamp('1970-01-01T00:00:04.999999997Z')", True),
        ("google.protobuf.Duration{seconds: 5, nanos: 1000} == duration('5.000001s')", True),
        ("google.protobuf.Value{}", None),
        ("google.protobuf.Value{null_value: google.protobuf.NullValue.NULL_VALUE}", None),
        ("google.protobuf.Value{number_value: 1.0} == 1", True),
        ("google.protobuf.Value{struct_value: {'a': 1}}.a == 1", True),
        ("type(google.protobuf.Struct{fields: {'a': 1}}.a) == double", True),
        ("google.protobuf.Struct{fields: {'a': [b'x', b'']}}.a", ["eA==", ""]),
        ("google.protobuf.ListValue{values: [1, 2]} == [1, 2]", True),
        ("google.protobuf.Empty{} == google.protobuf.Empty{}", True),
        ("type(google.protobuf.Empty{}) == google.protobuf.Empty", True),
    ],
)
def test_constructed_message_is_its_cel_value(text: str, expected: Any) -> None:
    assert _value(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Int32Value{value: 3000000000}", "Int32Value.value value type: integer overflow"),
        ("UInt32Value{value: 5000000000u}", "UInt32Value.value value type: unsigned integer overflow"),
        (
            "Int32Value{value: dyn('a')}",
            "Int32Value.value value type: unsupported native conversion from string to 'int32'",
        ),
        ("Int32Value{value: dyn(1u)}", "Int32Value.value value type: unsupported type conversion from 'uint' to int32"),
        ("Int32Value{value: dyn(1.5)}", "Int32Value.value value type: type conversion error from Double to 'int32'"),
        (
            "StringValue{value: dyn(null)}",
            "StringValue.value value type: type conversion error from 'null_type' to 'string'",
        ),
        ("StringValue{value: dyn(int)}", "StringValue.value value type: type conversion not supported for 'type'"),
        ("StringValue{value: dyn(optional.none())}", "StringValue.value value type: optional.none() dereference"),
        ("Struct{fields: {'a': int}}", "Struct.fields value type: type conversion not supported for 'type'"),
        ("Struct{fields: dyn({1: 2})}", "Struct.fields value type: unsupported type conversion from 'int' to string"),
    ],
)
def test_field_of_wrong_type_is_an_error(text: str, expected: str) -> None:
    assert _value(f"google.protobuf.{text}") == f"error: field type conversion error for google.protobuf.{expected}"


def test_struct_fields_of_wrong_type_are_an_error() -> None:
    assert _value("google.protobuf.Struct{fields: dyn(null)}") == (
        "error: unsupported field type for google.protobuf.Struct.fields: null_type"
    )


@pytest.mark.parametrize("text", ["kubernetes.UserInfo{username: 'a'}.username", "null_type{}", "duration{seconds: 1}"])
def test_types_without_constructor_fail_at_runtime(text: str) -> None:
    assert _value(text) == f"error: unknown type '{text.partition('{')[0]}'"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("google.protobuf.Timestamp{foo: 5}", "ERROR: <input>:1:30: undefined field 'foo'"),
        (
            "google.protobuf.Int32Value{value: null}",
            "ERROR: <input>:1:33: expected type of field 'value' is 'int' but provided type is 'null'",
        ),
        (
            "google.protobuf.Int32Value{} == 5.0",
            "ERROR: <input>:1:30: found no matching overload for '_==_' applied to '(wrapper(int), double)'",
        ),
        ("kubernetes.UserInfo{nope: 1}", "ERROR: <input>:1:25: undefined field 'nope'"),
        (
            "kubernetes.Unheard{}",
            "ERROR: <input>:1:19: undeclared reference to 'kubernetes.Unheard' (in container '')",
        ),
        (
            "google.protobuf.Any{}",
            "ERROR: <input>:1:20: undeclared reference to 'google.protobuf.Any' (in container '')",
        ),
        (
            "type(user) == kubernetes.UserInfo",
            "program instantiation failed: reference to undefined type: kubernetes.UserInfo",
        ),
        (
            "type(1) == google.protobuf.Int32Value",
            "program instantiation failed: reference to undefined type: google.protobuf.Int32Value",
        ),
        ("type(object) == timestamp", "program instantiation failed: reference to undefined type: timestamp"),
    ],
)
def test_invalid_struct_literals_do_not_compile(text: str, expected: str) -> None:
    assert _compile_error(text) == expected


def test_rules_may_construct_messages() -> None:
    assert evaluate("google.protobuf.Int32Value{value: self} == 1") is True
    assert compile_errors("int{value: 1} == 1") == ("1:4: 'int' is not a message type", "1:10: undefined field 'value'")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "google.protobuf.Struct{fields: {'a': self}}.a == 1",
            "error: field type conversion error for google.protobuf.Struct.fields value type: "
            "type conversion error from 'map(dyn, dyn)' to '*structpb.Value'",
        ),
        (
            "google.protobuf.StringValue{value: dyn(self.s)} == ''",
            "error: field type conversion error for google.protobuf.StringValue.value value type: "
            "type conversion error from 'list(dyn)' to 'string'",
        ),
        ("google.protobuf.ListValue{values: self.s} == ['a']", True),
        ("google.protobuf.ListValue{values: google.protobuf.Struct{fields: dyn({'s': self.s[0]})}.map(k, k)}", ["s"]),
    ],
)
def test_message_fields_reject_values_typed_by_a_schema(text: str, expected: Any) -> None:
    items = {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}}
    assert evaluate(text, {"type": "object", "properties": {"s": items}}, {"s": ["a"]}) == expected
