"""JSON patches and their errors."""

from __future__ import annotations

import contextlib
import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polykind import errors
from polykind.apply import json_patch
from polykind.apply.patch_errors import PatchRejectedError

BOAT: dict[str, Any] = {
    "metadata": {"labels": {"port": "north"}},
    "spec": {"name": "Gull", "sails": 2, "crew": ["ann", "bob"], "gear": {"anchor": "iron", "rope": "hemp"}},
}


def apply_to_document(*operations: dict[str, Any]) -> Any:
    before = copy.deepcopy(BOAT)
    try:
        return json_patch.apply(BOAT, list(operations))
    finally:
        assert before == BOAT


@pytest.mark.parametrize(
    ("operation", "path", "expected"),
    [
        ({"op": "replace", "path": "/spec/sails", "value": 3}, "sails", 3),
        ({"op": "replace", "path": "/spec/motor", "value": 1}, "motor", 1),
        ({"op": "add", "path": "/spec/crew/-", "value": "cy"}, "crew", ["ann", "bob", "cy"]),
        ({"op": "add", "path": "/spec/crew/0", "value": "cy"}, "crew", ["cy", "ann", "bob"]),
        ({"op": "add", "path": "/spec/crew/-1", "value": "cy"}, "crew", ["ann", "bob", "cy"]),
        ({"op": "add", "path": "/spec/flag"}, "flag", None),
        ({"op": "remove", "path": "/spec/crew/-2"}, "crew", ["bob"]),
        ({"op": "replace", "path": "/spec/crew/+1", "value": "cy"}, "crew", ["ann", "cy"]),
        ({"op": "move", "from": "/spec/gear/rope", "path": "/spec/line"}, "line", "hemp"),
        ({"op": "copy", "from": "/spec/gear", "path": "/spec/spare"}, "spare", {"anchor": "iron", "rope": "hemp"}),
        ({"op": "copy", "from": "/spec/none", "path": "/spec/copy"}, "copy", None),
    ],
)
def test_operation_changes_its_target(operation: dict[str, Any], path: str, expected: Any) -> None:
    assert apply_to_document(operation)["spec"][path] == expected


def test_escaped_keys_are_decoded() -> None:
    labels = apply_to_document({"op": "add", "path": "/metadata/labels/example.com~1a~0b", "value": "x"})["metadata"][
        "labels"
    ]
    assert labels == {"port": "north", "example.com/a~b": "x"}


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "test", "path": "/spec/sails", "value": 9},
        {"op": "test", "path": "/spec/sails", "value": True},
        {"op": "remove", "path": "/spec/motor"},
        {"op": "add", "path": "/spec/engine/power", "value": 1},
        {"op": "add", "path": "/spec/crew/9", "value": "x"},
        {"op": "add", "path": "/spec/crew/1_0", "value": "x"},
        {"op": "replace", "path": "/spec/crew/2", "value": "x"},
        {"op": "replace", "path": "/spec/crew/-", "value": "x"},
        {"op": "replace", "path": "", "value": 7},
        {"op": "explode", "path": "/spec"},
        {"op": "add", "path": "", "value": {}},
        {"op": "add", "path": "spec", "value": {}},
        {"op": "add", "path": "/spec/name/x", "value": {}},
        {"op": "move", "from": "/spec/none", "path": "/spec/x"},
        {"op": "copy", "from": "/spec/crew/7", "path": "/spec/x"},
        {"path": "/spec/sails", "value": 1},
        {"op": "add", "value": 1},
    ],
)
def test_failing_operation_is_rejected_without_a_cause(operation: dict[str, Any]) -> None:
    with pytest.raises(PatchRejectedError) as caught:
        apply_to_document(operation)
    assert caught.value.status() == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": "the server rejected our request due to an error in our request",
        "reason": "Invalid",
        "details": {},
        "code": 422,
    }


@pytest.mark.parametrize(
    ("operations", "text"),
    [
        ({"op": "remove"}, "json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp"),
        ([7], "json: cannot unmarshal number into Go value of type handlers.jsonPatchOp"),
        ([{"op": 7}], "json: cannot unmarshal number into Go struct field jsonPatchOp.op of type string"),
    ],
)
def test_invalid_patch_cannot_be_decoded(operations: Any, text: str) -> None:
    with pytest.raises(errors.BadRequestError) as caught:
        json_patch.apply(BOAT, operations)
    assert caught.value.message == f"error decoding patch: {text}"


