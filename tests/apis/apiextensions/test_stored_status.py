"""The status of a stored CRD is replaced without decoding its spec."""

from __future__ import annotations

from polykind.codec import json_codec
from polykind.contract import JsonObject
from polykind.strategies.apiextensions.strategy import replace_encoded_status

LOOKALIKE = ',"spec":{"a":1},"status":{}}'
"""A text that looks like the end of an encoded CRD."""


def crd(status: JsonObject, **metadata: object) -> JsonObject:
    schema: JsonObject = {
        "type": "object",
        "properties": {
            "a": {"type": "string", "description": LOOKALIKE},
            "spec": {"type": "object", "properties": {"status": {"type": "object"}, "x": {"type": "string"}}},
            "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        },
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com", **metadata},
        "spec": {
            "group": "example.com",
            "versions": [{"name": "v1", "schema": {"openAPIV3Schema": schema}, "subresources": {"status": {}}}],
        },
        "status": status,
    }


def test_fields_and_texts_with_the_same_names_do_not_confuse_it() -> None:
    fields: JsonObject = {"f:spec": {"f:group": {}}, "f:status": {"f:conditions": {}}}
    metadata = {
        "annotations": {"note": LOOKALIKE, "spec": "{", "status": "{"},
        "labels": {"spec": "a", "status": "b"},
        "managedFields": [{"fieldsV1": fields, "manager": "m", "subresource": "status"}],
    }
    old = crd({"acceptedNames": {"kind": "", "plural": ""}, "conditions": None, "storedVersions": ["v1"]}, **metadata)
    status: JsonObject = {
        "acceptedNames": {"kind": "Widget", "plural": "widgets"},
        "conditions": [{"message": LOOKALIKE, "status": "True", "type": "Established"}],
        "storedVersions": ["v1"],
    }
    expected = crd(status, labels={"new": LOOKALIKE})
    replaced = replace_encoded_status(json_codec.encode(old), expected["metadata"], status)
    assert json_codec.decode(replaced) == expected
