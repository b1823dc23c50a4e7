"""Strategic merge patches of built-in kinds."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given

from polykind import errors
from polykind.apis.apiextensions.types import CUSTOM_RESOURCE_DEFINITION_V1 as CRD
from polykind.apis.core.types import NAMESPACE as NAMESPACE_KIND
from polykind.apis.core.types import SERVICE
from polykind.apis.machinery.apply_types import merge_strategy
from polykind.apis.machinery.kinds import Kind
from polykind.apply import merge_patch, strategic_merge_patch
from polykind.apply.patch_errors import PatchRejectedError
from tests.apply.test_json_patch import OBJECTS

NAMESPACE: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Namespace",
    "metadata": {
        "name": "x",
        "labels": {"a": "b"},
        "finalizers": ["f1", "f2", "f3"],
        "ownerReferences": [{"uid": "u1", "name": "n1"}, {"uid": "u2", "name": "n2"}],
    },
    "spec": {"finalizers": ["kubernetes"]},
    "status": {"phase": "Active", "conditions": [{"type": "A", "status": "True"}, {"type": "B", "status": "True"}]},
}


def apply_patch(patch: Any, document: dict[str, Any] = NAMESPACE, kind: Kind = NAMESPACE_KIND) -> Any:
    before = copy.deepcopy((document, patch))
    try:
        return strategic_merge_patch.apply(document, patch, merge_strategy(kind))
    finally:
        assert (document, patch) == before


@pytest.mark.parametrize(
    ("patch", "field", "result"),
    [
        ({"labels": {"c": "d", "a": None}}, "labels", {"c": "d"}),
        ({"labels": {"$patch": "replace", "c": "d"}}, "labels", {"c": "d"}),
        ({"labels": {"$patch": "delete"}}, "labels", {}),
        ({"labels": {"$retainKeys": ["c"], "c": "d"}}, "labels", {"c": "d"}),
        ({"annotations": {"a": None, "b": "c"}}, "annotations", {"b": "c"}),
        ({"annotations": {"$patch": "delete"}}, "annotations", None),
        ({"finalizers": ["f4", "f1"]}, "finalizers", ["f4", "f1", "f2", "f3"]),
        ({"finalizers": None}, "finalizers", None),
        ({"$deleteFromPrimitiveList/finalizers": ["f2"]}, "finalizers", ["f1", "f3"]),
        ({"$setElementOrder/finalizers": ["f3", "f1"]}, "finalizers", ["f2", "f3", "f1"]),
        (
            {"$setElementOrder/finalizers": ["f4", "f1", "f2", "f3"], "finalizers": ["f4"]},
            "finalizers",
            ["f4", "f1", "f2", "f3"],
        ),
        (
            {"ownerReferences": [{"uid": "u2", "name": "n3"}, {"uid": "u3"}]},
            "ownerReferences",
            [{"uid": "u1", "name": "n1"}, {"uid": "u2", "name": "n3"}, {"uid": "u3"}],
        ),
        ({"ownerReferences": [{"uid": "u1", "$patch": "delete"}]}, "ownerReferences", [{"uid": "u2", "name": "n2"}]),
        ({"ownerReferences": [{"$patch": "replace"}, {"uid": "u9"}]}, "ownerReferences", [{"uid": "u9"}]),
    ],
)
def test_metadata_is_merged_by_strategy(patch: Any, field: str, result: Any) -> None:
    assert apply_patch({"metadata": patch})["metadata"].get(field) == result


def test_namespace_conditions_are_merged_by_type() -> None:
    out = apply_patch({"spec": {"finalizers": ["mine"]}, "status": {"conditions": [{"type": "B", "status": "False"}]}})
    assert out["spec"]["finalizers"] == ["mine"]
    assert out["status"]["conditions"] == [{"type": "A", "status": "True"}, {"type": "B", "status": "False"}]


def test_crd_conditions_and_versions_are_replaced() -> None:
    crd = {
        "kind": "CustomResourceDefinition",
        "spec": {"versions": [{"name": "v1"}]},
        "status": {"conditions": [{"type": "A"}]},
    }
    out = apply_patch({"spec": {"versions": [{"name": "v2"}]}, "status": {"conditions": [{"type": "B"}]}}, crd, CRD)
    assert (out["spec"], out["status"]) == ({"versions": [{"name": "v2"}]}, {"conditions": [{"type": "B"}]})


@pytest.mark.parametrize(
    ("patch", "kind", "text"),
    [
        ([], errors.BadRequestError, "json: cannot unmarshal array into Go value of type map[string]interface {}"),
        ({"$patch": "explode"}, errors.UnknownReasonError, "unknown patch type: explode in map: map[$patch:explode]"),
        (
            {"metadata": {"ownerReferences": [{"name": "x"}]}},
            errors.UnknownReasonError,
            "map: map[name:x] does not contain declared merge key: uid",
        ),
        ({"metadata": {"$retainKeys": "x"}}, errors.BadRequestError, "invalid patch format of retainKeys"),
        ({"metadata": {"$retainKeys": [], "labels": {}}}, errors.BadRequestError, "invalid patch format of retainKeys"),
        (
            {"metadata": {"$deleteFromPrimitiveList": ["x"]}},
            errors.BadRequestError,
            "invalid patch format of primitive list",
        ),
        (
            {"metadata": {"$setElementOrder": ["x"]}},
            errors.BadRequestError,
            "invalid patch format of setElementOrder list",
        ),
        (
            {"metadata": {"finalizers": [["x"]]}},
            errors.UnknownReasonError,
            "list element types are not identical: [[f1 f2 f3] [[x]]]",
        ),
        (
            {"metadata": {"$setElementOrder/finalizers": ["f1"], "finalizers": ["f9"]}},
            errors.UnknownReasonError,
            "The order in patch list:\n[f9]\n doesn't match $setElementOrder list:\n[f1]\n",
        ),
    ],
)
def test_invalid_patch_is_rejected(patch: Any, kind: type[errors.APIError], text: str) -> None:
    with pytest.raises(kind) as caught:
        apply_patch(patch)
    assert caught.value.message == text


@pytest.mark.parametrize(
    ("patch", "text"),
    [
        ({"$setElementOrder/x": []}, 'unable to find api field in struct Namespace for the json field "x"'),
        ({"$setElementOrder/": []}, 'unable to find api field in struct Namespace for the json field ""'),
        (
            {"metadata": {"$setElementOrder/x": []}},
            'unable to find api field in struct ObjectMeta for the json field "x"',
        ),
        ({"$setElementOrder/status": []}, "expected slice or array type, but got: struct"),
        ({"$setElementOrder/apiVersion": []}, "expected slice or array type, but got: struct"),
        (
            {"metadata": {"annotations": {"$setElementOrder/x": []}}},
            "merging an object in json but data type is not struct, instead is: map",
        ),
    ],
)
def test_order_of_what_is_no_list_is_rejected(patch: Any, text: str) -> None:
    document: Any = {"metadata": {"annotations": {"a": "b"}}}
    with pytest.raises(errors.UnknownReasonError) as caught:
        apply_patch(patch, document)
    assert caught.value.message == text


@pytest.mark.parametrize("name", ["finalizers", "Finalizers", "ownerReferences", "deletionTimestamp"])
def test_order_of_an_absent_list_changes_nothing(name: str) -> None:
    document: Any = {"metadata": {"name": "n"}}
    assert apply_patch({"metadata": {f"$setElementOrder/{name}": ["a"]}}, document) == document


def test_order_with_items_that_are_no_objects_is_rejected() -> None:
    with pytest.raises(errors.UnknownReasonError, match="value for key 1 is not a map"):
        apply_patch(
            {"metadata": {"$setElementOrder/ownerReferences": [{"uid": "a"}, "b"]}},
            {"metadata": {"ownerReferences": [{"uid": "c"}]}},
        )


def test_list_of_lists_is_rejected() -> None:
    with pytest.raises(PatchRejectedError):
        apply_patch({"metadata": {"finalizers": [["x"]]}}, {"metadata": {"finalizers": []}})


def test_merge_keys_are_compared_with_their_types() -> None:
    live = {"spec": {"ports": [{"port": 80, "name": "a"}, {"port": 1}]}}
    for port in (80.0, True, "80"):
        patch = {"spec": {"ports": [{"port": port, "$patch": "delete"}]}}
        assert apply_patch(patch, live, SERVICE) == live
    merged = apply_patch({"spec": {"ports": [{"port": 80.0}]}}, live, SERVICE)["spec"]["ports"]
    assert len(merged) == 3
    patch = {"spec": {"ports": [{"port": 80}], "$setElementOrder/ports": [{"port": 80.0}]}}
    with pytest.raises(errors.UnknownReasonError, match="doesn't match"):
        apply_patch(patch, live, SERVICE)


def test_null_patch_changes_nothing() -> None:
    assert strategic_merge_patch.apply(NAMESPACE, None) == NAMESPACE


@given(OBJECTS, OBJECTS)
def test_equals_merge_patch_without_lists_and_directives(document: Any, patch: Any) -> None:
    out = strategic_merge_patch.apply(document, patch, strategic_merge_patch.REPLACE)
    assert out.keys() == merge_patch.apply(document, patch).keys()


def test_object_is_replaced_as_a_whole_if_its_strategy_says_so() -> None:
    strategy = strategic_merge_patch.Strategy({"selector": strategic_merge_patch.Strategy(replaces_object=True)})
    out = strategic_merge_patch.apply({"selector": {"a": {"b": "c"}}, "x": 1}, {"selector": {"d": "e"}}, strategy)
    assert out == {"selector": {"d": "e"}, "x": 1}


@pytest.mark.parametrize(
    ("items", "names"),
    [
        ([{"uid": "u2", "$patch": "delete"}, {"uid": "u3"}], ["u1", "u3"]),
        ([{"uid": "u1", "$patch": "delete"}, {"uid": "u3"}], ["u2", "u3"]),
        ([{"uid": "u3"}], ["u3", "u1", "u2"]),
    ],
)
def test_added_items_take_the_places_of_deleted_ones(items: list[Any], names: list[str]) -> None:
    order = [{"uid": item["uid"]} for item in items]
    patch = {"metadata": {"ownerReferences": items, "$setElementOrder/ownerReferences": order}}
    assert [owner["uid"] for owner in apply_patch(patch)["metadata"]["ownerReferences"]] == names


def test_errors_show_the_patch_without_the_parts_that_were_taken_out() -> None:
    patch = {
        "a": {"$retainKeys": ["x"], "x": 1},
        "b": [{"n": 1}],
        "$setElementOrder/b": [{"n": 1}],
        "c": [{"$retainKeys": []}],
    }
    assert strategic_merge_patch.remaining_patch(patch, {}) == {"a": {"x": 1}, "c": [{}]}


def test_errors_show_the_patch_without_nulls_that_match_nothing() -> None:
    owners = [{"uid": "u1", "name": None, "new": {"x": None}}, {"uid": "u9", "name": None}]
    patch = {"metadata": {"labels": {"a": None}, "ownerReferences": owners}, "spec": {"a": None, "b": [{"c": None}]}}
    live = {"metadata": {"labels": {}, "ownerReferences": [{"uid": "u1"}]}}
    assert strategic_merge_patch.remaining_patch(patch, live) == {
        "metadata": {
            "labels": {"a": None},
            "ownerReferences": [{"uid": "u1", "name": None, "new": {}}, {"uid": "u9", "name": None}],
        },
        "spec": {"b": [{}]},
    }


def test_long_lists_are_merged_by_key() -> None:
    live = [{"uid": f"u{number}", "name": "old"} for number in range(3_000)]
    document = {**NAMESPACE, "metadata": {"name": "x", "ownerReferences": live}}
    changes = [{"uid": f"u{number}", "name": "new"} for number in reversed(range(3_000))]
    merged = apply_patch({"metadata": {"ownerReferences": changes}}, document)["metadata"]["ownerReferences"]
    assert merged == changes
    deletions = [{"uid": item["uid"], "$patch": "delete"} for item in live[1:]]
    merged = apply_patch({"metadata": {"ownerReferences": deletions}}, document)["metadata"]["ownerReferences"]
    assert merged == live[:1]
