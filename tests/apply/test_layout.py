"""In which order the keys of what a patch made are told."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given

from polykind.apply import jsonpatch, layout, mergepatch
from tests.apply.test_jsonpatch import OBJECTS

DOCUMENT: dict[str, Any] = {"z": {"b": 1, "a": {"d": 1, "c": 2}}, "y": [{"f": 1, "e": 2}]}


def after_merge(patch: Any) -> str:
    made = mergepatch.apply(DOCUMENT, patch)
    return json.dumps(layout.arranged(made, layout.left_by_merge(DOCUMENT, patch)), separators=(",", ":"))


def after_operations(*operations: dict[str, Any]) -> str:
    made = jsonpatch.apply(DOCUMENT, list(operations))
    return json.dumps(layout.arranged(made, layout.containers(DOCUMENT, *operations)), separators=(",", ":"))


def test_a_merge_patch_sorts_the_objects_it_goes_into() -> None:
    assert after_merge({"x": 1}) == '{"x":1,"y":[{"f":1,"e":2}],"z":{"b":1,"a":{"d":1,"c":2}}}'
    assert after_merge({"z": {"b": 1}}) == '{"y":[{"f":1,"e":2}],"z":{"a":{"d":1,"c":2},"b":1}}'


def test_a_merge_patch_sorts_what_it_brings_but_for_what_replaces_an_object() -> None:
    assert after_merge({"y": [{"k": {"q": 1, "p": 2}, "j": 1}], "z": None}) == '{"y":[{"j":1,"k":{"p":2,"q":1}}]}'
    assert after_merge({"y": None, "z": [{"k": 1, "j": 2}]}) == '{"z":[{"k":1,"j":2}]}'


def test_a_json_patch_leaves_its_values_as_they_are_written() -> None:
    added = {"op": "add", "path": "/z/a", "value": {"q": 1, "p": {"o": 1, "n": 2}}}
    assert after_operations(added) == '{"y":[{"f":1,"e":2}],"z":{"a":{"q":1,"p":{"o":1,"n":2}},"b":1}}'
    within = {"op": "add", "path": "/z/a/m", "value": 3}
    assert after_operations(added, within) == '{"y":[{"f":1,"e":2}],"z":{"a":{"m":3,"p":{"o":1,"n":2},"q":1},"b":1}}'


@given(OBJECTS, OBJECTS)
def test_nothing_but_the_order_changes(document: Any, patch: Any) -> None:
    made = mergepatch.apply(document, patch)
    assert layout.arranged(made, layout.left_by_merge(document, patch)) == made
