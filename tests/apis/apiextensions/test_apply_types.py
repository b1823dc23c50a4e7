"""Tests of the apply types of a CRD's versions."""

from __future__ import annotations

from typing import Any

import pytest

from polykind.apis.apiextensions.types import CUSTOM_RESOURCE_DEFINITION_V1
from polykind.apis.machinery.apply_types import apply_model
from polykind.apply.model import Type
from polykind.apply.typed_value import applied_fields, type_errors


def _versions_type() -> Type:
    spec = apply_model(CUSTOM_RESOURCE_DEFINITION_V1).root.map.fields["spec"].type  # type: ignore[union-attr]
    return spec.map.fields["versions"].type  # type: ignore[union-attr]


VERSIONS = _versions_type()


def versions(schema: Any, **more: Any) -> list[Any]:
    return [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}, **more}]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (versions({}, shema={}), "[0].shema: field not declared in schema"),
        (
            versions({"properties": {"a": {"tpye": "string"}}}),
            "[0].schema.openAPIV3Schema.properties.a.tpye: field not declared in schema",
        ),
        (
            versions({"anyOf": [{"not": {"tpye": "string"}}]}),
            "[0].schema.openAPIV3Schema.anyOf[0].not.tpye: field not declared in schema",
        ),
        (
            versions({"maxLength": "5"}),
            "[0].schema.openAPIV3Schema.maxLength: expected numeric (int or float), got string",
        ),
        (
            versions({"x-kubernetes-validations": [{"rule": "true"}, {"rule": "true"}]}),
            '[0].schema.openAPIV3Schema.x-kubernetes-validations: duplicate entries for key [rule="true"]',
        ),
        (
            versions({}, additionalPrinterColumns=[{"name": "A", "JSONPath": ".a"}]),
            "[0].additionalPrinterColumns[0].JSONPath: field not declared in schema",
        ),
    ],
)
def test_undeclared_field_and_wrong_type_are_errors(value: Any, message: str) -> None:
    assert type_errors(value, VERSIONS) == message


def test_schema_or_other_value_accepts_anything() -> None:
    value = versions({"items": {"tpye": 1}, "additionalProperties": [1], "default": {"a": 1}, "enum": [1, "a"]})
    value[0]["subresources"] = {"status": {"a": 1}}
    assert applied_fields(value, VERSIONS, unique=True) == {}
