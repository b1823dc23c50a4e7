"""Values typed by a schema: equality, concatenation, zero values and conversion from JSON."""

from __future__ import annotations

from typing import Any

import pytest

from polykind.cel import environment
from tests.cel.support import declare, evaluate

_SCHEMA = {
    "type": "object",
    "properties": {
        "l": {"type": "array", "items": {"type": "string", "nullable": True}},
        "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "integer"}},
        "m": {"type": "object", "additionalProperties": {"type": "integer", "nullable": True}},
        "o": {"type": "object", "properties": {"x y": {"type": "string"}, "n": {"type": "string", "nullable": True}}},
        "is": {"x-kubernetes-int-or-string": True},
        "day": {"type": "string", "format": "date"},
    },
}
_VALUE: dict[str, Any] = {
    "l": ["a", None],
    "set": [1, 2],
    "m": {"a": None},
    "o": {"x y": "1", "n": None},
    "is": 5,
    "day": "1970-01-01",
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("self.set + [2, 3, 3]", [1, 2, 3]),
        ("self.set == dyn(1)", "error: no such overload"),
        ("self.set != dyn(1)", True),
        ("self.o == dyn(1)", "error: no such overload"),
        ("ip('1.2.3.4') == self.is", "error: no such overload"),
        ("self.is in self.m", "error: no such overload"),
        ("self.m[self.is]", "error: no such overload"),
        ("self.m['a'] + 1", "error: no such overload: _+_"),
        ("string(self.l[1])", "error: no such overload: string(null_type)"),
        ("cidr(self.l[1])", "error: no such overload: cidr(null_type)"),
        ("self.l.max()", "error: no such overload"),
        ("self.l.reverse().max()", "error: no such overload: max(list)"),
        ("self.l.isSorted()", "error: no such overload"),
        ("self.l.join('-')", "error: join: invalid input: 0"),
        ("self.l.reverse().sort()", "error: list elements must be comparable"),
        ("optional.ofNonZeroValue(self.day).hasValue()", True),
        ("optional.ofNonZeroValue(self.?day).hasValue()", True),
        ("self.day.getMilliseconds('nowhere')", "error: unknown time zone nowhere"),
    ],
)
def test_schema_typed_values(text: str, expected: Any) -> None:
    assert evaluate(text, _SCHEMA, _VALUE) == expected


def test_empty_list_field_is_a_non_zero_value() -> None:
    assert evaluate("optional.ofNonZeroValue(self.l).hasValue()", _SCHEMA, {"l": []}) is True
    assert evaluate("optional.ofNonZeroValue([]).hasValue()", _SCHEMA, {}) is False


@pytest.mark.parametrize(
    ("new", "old", "equal"),
    [
        ({"x y": "1"}, {"x y": "1"}, True),
        ({"x y": "1"}, {"x y": "2"}, False),
        ({"x y": "1"}, {"n": "1"}, False),
        ({"n": None}, {"n": None}, True),
        ({"n": None}, {"x y": "1"}, True),
        ({"unknown": 1}, {"unknown": 2}, False),
        ({"unknown": 1}, {"other": 2}, True),
    ],
)
def test_object_equality(new: Any, old: Any, equal: bool) -> None:
    decl_type, type_provider = declare(_SCHEMA["properties"]["o"])  # type: ignore[index]
    program = environment.compile_rule("self == oldSelf", decl_type, type_provider, optional_old=False).program(
        decl_type
    )
    assert program.run(new, old).value is equal


def test_optional_old_self_is_untyped() -> None:
    decl_type, type_provider = declare(_SCHEMA)

    def run(text: str) -> Any:
        return (
            environment.compile_rule(text, decl_type, type_provider, optional_old=True)
            .program(decl_type)
            .run(_VALUE, _VALUE)
        )

    assert run("oldSelf.value().day == dyn('1970-01-01')").value is True
    assert run("oldSelf.value().o == self.o").value is False
    assert run("oldSelf.value().set == [2, 1]").value is False
    assert run("self.set == [2, 1]").value is True


def test_map_list_keys_are_looked_up_by_escaped_name() -> None:
    item = {"type": "object", "properties": {"a-b": {"type": "string"}, "v": {"type": "integer"}}}
    schema = {
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["a-b"],
        "items": item,
    }
    one, two = {"a-b": "1", "v": 1}, {"a-b": "2", "v": 2}
    decl_type, type_provider = declare(schema)
    program = environment.compile_rule("self == oldSelf", decl_type, type_provider, optional_old=False).program(
        decl_type
    )
    assert program.run([one, two], [one, two]).value is False
    assert program.run([two, two], [two, two]).value is True


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("quantity('2').add(quantity('1')) == quantity('3')", True),
        ("quantity('3') == quantity('2').add(quantity('1'))", "error: no such overload"),
        ("quantity('3') != quantity('2').sub(-1)", True),
        ("quantity('3') in [quantity('2').add(1)]", False),
        ("quantity('3').compareTo(quantity('2').add(1))", 0),
        ("quantity('1.2').asApproximateFloat()", 1.2000000000000002),
        ("quantity('1.2').add(quantity('0')).asApproximateFloat()", 1.2000000000000002),
        ("quantity('1234567890123456789012').asApproximateFloat()", 1.234567890123457e21),
        ("quantity('12345678901234567890.5Ei').compareTo(quantity('9223372036854775807'))", 0),
        ("isQuantity('.Ei')", False),
    ],
)
def test_quantities(text: str, expected: Any) -> None:
    assert evaluate(text) == expected


@pytest.mark.parametrize(
    ("format_", "value", "text", "expected"),
    [
        ("byte", "YWI=", "size(self)", 2),
        (
            "byte",
            "YW+/",
            "size(self)",
            "error: Invalid byte formatted string YW+/: illegal base64 data at input byte 2",
        ),
        ("date-time", "2024-02-29T12:34:56Z", "self.getFullYear()", 2024),
        (
            "date-time",
            "2024-02-29t12:34:56z",
            "self.getFullYear()",
            'error: Invalid date-time formatted string 2024-02-29t12:34:56z: parsing time "2024-02-29t12:34:56z" as '
            '"2006-01-02T15:04:05": cannot parse "t12:34:56z" as "T"',
        ),
        (
            "date-time",
            "2024-02-29T12:34:56z",
            "self.getFullYear()",
            "error: Invalid date-time formatted string 2024-02-29T12:34:56z: parsing time "
            '"2024-02-29T12:34:56z": extra text: "z"',
        ),
    ],
)
def test_formatted_strings_that_cel_cannot_convert(format_: str, value: str, text: str, expected: Any) -> None:
    assert evaluate(text, {"type": "string", "format": format_}, value) == expected
