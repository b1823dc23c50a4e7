"""ObjectMeta coercion."""

from __future__ import annotations

from typing import Any

import pytest

from polykind import errors
from polykind.schema import object_meta

Json = dict[str, Any]


def test_normalized_metadata_is_returned_unchanged() -> None:
    meta: Json = {
        "name": "a",
        "labels": {"k": "v"},
        "creationTimestamp": "2024-02-29T12:00:00Z",
        "generation": 1,
        "finalizers": ["f"],
        "ownerReferences": [{"apiVersion": "v1", "kind": "X", "name": "x", "uid": "u", "controller": True}],
        "managedFields": [{"manager": "m", "operation": "Apply", "fieldsV1": {"f:a": {}}}],
    }
    clean, unknown = object_meta.coerce(meta, strict=True)
    assert clean is meta
    assert unknown == []


def test_missing_fields_of_owners_have_one_order_in_all_processes() -> None:
    clean, _ = object_meta.coerce({"ownerReferences": [{"uid": "u"}]}, strict=True)
    assert list(clean["ownerReferences"][0]) == ["apiVersion", "kind", "name", "uid"]


def test_empty_fields_are_dropped() -> None:
    meta: Json = {
        "name": "",
        "labels": {},
        "annotations": None,
        "creationTimestamp": None,
        "generation": 0,
        "finalizers": [],
        "deletionGracePeriodSeconds": 0,
    }
    assert object_meta.coerce(meta, strict=True) == ({"deletionGracePeriodSeconds": 0}, [])


def test_times_are_normalized_to_utc_seconds() -> None:
    clean, _ = object_meta.coerce({"creationTimestamp": "2024-01-01T01:00:00.5+01:00"}, strict=True)
    assert clean == {"creationTimestamp": "2024-01-01T00:00:00Z"}
    assert object_meta.coerce({"creationTimestamp": "0001-01-01T00:00:00Z"}, strict=True) == ({}, [])


def test_unknown_fields_are_reported_at_every_level() -> None:
    meta: Json = {"name": "a", "x": 1, "ownerReferences": [{"uid": "u", "y": 2}], "managedFields": [{"z": 1}]}
    clean, unknown = object_meta.coerce(meta, strict=True)
    assert unknown == ["metadata.managedFields[0].z", "metadata.ownerReferences[0].y", "metadata.x"]
    assert clean["ownerReferences"] == [{"apiVersion": "", "kind": "", "name": "", "uid": "u"}]


@pytest.mark.parametrize(
    ("meta", "text"),
    [
        ("text", "json: cannot unmarshal string into Go value of type v1.ObjectMeta"),
        ({"name": 5}, "json: cannot unmarshal number into Go struct field ObjectMeta.name of type string"),
        ({"uid": True}, "json: cannot unmarshal bool into Go struct field ObjectMeta.uid of type types.UID"),
        ({"labels": {"a": 1}}, "json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string"),
        (
            {"labels": []},
            "json: cannot unmarshal array into Go struct field ObjectMeta.labels of type map[string]string",
        ),
        (
            {"finalizers": [1]},
            "json: cannot unmarshal number into Go struct field ObjectMeta.finalizers of type string",
        ),
        (
            {"generation": 1.5},
            "json: cannot unmarshal number 1.5 into Go struct field ObjectMeta.generation of type int64",
        ),
        (
            {"generation": 2**63},
            "json: cannot unmarshal number 9223372036854776000 into Go struct field "
            "ObjectMeta.generation of type int64",
        ),
        (
            {"ownerReferences": [{"controller": "yes"}]},
            "json: cannot unmarshal string into Go struct field OwnerReference.ownerReferences.controller of type bool",
        ),
        (
            {"creationTimestamp": "yesterday"},
            'parsing time "yesterday" as "2006-01-02T15:04:05Z07:00": cannot parse "yesterday" as "2006"',
        ),
    ],
)
def test_malformed_metadata_raises_go_message(meta: object, text: str) -> None:
    with pytest.raises(errors.BadRequestError) as refusal:
        object_meta.coerce(meta, strict=True, kind="Thing", version="v1")
    assert refusal.value.message == f'Thing in version "v1" cannot be handled as a Thing: {text}'


def test_integer_may_be_written_as_a_float() -> None:
    assert object_meta.coerce({"name": "a", "generation": 3.0}, strict=True)[0] == {"name": "a", "generation": 3}


def test_lenient_coercion_drops_only_malformed_fields() -> None:
    meta: Json = {"name": "a", "labels": {"k": 1, "l": "v"}, "annotations": {"k": "v"}, "generation": "1"}
    assert object_meta.coerce(meta, strict=False) == ({"name": "a", "annotations": {"k": "v"}}, [])
    assert object_meta.coerce(5, strict=False) == ({}, [])
