"""Validation of object metadata."""

from __future__ import annotations

from typing import Any

import pytest

from polykind.schema import metadata_validation
from polykind.schema.metadata_validation import validate_field_manager

Json = dict[str, Any]

QUALIFIED = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character "
    "(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
SUBDOMAIN = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    r"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)


def error_texts(meta: Json, *, namespaced: bool = False) -> list[str]:
    return [str(error) for error in metadata_validation.validate_object_meta(meta, namespaced=namespaced)]


@pytest.mark.parametrize(
    ("meta", "expected"),
    [
        ({"name": "a"}, []),
        ({}, ["metadata.name: Required value: name or generateName is required"]),
        ({"name": "Bad_Name"}, [f'metadata.name: Invalid value: "Bad_Name": {SUBDOMAIN}']),
        ({"generateName": "a-", "name": "a-x"}, []),
        ({"name": "a", "namespace": "n"}, ["metadata.namespace: Forbidden: not allowed on this type"]),
        ({"name": "a", "labels": {"a b": "v"}}, [f'metadata.labels: Invalid value: "a b": name part {QUALIFIED}']),
        ({"name": "a", "annotations": {"UPPER.example/ok": "v"}}, []),
        (
            {"name": "a", "labels": {"": "v"}},
            [
                'metadata.labels: Invalid value: "": name part must be non-empty',
                f'metadata.labels: Invalid value: "": name part {QUALIFIED}',
            ],
        ),
        (
            {"name": "a", "annotations": {"k": "v" * 262144}},
            ["metadata.annotations: Too long: may not be more than 262144 bytes"],
        ),
        (
            {"name": "a", "finalizers": ["orphan", "foregroundDeletion"]},
            [
                'metadata.finalizers: Invalid value: ["orphan","foregroundDeletion"]: '
                "finalizer orphan and foregroundDeletion cannot be both set"
            ],
        ),
        (
            {"name": "a", "managedFields": [{"operation": "X", "fieldsType": "V2"}]},
            [
                'metadata.managedFields[0].operation: Invalid value: "X": must be `Apply` or `Update`',
                'metadata.managedFields[0].fieldsType: Invalid value: "V2": must be `FieldsV1`',
            ],
        ),
    ],
)
def test_create(meta: Json, expected: list[str]) -> None:
    assert error_texts(meta) == expected


def test_validation_of_the_identity_leaves_out_what_an_update_validates() -> None:
    meta = {"name": "a b", "finalizers": ["/"], "labels": {"-": ""}, "annotations": {"-": ""}, "managedFields": [{}]}
    found = metadata_validation.validate_object_meta(meta, namespaced=False, only_identity=True)
    assert {error.field for error in found} == {"metadata.name", "metadata.finalizers"}


def test_namespace_must_be_a_dns_label() -> None:
    assert error_texts({"name": "a"}, namespaced=True) == ["metadata.namespace: Required value"]
    assert error_texts({"name": "a", "namespace": "a.b"}, namespaced=True) == [
        'metadata.namespace: Invalid value: "a.b": must not contain dots'
    ]


def test_owner_references() -> None:
    first = {"apiVersion": "v1", "kind": "X", "name": "x", "uid": "u", "controller": True}
    second = {"apiVersion": "v1", "kind": "Y", "name": "y", "uid": "w", "controller": True}
    assert error_texts({"name": "a", "ownerReferences": [first, second]}) == [
        "metadata.ownerReferences: Invalid value: "
        '[{"apiVersion":"v1","kind":"X","name":"x","uid":"u","controller":true},'
        '{"apiVersion":"v1","kind":"Y","name":"y","uid":"w","controller":true}]: '
        'Only one reference can have Controller set to true. Found "true" in references for X/x and Y/y'
    ]
    event = {"apiVersion": "v1", "kind": "Event", "name": "e", "uid": "one"}
    assert error_texts({"name": "a", "ownerReferences": [event]}) == [
        'metadata.ownerReferences: Invalid value: {"apiVersion":"v1","kind":"Event","name":"e","uid":"one"}: '
        "/v1, Kind=Event is disallowed from being an owner"
    ]
    assert error_texts(
        {"name": "a", "ownerReferences": [{"apiVersion": "a/b/c", "kind": "X", "name": "", "uid": ""}]}
    ) == [
        'metadata.ownerReferences.apiVersion: Invalid value: "a/b/c": version must not be empty',
        'metadata.ownerReferences.name: Invalid value: "": must not be empty',
        'metadata.ownerReferences.uid: Invalid value: "": must not be empty',
    ]


def test_update() -> None:
    old: Json = {
        "name": "a",
        "uid": "u",
        "generation": 2,
        "deletionTimestamp": "2024-01-01T00:00:00Z",
        "finalizers": ["x/y"],
    }
    new: Json = {**old, "uid": "w", "generation": 1, "finalizers": ["x/y", "x/z"]}
    assert [str(error) for error in metadata_validation.validate_object_meta_update(new, old)] == [
        "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, "
        'found new finalizers []string{"x/z"}',
        'metadata.resourceVersion: Invalid value: "": must be specified for an update',
        "metadata.generation: Invalid value: 1: must not be decremented",
        'metadata.uid: Invalid value: "w": field is immutable',
    ]
    assert metadata_validation.validate_object_meta_update({**old, "resourceVersion": "1"}, old) == []


def test_changed_uid_is_shown_as_json() -> None:
    found = metadata_validation.validate_object_meta_update({"uid": "<w>", "resourceVersion": "1"}, {"uid": "u"})
    assert [str(error) for error in found] == [r'metadata.uid: Invalid value: "\u003cw\u003e": field is immutable']


def test_unqualified_finalizers_cause_warnings() -> None:
    meta = {"finalizers": ["plain", "with.dot", "a.b/c", "orphan"]}
    end = "to avoid accidental conflicts with other finalizer writers"
    assert metadata_validation.finalizer_warnings(meta) == [
        f'metadata.finalizers: "plain": prefer a domain-qualified finalizer name {end}',
        f'metadata.finalizers: "with.dot": prefer a domain-qualified finalizer name including a path (/) {end}',
    ]
    assert metadata_validation.finalizer_warnings(meta, meta) == []


def test_duplicate_owner_references_are_removed_with_a_warning() -> None:
    owner = {"apiVersion": "v1", "kind": "X", "name": "x", "uid": "u"}
    meta: Json = {"ownerReferences": [owner, dict(owner), {**owner, "name": "other"}]}
    assert metadata_validation.dedupe_owner_references(meta) == [
        ".metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, and may "
        "reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: u"
    ]
    assert meta["ownerReferences"] == [owner, {**owner, "name": "other"}]
    assert metadata_validation.dedupe_owner_references(meta) == []


def test_field_manager_must_be_short_and_printable() -> None:
    assert [str(error) for error in validate_field_manager("a\x01", "fieldManager")] == [
        r'fieldManager: Invalid value: "a\x01": invalid character U+0001 (at position 1)'
    ]
    assert [str(error) for error in validate_field_manager("m" * 129, "fieldManager")] == [
        "fieldManager: Too long: may not be more than 128 bytes"
    ]
