"""Field sets of typed values, and type errors."""

from __future__ import annotations

from typing import Any

import pytest

from polykind.apply.model import TypeMismatchError
from polykind.apply.typed_value import all_fields, applied_fields, type_errors
from polykind.apply.typemodel import TypeModel

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {
                "name": {"type": "string"},
                "size": {"type": "integer"},
                "wet": {"type": "boolean"},
                "port": {"x-kubernetes-int-or-string": True},
                "tags": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
                "beds": {
                    "type": "array",
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["name", "kind"],
                    "items": {
                        "type": "object",
                        "properties": {
                            "name": {"type": "string"},
                            "kind": {"type": "string", "default": "plain"},
                            "rows": {"type": "integer"},
                        },
                    },
                },
                "posts": {
                    "type": "array",
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["id"],
                    "items": {"type": "object", "properties": {"id": {"type": "integer"}}},
                },
                "tools": {"type": "array", "items": {"type": "string"}},
                "plan": {
                    "type": "object",
                    "x-kubernetes-map-type": "atomic",
                    "properties": {"spring": {"type": "string"}},
                },
                "notes": {"type": "object", "additionalProperties": {"type": "string"}},
                "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                "pod": {"type": "object", "x-kubernetes-embedded-resource": True, "properties": {}},
            },
        }
    },
}
ROOT = TypeModel(SCHEMA).root


def spec(**fields: Any) -> dict[str, Any]:
    return {"spec": fields}


@pytest.mark.parametrize(
    ("value", "fields"),
    [
        ({"name": "a", "size": None}, {"f:name": {}, "f:size": {}}),
        ({"tags": ["x", "<"]}, {"f:tags": {'v:"x"': {}, 'v:"\\u003c"': {}}}),
        ({"tools": ["x"], "plan": {"spring": "dig"}}, {"f:tools": {}, "f:plan": {}}),
        (
            {"beds": [{"name": "a", "rows": 1}]},
            {"f:beds": {'k:{"kind":"plain","name":"a"}': {".": {}, "f:name": {}, "f:rows": {}}}},
        ),
        ({"notes": {"a": "b"}}, {"f:notes": {"f:a": {}}}),
        ({"notes": {}}, {"f:notes": {}}),
        (
            {"free": {"a": {"b": [1], "c": {}}}},
            {"f:free": {"f:a": {".": {}, "f:b": {}, "f:c": {}}}},
        ),
        ({"port": 80}, {"f:port": {}}),
        (
            {"pod": {"kind": "X", "metadata": {"labels": {"a": "b"}}}},
            {"f:pod": {"f:kind": {}, "f:metadata": {"f:labels": {"f:a": {}}}}},
        ),
    ],
)
def test_applier_owns_stated_fields(value: dict[str, Any], fields: dict[str, Any]) -> None:
    assert applied_fields(spec(**value), ROOT, unique=True) == {"f:spec": fields}


def test_empty_keyed_list_states_nothing() -> None:
    assert applied_fields(spec(tags=[]), ROOT) is None


def test_creator_also_owns_containers() -> None:
    value = spec(tags=["x"], notes={"a": "b"}, beds=[{"name": "a", "kind": "k"}], tools=[])
    assert all_fields(value, ROOT)["f:spec"] == {
        ".": {},
        "f:tags": {".": {}, 'v:"x"': {}},
        "f:notes": {".": {}, "f:a": {}},
        "f:beds": {".": {}, 'k:{"kind":"k","name":"a"}': {".": {}, "f:name": {}, "f:kind": {}}},
        "f:tools": {},
    }


def test_duplicate_items_are_owned_as_a_whole() -> None:
    value = spec(beds=[{"name": "a", "rows": 1}, {"name": "a", "rows": 2}])
    key = 'k:{"kind":"plain","name":"a"}'
    assert all_fields(value, ROOT)["f:spec"]["f:beds"] == {".": {}, key: {}}
    assert applied_fields(value, ROOT) == {"f:spec": {"f:beds": {key: {}}}}


def test_untyped_objects_are_granular_and_lists_atomic() -> None:
    root = TypeModel(None, preserve_unknown=True).root
    value = {"spec": {"a": [{"name": "x"}], "b": {"c": 1}}}
    assert applied_fields(value, root) == {"f:spec": {".": {}, "f:a": {}, "f:b": {".": {}, "f:c": {}}}}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"pond": "deep"}, ".spec.pond: field not declared in schema"),
        ({"plan": {"autumn": "rest"}}, ".spec.plan.autumn: field not declared in schema"),
        ({"name": 5}, ".spec.name: expected string, got &value.valueUnstructured{Value:5}"),
        (
            {"name": {"a": ["x", None]}},
            ".spec.name: expected string, got &value.valueUnstructured{Value:map[string]interface {}"
            '{"a":[]interface {}{"x", interface {}(nil)}}}',
        ),
        ({"size": "5"}, ".spec.size: expected numeric (int or float), got string"),
        ({"size": {}}, ".spec.size: expected numeric (int or float), got map[string]interface {}"),
        ({"wet": 1}, ".spec.wet: expected boolean, got &{1}"),
        ({"tags": "x"}, ".spec.tags: expected list, got &{x}"),
        ({"notes": [1, {"b": 2, "a": None}]}, ".spec.notes: expected map, got &{[1 map[a:<nil> b:2]]}"),
        ({"tags": ["a", "a"]}, '.spec.tags: duplicate entries for key [="a"]'),
        (
            {"tags": [None]},
            ".spec.tags: element 0: associative list without keys has an element that's an explicit null",
        ),
        ({"tags": [{}]}, ".spec.tags: element 0: associative list without keys has an element that's a map type"),
        ({"tags": [[]]}, ".spec.tags: element 0: not supported: associative list with lists as elements"),
        ({"beds": [None]}, ".spec.beds: element 0: associative list with keys may not have a null element"),
        ({"beds": ["a"]}, ".spec.beds: element 0: associative list with keys may not have non-map elements"),
        (
            {"posts": [{"id": 1}, {}]},
            '.spec.posts: element 1: associative list with keys has an element that omits all key fields ["id"]'
            " (and doesn't have default values for any key fields)",
        ),
        ({"beds": [{"name": "a"}, {"name": "a"}]}, '.spec.beds: duplicate entries for key [kind="plain",name="a"]'),
        ({"name": 1, "size": "x"}, "errors:\n  .spec.name: expected string, got &value.valueUnstructured{Value:1}\n"
         "  .spec.size: expected numeric (int or float), got string"),
    ],
)  # fmt: skip
def test_type_errors_match_kube_apiserver(value: dict[str, Any], text: str) -> None:
    with pytest.raises(TypeMismatchError):
        applied_fields(spec(**value), ROOT, unique=True)
    assert type_errors(spec(**value), ROOT) == text
