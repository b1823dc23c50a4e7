"""Tests of the paths that Go decodes with custom decoders."""

from __future__ import annotations

from polykind.apis.apiextensions.types import CUSTOM_RESOURCE_DEFINITION_V1 as CRD
from polykind.apis.machinery.custom_decoders import custom_decoder_paths


def test_nested_schemas_and_raw_json_have_custom_decoders() -> None:
    inner = {"items": {"items": {}}, "additionalProperties": {}, "default": 1, "type": "x", "not": {"enum": [1]}}
    schema = {"properties": {"a": inner, "b": "ill-typed"}}
    value = {
        "metadata": {"managedFields": [{"fieldsV1": {}}]},
        "spec": {"versions": [{"schema": {"openAPIV3Schema": schema}}]},
    }
    at = "spec.versions[0].schema.openAPIV3Schema.properties.a"
    assert sorted(custom_decoder_paths(value, CRD)) == [
        "metadata.managedFields[0].fieldsV1",
        f"{at}.additionalProperties",
        f"{at}.default",
        f"{at}.items",
        f"{at}.not.enum[0]",
    ]
