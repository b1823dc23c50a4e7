"""The text of patched documents."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given

from polykind.apply import json_patch, merge_patch, patch_result_text
from tests.apply.test_json_patch import OBJECTS

DOCUMENT = b'{"z":{"b":1,"a":{"d":1,"c":2}},"y":[{"f":1,"e":2}]}'


def merged_text(patch: str) -> str:
    return patch_result_text.merge_patch_text(DOCUMENT, patch.encode()).decode()


def patched_text(*operations: str) -> str:
    return patch_result_text.json_patch_text(DOCUMENT, f"[{','.join(operations)}]".encode()).decode()


def test_merge_patch_sorts_touched_objects() -> None:
    assert merged_text('{"x":1}') == '{"x":1,"y":[{"f":1,"e":2}],"z":{"b":1,"a":{"d":1,"c":2}}}'
    assert merged_text('{"z":{"b":1}}') == '{"y":[{"f":1,"e":2}],"z":{"a":{"d":1,"c":2},"b":1}}'


def test_merge_patch_sorts_new_values_but_not_replaced_objects() -> None:
    assert merged_text('{"y":[{"k":{"q":1,"p":2,"o":null},"j":1}],"z":null}') == '{"y":[{"j":1,"k":{"p":2,"q":1}}]}'
    assert merged_text('{"y":null,"z":[{"k":1,"j":null,"k":2}]}') == '{"z":[{"k":1,"j":null,"k":2}]}'


def test_list_replaces_the_document() -> None:
    assert merged_text('[1, {"b": 1, "a": null}]') == '[1,{"b":1}]'


def test_json_patch_keeps_the_text_of_values() -> None:
    added = '{"op":"add","path":"/z/a","value":{"q": 1.00, "p":{"o":"\\u0041<","n":2, "n":3}}}'
    assert patched_text(added) == (
        '{"y":[{"f":1,"e":2}],"z":{"a":{"q":1.00,"p":{"o":"\\u0041\\u003c","n":2,"n":3}},"b":1}}'
    )
    within = '{"op":"add","path":"/z/a/m","value":1e3}'
    assert patched_text(added, within) == (
        '{"y":[{"f":1,"e":2}],"z":{"a":{"m":1e3,"p":{"o":"\\u0041\\u003c","n":2,"n":3},"q":1.00},"b":1}}'
    )


@pytest.mark.parametrize(
    ("operation", "text"),
    [
        ('{"op":"copy","from":"/z/a","path":"/y"}', '{"y":{"d":1,"c":2},"z":{"a":{"d":1,"c":2},"b":1}}'),
        ('{"op":"copy","from":"/none","path":"/z"}', '{"y":[{"f":1,"e":2}],"z":null}'),
        ('{"op":"move","from":"/z","path":"/y/-"}', '{"y":[{"f":1,"e":2},{"b":1,"a":{"d":1,"c":2}}]}'),
        ('{"op":"test","path":"/y","value":[{"f":1,"e":2}]}', '{"y":[{"e":2,"f":1}],"z":{"b":1,"a":{"d":1,"c":2}}}'),
        ('{"op":"test","path":"/none","value":null}', '{"y":[{"f":1,"e":2}],"z":{"b":1,"a":{"d":1,"c":2}}}'),
        ('{"op":"remove","path":"/y/-1"}', '{"y":[],"z":{"b":1,"a":{"d":1,"c":2}}}'),
        ('{"op":"add","path":"/y/-1","value":3}', '{"y":[{"f":1,"e":2},3],"z":{"b":1,"a":{"d":1,"c":2}}}'),
        ('{"op":"replace","path":"","value":{"b":{"d":1,"c":2},"a":1}}', '{"a":1,"b":{"d":1,"c":2}}'),
    ],
)
def test_operation_sorts_objects_on_its_path(operation: str, text: str) -> None:
    assert patched_text(operation) == text


@given(OBJECTS, OBJECTS)
def test_merge_patch_text_equals_the_merged_document(document: Any, patch: Any) -> None:
    text = patch_result_text.merge_patch_text(json.dumps(document).encode(), json.dumps(patch).encode())
    assert json.loads(text) == merge_patch.apply(document, patch)


def test_json_patch_text_equals_the_patched_document() -> None:
    operations = [
        {"op": "add", "path": "/y/1", "value": [1]},
        {"op": "move", "from": "/z/a", "path": "/y/1/-"},
        {"op": "copy", "from": "/y/1/1/d", "path": "/z/~1~0"},
        {"op": "replace", "path": "/y/0/f", "value": None},
        {"op": "remove", "path": "/y/1/0"},
    ]
    text = patch_result_text.json_patch_text(DOCUMENT, json.dumps(operations).encode())
    assert json.loads(text) == json_patch.apply(json.loads(DOCUMENT), operations)
