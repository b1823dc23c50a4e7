"""Merge of an ApplyConfiguration into an object."""

from __future__ import annotations

from typing import Any

import pytest

from polykind.apply.apply_configuration import ApplyConfigurationError, merge_configuration
from polykind.apply.typemodel import TypeModel
from polykind.golang.fmt import GoValue

SCHEMA = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {
                "size": {"type": "integer"},
                "name": {"type": "string"},
                "flag": {"type": "boolean"},
                "any": {"x-kubernetes-preserve-unknown-fields": True},
                "list": {"type": "array", "items": {"type": "string"}},
                "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
                "keyed": {
                    "type": "array",
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["name"],
                    "items": {
                        "type": "object",
                        "properties": {
                            "name": {"type": "string"},
                            "marks": {"type": "array", "items": {"type": "string"}},
                        },
                    },
                },
                "labels": {"type": "object", "additionalProperties": {"type": "string"}},
                "whole": {"type": "object", "x-kubernetes-map-type": "atomic", "properties": {"a": {"type": "string"}}},
                "open": {"type": "object", "additionalProperties": {"type": "array", "items": {"type": "string"}}},
            },
        }
    },
}
KIND = TypeModel(SCHEMA).root
HEAD = {"apiVersion": "x.io/v1", "kind": "Vat"}


def merge_spec(live: dict[str, Any], **applied: Any) -> Any:
    return merge_configuration({**HEAD, "spec": live}, {**HEAD, "spec": applied}, KIND)["spec"]


def merge_error(**applied: Any) -> str:
    with pytest.raises(ApplyConfigurationError) as wrong:
        merge_spec({}, **applied)
    return str(wrong.value)


def test_configuration_is_merged_by_type() -> None:
    live = {"size": 1, "set": ["a"], "keyed": [{"name": "x", "marks": ["m"]}], "labels": {"a": "1"}}
    merged = merge_spec(live, size=2, set=["b"], keyed=[{"name": "y"}, {"name": "x"}], labels={"b": "2"})
    assert merged == {
        "size": 2,
        "set": ["a", "b"],
        "keyed": [{"name": "y"}, {"name": "x", "marks": ["m"]}],
        "labels": {"a": "1", "b": "2"},
    }
    assert live["set"] == ["a"]


def test_atomic_values_may_not_be_changed() -> None:
    text = merge_error(list=["a"], whole={"a": "b"}, keyed=[{"name": "x", "marks": []}])
    assert text == (
        "invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: "
        ".spec.list, .spec.whole, .spec.keyed[0].marks"
    )


def test_atomics_below_undeclared_keys_are_allowed() -> None:
    assert merge_spec({}, open={"a": ["b"]}) == {"open": {"a": ["b"]}}


@pytest.mark.parametrize(
    ("applied", "message"),
    [
        ({"nope": 1}, ".spec.nope: field not declared in schema"),
        ({"size": "a"}, ".spec.size: expected numeric (int or float), got string"),
        ({"size": GoValue("5", "0x5", "uint64")}, ".spec.size: expected numeric (int or float), got uint64"),
        (
            {"name": GoValue("NULL_VALUE", "0", "x")},
            ".spec.name: expected string, got &value.valueUnstructured{Value:0}",
        ),
        ({"flag": GoValue("5", "0x5", "uint64")}, ".spec.flag: expected boolean, got &{5}"),
        ({"any": GoValue("1s", "1", "time.Duration")}, ".spec.any: expected map, got &{1s}"),
        ({"set": ["a", "a"]}, '.spec.set: duplicate entries for key [="a"]'),
        (
            {"set": [GoValue("5", "0x5", "uint64")]},
            ".spec.set[={{undefined}}]: expected string, got &value.valueUnstructured{Value:0x5}",
        ),
        (
            {"keyed": [{"name": GoValue("5", "0x5", "uint64")}]},
            ".spec.keyed[name={{undefined}}].name: expected string, got &value.valueUnstructured{Value:0x5}",
        ),
    ],
)
def test_type_mismatch_is_reported(applied: dict[str, Any], message: str) -> None:
    assert merge_error(**applied) == f"failed to convert patch object to typed object: {message}"


def test_type_mismatch_of_the_object_is_reported() -> None:
    with pytest.raises(ApplyConfigurationError) as wrong:
        merge_spec({"nope": 1}, size=1)
    message = ".spec.nope: field not declared in schema"
    assert str(wrong.value) == f"failed to convert original object to typed object: {message}"


def test_managed_fields_are_rejected_as_atomic() -> None:
    applied = {**HEAD, "metadata": {"managedFields": [{"manager": "m", "fieldsV1": {"f:spec": {}}}]}}
    with pytest.raises(ApplyConfigurationError) as caught:
        merge_configuration({**HEAD, "metadata": {}}, applied, KIND)
    what = "may not mutate atomic arrays, maps or structs"
    assert str(caught.value) == f"invalid ApplyConfiguration: {what}: .metadata.managedFields"