@pytest.mark.parametrize(
    ("operations", "text"),
    [
        ({}, "json: cannot unmarshal object into Go value of type jsonpatch.Patch"),
        ([[]], "json: cannot unmarshal array into Go value of type jsonpatch.Operation"),
    ],
)
def test_lenient_check_reports_the_library_errors(operations: Any, text: str) -> None:
    with pytest.raises(errors.BadRequestError) as caught:
        json_patch.apply(BOAT, operations, lenient=True)
    assert caught.value.message == text
    assert json_patch.apply(BOAT, None, lenient=True) == BOAT
    with pytest.raises(PatchRejectedError):
        json_patch.apply(BOAT, [{"op": "add", "path": 5, "value": 1}], lenient=True)


def test_malformed_json_cannot_be_decoded() -> None:
    with pytest.raises(errors.BadRequestError, match=r"^error decoding patch: "):
        json_patch.apply(BOAT, b"[{]")


def test_bytes_are_decoded() -> None:
    assert json_patch.apply({"a": 1}, b'[{"op":"remove","path":"/a"}]') == {}


def test_number_of_operations_is_limited() -> None:
    operation = {"op": "test", "path": "/spec/sails", "value": 2}
    assert json_patch.apply(BOAT, [operation] * 10000) == BOAT
    with pytest.raises(errors.RequestTooLargeError) as caught:
        json_patch.apply(BOAT, [operation] * 10001)
    assert caught.value.message == (
        "Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001"
    )
    assert (caught.value.code, caught.value.reason) == (413, "RequestEntityTooLarge")


def test_copied_bytes_are_limited() -> None:
    doubling = [{"op": "copy", "from": "/spec", "path": f"/spec/{i}"} for i in range(40)]
    with pytest.raises(PatchRejectedError):
        apply_to_document(*doubling)


def test_copy_is_independent_of_its_source() -> None:
    spec = apply_to_document(
        {"op": "add", "path": "/spec/gear/lamp", "value": "oil"},
        {"op": "copy", "from": "/spec/gear", "path": "/spec/spare"},
        {"op": "remove", "path": "/spec/spare/lamp"},
    )["spec"]
    assert spec["gear"]["lamp"] == "oil"
    assert "lamp" not in spec["spare"]


def test_values_of_the_patch_are_not_changed_by_later_operations() -> None:
    value: dict[str, Any] = {"a": {}}
    operations = [{"op": "add", "path": "/x", "value": value}, {"op": "add", "path": "/x/a/b", "value": 1}]
    assert json_patch.apply({}, operations) == {"x": {"a": {"b": 1}}}
    assert value == {"a": {}}


def test_unchanged_parts_are_shared() -> None:
    assert apply_to_document({"op": "add", "path": "/spec/sails", "value": 3})["metadata"] is BOAT["metadata"]


def test_result_that_is_not_an_object_is_invalid() -> None:
    with pytest.raises(errors.InvalidError) as caught:
        apply_to_document({"op": "replace", "path": "", "value": []})
    assert caught.value.message.startswith(' "" is invalid: patch: Invalid value: "[]": couldn\'t get version/kind')


def test_unknown_fields_are_reported() -> None:
    assert json_patch.unknown_fields([{"op": "test", "path": "/a", "why": 1}]) == ['json patch unknown field "[0].why"']


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text("ab", max_size=2),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab~/", max_size=2), inner, max_size=3),
    max_leaves=12,
)
OBJECTS = st.dictionaries(st.sampled_from("abc"), JSON, max_size=3)
PATHS = st.lists(st.sampled_from(["a", "b", "c", "0", "1", "-", "-1"]), max_size=3).map(
    lambda keys: "".join(f"/{k}" for k in keys)
)
OPERATIONS = st.lists(
    st.fixed_dictionaries(
        {
            "op": st.sampled_from(["add", "remove", "replace", "move", "copy", "test"]),
            "path": PATHS,
            "from": PATHS,
            "value": JSON,
        }
    ),
    max_size=4,
)


