"""Merge patches and their errors."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polykind import errors
from polykind.apply import merge_patch
from tests.apply.test_json_patch import JSON, OBJECTS


@pytest.mark.parametrize(
    ("document", "patch", "result"),
    [
        ({"a": 1}, {"a": 2}, {"a": 2}),
        ({"a": 1, "b": 2}, {"a": None, "c": None}, {"b": 2}),
        ({"a": {"x": 1}}, {"a": {"y": 2, "x": None}}, {"a": {"y": 2}}),
        ({"a": [1, 2]}, {"a": [3]}, {"a": [3]}),
        ({"a": None}, {"a": {"b": None, "c": 1}}, {"a": {"c": 1}}),
        ({}, {"a": [{"id": "b", "n": None}, None, [None, {"x": None}]]}, {"a": [{"id": "b"}, None, [None, {}]]}),
        ({"a": [1]}, {"a": [{"n": None}]}, {"a": [{}]}),
        ({"a": {"b": 1}}, {"a": [{"n": None}]}, {"a": [{"n": None}]}),
        ({"a": {"b": 1}}, {"a": 7}, {"a": 7}),
        ({"a": 7}, {"a": {"b": None}}, {"a": {}}),
    ],
)
def test_patch_is_merged(document: Any, patch: Any, result: Any) -> None:
    before = copy.deepcopy((document, patch))
    assert merge_patch.apply(document, patch) == result
    assert (document, patch) == before


@pytest.mark.parametrize(
    ("patch", "text"),
    [
        ([1, 2], "error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}"),
        ("x", "error decoding patch: json: cannot unmarshal string into Go value of type map[string]interface {}"),
        (None, "Invalid JSON Patch"),
    ],
)
def test_patch_that_is_not_an_object_is_rejected(patch: Any, text: str) -> None:
    with pytest.raises(errors.BadRequestError) as caught:
        merge_patch.apply({}, patch)
    assert caught.value.message == text


def test_lenient_list_replaces_the_document() -> None:
    assert merge_patch.apply({}, [{"a": None}, None], lenient=True) == [{}, None]
    for patch in ("x", 5, None):
        with pytest.raises(errors.BadRequestError) as caught:
            merge_patch.apply({}, patch, lenient=True)
        assert caught.value.message == "Invalid JSON Patch"


def test_deep_nesting_succeeds_or_is_rejected() -> None:
    deep: Any = {}
    for _ in range(5000):
        deep = {"a": deep}
    with pytest.raises(errors.BadRequestError):
        merge_patch.apply({"a": []}, deep)


def test_unchanged_parts_are_shared() -> None:
    document: dict[str, Any] = {"a": {"b": 1}, "c": {}}
    assert merge_patch.apply(document, {}) is document
    assert merge_patch.apply(document, {"a": {}, "d": None}) is document
    assert merge_patch.apply(document, {"c": {"x": 1}})["a"] is document["a"]


@given(OBJECTS, OBJECTS)
def test_repeated_patch_changes_nothing(document: Any, patch: Any) -> None:
    # The first time may leave nulls in a list that replaced an object.
    once = merge_patch.apply(merge_patch.apply(document, patch), patch)
    assert merge_patch.apply(once, patch) == once


@given(OBJECTS, st.dictionaries(st.sampled_from("abc"), JSON.filter(lambda v: v is not None), max_size=3))
def test_keys_of_the_patch_are_set_and_others_stay(document: Any, patch: Any) -> None:
    result = merge_patch.apply(document, patch)
    assert result.keys() == document.keys() | patch.keys()
    assert all(result[key] is document[key] for key in document.keys() - patch.keys())


def test_deeply_nested_lists_are_allowed() -> None:
    deep: Any = [{"a": None}]
    for _ in range(800):
        deep = [deep]
    nested = merge_patch.apply({}, {"a": deep})["a"]
    for _ in range(800):
        (nested,) = nested
    assert nested == [{}]
