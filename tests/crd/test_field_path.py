from __future__ import annotations

import pytest

from polykind.crd.field_path import FieldPathError, find_field

SCHEMA = {
    "properties": {
        "a": {"properties": {"b.c": {"type": "string"}, "it's": {"type": "integer"}}},
        "m": {"additionalProperties": {"type": "string"}},
        "any": {"additionalProperties": True},
    }
}


@pytest.mark.parametrize(
    ("path", "names", "type_"),
    [
        (".a['b.c']", ("a", "b.c"), "string"),
        ("['a']['it\\'s']", ("a", "it's"), "integer"),
        (".m.key", ("m", "key"), "string"),
        (".m['k']", ("m", "k"), "string"),
    ],
)
def test_find_field(path: str, names: tuple[str, ...], type_: str) -> None:
    assert find_field(path, SCHEMA) == (names, {"type": type_})


def test_path_may_end_in_additional_properties_true() -> None:
    assert find_field(".any.x", SCHEMA) == (("any", "x"), None)


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("a", "expected [ or . but got: a"),
        (".", "unexpected end of JSON path"),
        (".z", "does not refer to a valid field"),
        (".a.b.c", "does not refer to a valid field"),
        (".any.x.y", "does not refer to a valid field"),
        (".a[b]", "expected single quoted string but got b"),
        (".a['b.c'", "unexpected end of JSON path"),
        (".a['b.c'.", "expected ] but got ."),
        (".a['\\z']", "invalid string literal: invalid escape char \\z"),
    ],
)
def test_invalid_path_raises_field_path_error(path: str, why: str) -> None:
    with pytest.raises(FieldPathError) as refused:
        find_field(path, SCHEMA)
    assert str(refused.value) == why


def test_brackets_can_be_disallowed() -> None:
    with pytest.raises(FieldPathError, match="array notation is not allowed"):
        find_field("['a']", SCHEMA, brackets=False)