@given(OBJECTS, OPERATIONS)
def test_any_patch_gives_an_object_or_an_error_and_keeps_its_input(document: Any, operations: Any) -> None:
    before = copy.deepcopy((document, operations))
    with contextlib.suppress(errors.APIError):
        assert isinstance(json_patch.apply(document, operations), dict)
    assert (document, operations) == before


@given(OBJECTS, JSON)
def test_added_value_passes_a_test(document: Any, value: Any) -> None:
    path = {"path": "/a", "value": value}
    assert json_patch.apply(document, [{"op": "add", **path}, {"op": "test", **path}])["a"] == value


@pytest.mark.parametrize(
    ("text", "equal"),
    [
        (b"1", True),
        (b"1.0", False),
        (b"1e0", False),
        (b'{"a": [1,2], "b": "x"}', True),
        (b'{"b":"x","a":[1,2]}', True),
        (b'{"a": [1.0,2], "b": "x"}', False),
        (b'{"a": [1,2]}', False),
        (b'"\xc3\xa9\\u003c"', True),
        (b'"\xc3\xa9<"', False),
        (b'"\\u00e9\\u003c"', False),
        (b"null", True),
    ],
)
def test_tests_compare_texts(text: bytes, equal: bool) -> None:
    document = {"1": 1, "{": {"a": [1, 2], "b": "x"}, "text": "é<", "n": None}
    key = text[:1] if text[:1] != b'"' else b"text"
    body = b'[{"op": "test", "path": "/%b", "value": %b}]' % (key, text)
    operations = json_patch.keep_test_texts(json.loads(body), body)
    if equal:
        assert json_patch.apply(document, operations) == document
    else:
        with pytest.raises(PatchRejectedError):
            json_patch.apply(document, operations)


@pytest.mark.parametrize(
    ("operation", "cause"),
    [
        ({"op": "jump"}, "Unexpected kind: jump"),
        ({}, "Unexpected kind: unknown"),
        ({"op": "add"}, "add operation failed to decode path: missing value"),
        ({"op": "replace"}, "replace operation failed to decode path: operation missing path field: missing value"),
        (
            {"op": "move", "path": "/a"},
            "move operation failed to decode from: operation, missing from field: missing value",
        ),
        ({"op": "add", "path": "/x/y"}, 'add operation does not apply: doc is missing path: "/x/y": missing value'),
        (
            {"op": "replace", "path": "/x/y"},
            "replace operation does not apply: doc is missing path: /x/y: missing value",
        ),
        (
            {"op": "replace", "path": "/list/7"},
            "replace operation does not apply: doc is missing key: /list/7: missing value",
        ),
        (
            {"op": "remove", "path": "/x"},
            "error in remove for path: '/x': Unable to remove nonexistent key: x: missing value",
        ),
        (
            {"op": "remove", "path": "/list/7"},
            "error in remove for path: '/list/7': Unable to access invalid index: 7: invalid index referenced",
        ),
        (
            {"op": "add", "path": "/list/x"},
            "error in add for path: '/list/x': value was not a proper array index: 'x': "
            'strconv.Atoi: parsing "x": invalid syntax',
        ),
        (
            {"op": "move", "from": "/x", "path": "/y"},
            "error in move for path: 'x': Unable to remove nonexistent key: x: missing value",
        ),
        (
            {"op": "copy", "from": "/x/y", "path": "/z"},
            "copy operation does not apply: doc is missing from path: /x/y: missing value",
        ),
        ({"op": "test", "path": "/list", "value": 1}, "testing value /list failed: test failed"),
        ({"op": "test", "path": "/x/y"}, "test operation does not apply: is missing path: /x/y: missing value"),
    ],
)
def test_cause_of_a_rejected_patch(operation: dict[str, object], cause: str) -> None:
    with pytest.raises(PatchRejectedError) as caught:
        json_patch.apply_operations({"list": [1]}, [operation])
    assert caught.value.cause == cause


def test_first_wrong_type_is_reported() -> None:
    with pytest.raises(errors.BadRequestError, match=r"cannot unmarshal number into Go struct field jsonPatchOp.path"):
        json_patch.check_operations([{"path": 2, "op": 1}])
