from __future__ import annotations

from typing import Any

import pytest

from polykind.contract import copy_json
from polykind.declare.field_rules import MISSING, FieldPath


@pytest.mark.parametrize(
    "text", ["", ".", "spec.", ".spec", "spec..x", "spec[0]", "spec.x[*]", "spec[*][*].x", "[*].x", "spec.[*].x"]
)
def test_invalid_path_is_rejected(text: str) -> None:
    with pytest.raises(ValueError, match="is not a path to a field"):
        FieldPath(text)


@pytest.mark.parametrize("text", ["metadata", "metadata.name", "kind", "apiVersion"])
def test_path_must_not_name_identity_fields(text: str) -> None:
    with pytest.raises(ValueError, match="a conversion must not change"):
        FieldPath(text)


@pytest.mark.parametrize(
    ("path", "obj", "value", "left"),
    [
        ("spec.a", {"spec": {"a": 1}}, 1, {"spec": {}}),
        ("spec.a", {"spec": {"b": 1}}, MISSING, {"spec": {"b": 1}}),
        ("spec.a", {}, MISSING, {}),
        ("spec.a", {"spec": 3}, MISSING, {"spec": 3}),
        ("spec.a", {"spec": {"a": None}}, None, {"spec": {}}),
        ("spec.a.b.c", {"spec": {"a": {"b": {"c": 1}}}}, 1, {"spec": {}}),
        ("spec.a.b.c", {"spec": {"a": {"b": {"c": 1}, "d": 2}}}, 1, {"spec": {"a": {"d": 2}}}),
        ("spec.a.b", {"spec": {"a": {}}}, MISSING, {"spec": {"a": {}}}),
        ("spec", {"spec": 1}, 1, {}),
    ],
)
def test_pop_removes_empty_parents(path: str, obj: Any, value: Any, left: Any) -> None:
    assert FieldPath(path).pop(obj) is value or value == 1
    assert obj == left


def test_set_creates_missing_parents() -> None:
    obj: dict[str, Any] = {"spec": {"b": 2}}
    FieldPath("spec.a.c").set(obj, 1)
    assert obj == {"spec": {"b": 2, "a": {"c": 1}}}
    with pytest.raises(ValueError, match=r"spec.b.c cannot be set: b is not an object"):
        FieldPath("spec.b.c").set(obj, 1)


def test_set_undoes_pop() -> None:
    below: list[Any] = [{"b": 1}, {"b": 1, "c": 2}, {"b": {}}]
    for obj in ({"spec": {"a": value}} for value in below):
        changed = copy_json(obj)
        FieldPath("spec.a.b").set(changed, FieldPath("spec.a.b").pop(changed))
        assert changed == obj


def test_scopes_are_all_list_items() -> None:
    obj = {"spec": {"jobs": [{"steps": [{"x": 1}, {"x": 2}]}, 7, {}, {"steps": "none"}, {"steps": [{"x": 3}]}]}}
    path = FieldPath("spec.jobs[*].steps[*].x")
    assert path.lists == "spec.jobs[*].steps[*]"
    assert [path.get(scope) for scope in path.scopes(obj)] == [1, 2, 3]
    assert FieldPath("spec.x").scopes(obj) == [obj]


def test_reaches_checks_the_first_parent() -> None:
    assert FieldPath("spec.a.b").reaches({"spec": {}})
    assert not FieldPath("spec.a.b").reaches({})
    assert not FieldPath("spec.a.b").reaches({"spec": []})
    assert FieldPath("spec").reaches({})
