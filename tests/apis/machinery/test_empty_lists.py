"""Empty lists of required fields become null when an object is stored."""

from __future__ import annotations

from polykind.apis.machinery.empty_lists import null_empty_lists
from polykind.apis.machinery.structs import Declaration, Field, Struct
from polykind.apis.machinery.value_types import STRING, STRINGS, ListOf, MapOf
from polykind.contract import JsonObject

_INNER = Struct("v1.Inner", (Field("names", 1, STRINGS, omitempty=False), Field("note", 2, STRING)))
_TREE: Struct = Struct(
    "v1.Tree",
    lambda: Declaration(
        (
            Field("required", 1, ListOf(_INNER), omitempty=False),
            Field("optional", 2, STRINGS),
            Field("by_key", 3, MapOf(_INNER)),
            Field("labels", 4, MapOf(STRING), omitempty=False),
            Field("inner", 5, _INNER, pointer=True),
            Field("child", 6, _TREE, pointer=True),
        )
    ),
)


def test_required_lists_and_maps_become_null_at_every_depth() -> None:
    tree: JsonObject = {
        "required": [{"names": []}, {"names": ["a"]}],
        "by_key": {"a": {"names": []}},
        "labels": {},
        "inner": {"names": [], "note": "x"},
    }
    null_empty_lists(tree, _TREE)
    assert tree == {
        "required": [{"names": None}, {"names": ["a"]}],
        "by_key": {"a": {"names": None}},
        "labels": None,
        "inner": {"names": None, "note": "x"},
    }


def test_optional_and_absent_lists_stay_as_they_are() -> None:
    tree: JsonObject = {"required": None, "optional": []}
    null_empty_lists(tree, _TREE)
    assert tree == {"required": None, "optional": []}
