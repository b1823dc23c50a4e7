"""Merge of an applied configuration into an object."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given

from polykind.apply.apply_pruning import remove_items, with_named_fields
from polykind.apply.merge import merge
from polykind.apply.ownership import reconcile_atomics
from polykind.apply.typemodel import TypeModel
from tests.apply.test_json_patch import OBJECTS
from tests.apply.test_typed_value import ROOT, SCHEMA, spec

FREE = TypeModel(None).root


@pytest.mark.parametrize(
    ("live", "applied", "result"),
    [
        ({"name": "a", "size": 1}, {"size": 2}, {"name": "a", "size": 2}),
        ({"tags": ["a", "b"]}, {"tags": ["c", "b"]}, {"tags": ["a", "c", "b"]}),
        ({"tags": ["a", "b", "c"]}, {"tags": ["c", "a"]}, {"tags": ["b", "c", "a"]}),
        ({"tags": ["a"]}, {"tags": []}, {"tags": ["a"]}),
        ({"tools": ["a"]}, {"tools": []}, {"tools": []}),
        ({"plan": {"spring": "a"}}, {"plan": {}}, {"plan": {}}),
        ({"notes": {"a": "b"}}, {"notes": {"c": "d"}}, {"notes": {"a": "b", "c": "d"}}),
        ({"notes": {"a": "b"}}, {"notes": None}, {"notes": {"a": "b"}}),
        ({"notes": {}}, {"notes": None}, {"notes": None}),
        ({"name": "a"}, {"name": None}, {"name": None}),
        ({"free": {"a": 1}}, {"free": {"a": {"b": 1}}}, {"free": {"a": {"b": 1}}}),
        (
            {"beds": [{"name": "a", "rows": 1}, {"name": "b"}]},
            {"beds": [{"name": "b", "rows": 2}, {"name": "c"}]},
            {"beds": [{"name": "a", "rows": 1}, {"name": "b", "rows": 2}, {"name": "c"}]},
        ),
        ({"tags": ["a", "a", "b"]}, {"tags": ["a"]}, {"tags": ["a", "b"]}),
    ],
)
def test_applied_value_is_merged_into_the_live_value(live: Any, applied: Any, result: Any) -> None:
    before = copy.deepcopy((live, applied))
    assert merge(spec(**live), spec(**applied), ROOT) == spec(**result)
    assert (live, applied) == before


def test_unchanged_parts_are_shared() -> None:
    live = spec(name="a", notes={"a": "b"}, beds=[{"name": "x"}])
    assert merge(live, copy.deepcopy(live), ROOT) is live


@given(OBJECTS, OBJECTS)
def test_merge_is_idempotent(live: Any, applied: Any) -> None:
    once = merge(live, applied, FREE)
    assert merge(once, applied, FREE) == once


def test_items_are_removed_by_path() -> None:
    live = spec(name="a", tags=["x", "y"], beds=[{"name": "b", "rows": 1}], notes={"m": "n"})
    gone = {
        "f:spec": {
            "f:tags": {'v:"x"': {}},
            "f:beds": {'k:{"kind":"plain","name":"b"}': {"f:rows": {}}},
            "f:notes": {"f:m": {}},
        }
    }
    assert remove_items(live, gone, ROOT) == spec(name="a", tags=["y"], beds=[{"name": "b"}], notes=None)


def test_named_fields_on_the_path_are_added() -> None:
    fields = {"f:spec": {"f:notes": {"f:m": {}}, "f:free": {"f:a": {"f:b": {}}}}}
    assert with_named_fields(fields, ROOT) == {
        "f:spec": {".": {}, "f:notes": {".": {}, "f:m": {}}, "f:free": {".": {}, "f:a": {"f:b": {}}}}
    }


def test_members_of_new_atomics_become_the_atomic() -> None:
    changed = copy.deepcopy(SCHEMA)
    properties = changed["properties"]["spec"]["properties"]
    properties["tags"]["x-kubernetes-list-type"] = "atomic"
    properties["notes"]["x-kubernetes-map-type"] = "atomic"
    fields: Any = {
        "f:spec": {"f:name": {}, "f:tags": {".": {}, 'v:"x"': {}}, "f:notes": {"f:m": {}}, "f:gone": {"f:x": {}}}
    }
    assert reconcile_atomics(fields, ROOT) is fields
    assert reconcile_atomics(fields, TypeModel(changed).root) == {
        "f:spec": {"f:name": {}, "f:tags": {}, "f:notes": {}, "f:gone": {"f:x": {}}}
    }
