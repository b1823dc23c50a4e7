from __future__ import annotations

from typing import Any

import pytest

from polykind.selectors import selectable_fields


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("red", "red"),
        ("", ""),
        (2, "2"),
        (-9223372036854775808, "-9223372036854775808"),
        (True, "true"),
        (False, "false"),
        (None, ""),
        (1.5, "1.5"),
        (1e21, "1e+21"),
        ([1, None, "a"], "[1 <nil> a]"),
        ({"b": 1, "a": [True]}, "map[a:[true] b:1]"),
    ],
)
def test_value_is_printed_as_in_go(value: Any, text: str) -> None:
    assert selectable_fields.selectable_field_texts({"spec": {"x": value}}, [".spec.x"]) == {"spec.x": text}


def test_missing_field_is_empty() -> None:
    paths = [".spec.x.y", ".status", ".spec.z"]
    assert selectable_fields.selectable_field_texts({"spec": {"x": "leaf"}}, paths) == {
        "spec.x.y": "",
        "status": "",
        "spec.z": "",
    }


def test_deeply_nested_value_is_shortened() -> None:
    value: Any = "x"
    for _ in range(5000):
        value = [value]
    assert "..." in selectable_fields.selectable_field_texts({"a": value}, [".a"])["a"]
