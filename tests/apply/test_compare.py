"""Comparison of typed values."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from polykind.apply.compare import SAME, compare
from polykind.apply.fieldset import EMPTY, Fields, intersection
from polykind.apply.typemodel import TypeModel
from tests.apply.test_json_patch import OBJECTS
from tests.apply.test_typed_value import ROOT, spec

FREE = TypeModel(None).root


@pytest.mark.parametrize(
    ("old", "new", "removed", "modified", "added"),
    [
        ({"name": "a"}, {"name": "b"}, {}, {"f:name": {}}, {}),
        ({"name": "a"}, {"size": 1}, {"f:name": {}}, {}, {"f:size": {}}),
        ({"tags": ["a", "b"]}, {"tags": ["b", "c"]}, {"f:tags": {'v:"a"': {}}}, {}, {"f:tags": {'v:"c"': {}}}),
        ({"tags": ["a", "b"]}, {"tags": ["b", "a"]}, {}, {}, {}),
        ({"tags": []}, {"tags": None}, {}, {"f:tags": {}}, {}),
        ({"tags": None}, {"tags": ["a"]}, {}, {}, {"f:tags": {'v:"a"': {}}}),
        ({"tags": ["a"]}, {"tags": ["a", "a"]}, {"f:tags": {'v:"a"': {}}}, {}, {"f:tags": {'v:"a"': {}}}),
        ({"tools": ["a"]}, {"tools": ["b"]}, {}, {"f:tools": {}}, {}),
        ({"plan": {"spring": "a"}}, {"plan": {}}, {}, {"f:plan": {}}, {}),
        ({"notes": {}}, {"notes": {"a": "b"}}, {}, {}, {"f:notes": {"f:a": {}}}),
        ({}, {"notes": {"a": "b"}}, {}, {}, {"f:notes": {".": {}, "f:a": {}}}),
        (
            {"beds": [{"name": "a", "rows": 1}]},
            {"beds": [{"name": "a", "kind": "plain", "rows": 2}]},
            {},
            {"f:beds": {'k:{"kind":"plain","name":"a"}': {"f:rows": {}}}},
            {"f:beds": {'k:{"kind":"plain","name":"a"}': {"f:kind": {}}}},
        ),
        ({"free": {"a": 1}}, {"free": {"a": {"b": 1}}}, {}, {"f:free": {"f:a": {}}}, {"f:free": {"f:a": {"f:b": {}}}}),
        ({"free": {"a": {"b": 1}}}, {"free": {"a": []}}, {"f:free": {"f:a": {"f:b": {}}}}, {"f:free": {"f:a": {}}}, {}),
        ({"free": {"a": 1}}, {"free": {"a": True}}, {}, {"f:free": {"f:a": {}}}, {}),
        ({"free": {"a": 1}}, {"free": {"a": 1.0}}, {}, {}, {}),
        ({"free": {"a": [1]}}, {"free": {"a": [True]}}, {}, {"f:free": {"f:a": {}}}, {}),
    ],
)  # fmt: skip
def test_differences_are_reported_by_field(
    old: Any, new: Any, removed: Fields, modified: Fields, added: Fields
) -> None:
    found = compare(spec(**old), spec(**new), ROOT)
    assert found == tuple({"f:spec": part} if part else {} for part in (removed, modified, added))


@given(OBJECTS)
def test_value_does_not_differ_from_itself(value: Any) -> None:
    assert compare(value, value, FREE) is SAME
    assert not compare(value, dict(value), FREE)


@given(OBJECTS, OBJECTS)
def test_sets_are_disjoint_and_comparison_is_symmetric(old: Any, new: Any) -> None:
    removed, modified, added = compare(old, new, FREE)
    for left, right in ((removed, modified), (modified, added), (removed, added)):
        assert intersection(left, right) == EMPTY
    assert compare(new, old, FREE) == (added, modified, removed)
