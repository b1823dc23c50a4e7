"""Tests of decoding into declared structs with the rules of Go."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polykind.apis.apiextensions.types import CUSTOM_RESOURCE_DEFINITION_V1 as V1
from polykind.apis.apiextensions.types import CUSTOM_RESOURCE_DEFINITION_V1BETA1 as V1BETA1
from polykind.apis.autoscaling.types import SCALE
from polykind.apis.core.types import NAMESPACE
from polykind.apis.machinery import UndecodableObjectError, decode
from polykind.apis.meta.types import DELETE_OPTIONS, STATUS
from polykind.apis.policy.types import POD_DISRUPTION_BUDGET
from polykind.errors import APIError
from polykind.golang.json import NumberLiteral

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=10,
)


def schema(value: Any) -> Any:
    return {"spec": {"versions": [{"schema": {"openAPIV3Schema": value}}]}}


def kept(value: Any) -> Any:
    return decode(schema(value), V1, report=False)[0]["spec"]["versions"][0]["schema"]["openAPIV3Schema"]


def error_of(value: Any) -> str:
    with pytest.raises(UndecodableObjectError) as raised:
        kept(value)
    return raised.value.detail


def test_fields_that_go_never_omits() -> None:
    assert decode({}, V1, report=True) == (
        {
            "metadata": {},
            "spec": {"group": "", "names": {"plural": "", "kind": ""}, "scope": "", "versions": None},
            "status": {"conditions": None, "acceptedNames": {"plural": "", "kind": ""}, "storedVersions": None},
        },
        [],
    )
    assert decode({}, NAMESPACE, report=False)[0] == {"metadata": {}, "spec": {}, "status": {}}
    assert decode({}, SCALE, report=False)[0] == {"metadata": {}, "spec": {}, "status": {"replicas": 0}}
    assert decode({"status": {"conditions": [{}]}}, V1, report=False)[0]["status"]["conditions"] == [
        {"type": "", "status": "", "lastTransitionTime": None}
    ]


def test_empty_values_are_omitted_unless_pointers() -> None:
    body = {"name": "", "labels": {}, "finalizers": [], "generation": 0, "deletionGracePeriodSeconds": 0, "uid": None}
    assert decode({"metadata": body}, V1, report=False)[0]["metadata"] == {"deletionGracePeriodSeconds": 0}


def test_struct_order_and_sorted_maps() -> None:
    got, _ = decode(
        {"status": {}, "metadata": {"labels": {"b": "1", "a": "2"}, "name": "x"}, "kind": "K"}, NAMESPACE, report=False
    )
    assert list(got) == ["kind", "metadata", "spec", "status"]
    assert json.dumps(got["metadata"]) == '{"name": "x", "labels": {"a": "2", "b": "1"}}'


def test_unknown_fields_are_dropped_and_reported_in_order() -> None:
    size = {"typ": 1, "type": "integer"}
    body = {
        "spec": {
            "brim": 1,
            "versions": [{"colour": 1, "schema": {"openAPIV3Schema": {"properties": {"size": size}}}}],
        },
        "metadata": {"finaliser": 1},
    }
    got, unknown = decode(body, V1, report=True)
    assert unknown == [
        "spec.brim",
        "spec.versions[0].colour",
        "spec.versions[0].schema.openAPIV3Schema.properties.size.typ",
        "metadata.finaliser",
    ]
    assert "brim" not in got["spec"]


def test_unknown_fields_inside_custom_decoders_are_not_reported() -> None:
    inside = {"items": {"typ": 1}, "additionalProperties": {"typ": 1}, "not": {"typ": 1}}
    _, unknown = decode(schema(inside), V1, report=True)
    assert unknown == ["spec.versions[0].schema.openAPIV3Schema.not.typ"]


def test_at_most_a_hundred_unknown_fields_are_reported() -> None:
    assert len(decode({f"x{i}": 1 for i in range(200)}, V1, report=True)[1]) == 100


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ([], "json: cannot unmarshal array into Go value of type v1.CustomResourceDefinition"),
        (
            {"spec": "x"},
            "json: cannot unmarshal string into Go struct field CustomResourceDefinition.spec "
            "of type v1.CustomResourceDefinitionSpec",
        ),
        (
            {"spec": {"scope": ["x"]}},
            "json: cannot unmarshal array into Go struct field CustomResourceDefinitionSpec.spec.scope "
            "of type v1.ResourceScope",
        ),
        (
            {"spec": {"preserveUnknownFields": "true"}},
            "json: cannot unmarshal string into Go struct field "
            "CustomResourceDefinitionSpec.spec.preserveUnknownFields of type bool",
        ),
        (
            {"metadata": {"labels": {"a": 1}}},
            "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.labels of type string",
        ),
        (
            {"metadata": {"creationTimestamp": 5}},
            "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.creationTimestamp of type string",
        ),
        (
            {"metadata": {"creationTimestamp": "2020"}},
            'parsing time "2020" as "2006-01-02T15:04:05Z07:00": cannot parse "" as "-"',
        ),
        (
            schema({"properties": {"a": {"minLength": "x"}}}),
            "json: cannot unmarshal string into Go struct field "
            "JSONSchemaProps.spec.versions.schema.openAPIV3Schema.properties.minLength of type int64",
        ),
        (
            schema({"required": "a"}),
            "json: cannot unmarshal string into Go struct field "
            "JSONSchemaProps.spec.versions.schema.openAPIV3Schema.required of type []string",
        ),
        (
            schema({"properties": []}),
            "json: cannot unmarshal array into Go struct field "
            "JSONSchemaProps.spec.versions.schema.openAPIV3Schema.properties of type map[string]v1.JSONSchemaProps",
        ),
        (
            schema({"items": {"properties": {"a": {"maxLength": 1.5}}}}),
            "json: cannot unmarshal number 1.5 into Go struct field "
            "JSONSchemaProps.spec.versions.schema.openAPIV3Schema.items.properties.maxLength of type int64",
        ),
        (
            schema({"items": ["x"]}),
            "json: cannot unmarshal string into Go struct field "
            "JSONSchemaProps.spec.versions.schema.openAPIV3Schema.items of type v1.JSONSchemaProps",
        ),
        (schema({"additionalProperties": "x"}), "boolean or JSON schema expected"),
        (
            {"spec": {"conversion": {"webhook": {"clientConfig": {"caBundle": "b!"}}}}},
            "illegal base64 data at input byte 1",
        ),
        (
            {"spec": {"conversion": {"webhook": {"clientConfig": {"service": {"port": 3000000000}}}}}},
            "json: cannot unmarshal number 3000000000 into Go struct field "
            "ServiceReference.spec.conversion.webhook.clientConfig.service.port of type int32",
        ),
    ],
)
def test_decode_errors(body: object, message: str) -> None:
    with pytest.raises(UndecodableObjectError) as raised:
        decode(body, V1, report=True)
    prefix = 'CustomResourceDefinition in version "v1" cannot be handled as a CustomResourceDefinition: '
    assert raised.value.message == prefix + message
    assert (raised.value.code, raised.value.detail) == (400, message)


def test_first_mismatch_is_reported_but_custom_decoders_stop() -> None:
    with pytest.raises(UndecodableObjectError, match=r"spec\.group"):
        decode({"spec": {"group": 1, "scope": 1}}, V1, report=False)
    with pytest.raises(UndecodableObjectError, match="boolean or JSON schema expected"):
        decode({"metadata": {"name": 1}, **schema({"additionalItems": 1})}, V1, report=False)


def test_a_mismatch_in_a_number_or_text_field_stops_decoding() -> None:
    budget = {"status": {"currentHealthy": "x"}, "spec": {"minAvailable": True}}
    with pytest.raises(UndecodableObjectError, match=r"spec\.minAvailable of type int32"):
        decode(budget, POD_DISRUPTION_BUDGET, report=False)


def test_errors_name_the_types_of_the_version() -> None:
    with pytest.raises(
        UndecodableObjectError, match=r'in version "v1beta1" .* of type v1beta1.CustomResourceDefinitionSpec'
    ):
        decode({"spec": 1}, V1BETA1, report=False)


def test_times_are_written_in_utc() -> None:
    got, _ = decode({"metadata": {"creationTimestamp": "2020-01-01T01:00:00.5+02:00"}}, NAMESPACE, report=False)
    assert got["metadata"] == {"creationTimestamp": "2019-12-31T23:00:00Z"}


def test_raw_values_have_sorted_keys_and_null_is_absent() -> None:
    assert json.dumps(kept({"default": {"b": [{"d": 1, "c": 2}], "a": None}})) == (
        '{"default": {"a": null, "b": [{"c": 2, "d": 1}]}}'
    )
    assert kept({"default": None, "example": None, "enum": [None, 1]}) == {"enum": [None, 1]}


def test_schema_or_other_values() -> None:
    assert kept({"additionalProperties": True, "items": {"type": "string"}}) == {
        "items": {"type": "string"},
        "additionalProperties": True,
    }
    assert kept({"items": [{"type": "string"}]}) == {"items": [{"type": "string"}]}
    assert kept({"dependencies": {"a": ["b"], "c": {"type": "x"}}}) == {
        "dependencies": {"a": ["b"], "c": {"type": "x"}}
    }
    assert kept({"properties": {"a": None}}) == {"properties": {"a": {}}}


def test_rejected_numbers_keep_their_spelling() -> None:
    field = "json: cannot unmarshal number {} into Go struct field JSONSchemaProps.{} of type {}"
    where = "spec.versions.schema.openAPIV3Schema"
    for spelled in ("1.0", "1e3", "1.10", "1e400"):
        assert error_of({"minLength": NumberLiteral(spelled)}) == field.format(spelled, f"{where}.minLength", "int64")
    assert error_of({"minLength": 1 << 63}) == field.format(1 << 63, f"{where}.minLength", "int64")
    assert error_of({"minimum": NumberLiteral("1e400")}) == field.format("1e400", f"{where}.minimum", "float64")
    assert (
        error_of({"default": NumberLiteral("1e400")})
        == "json: cannot unmarshal number 1e400 into Go value of type float64"
    )


def test_untyped_numbers_keep_being_floats() -> None:
    assert repr(kept({"default": {"a": NumberLiteral("1.0")}, "enum": [1 << 64], "minimum": NumberLiteral("2.0")})) == (
        "{'default': {'a': 1.0}, 'minimum': 2, 'enum': [1.8446744073709552e+19]}"
    )


def test_empty_lists_of_a_schema_are_kept() -> None:
    assert kept({"enum": [], "required": [], "dependencies": {}}) == {"enum": [], "required": [], "dependencies": {}}
    assert kept({"title": "", "nullable": False, "externalDocs": {}}) == {"externalDocs": {}}


def test_items_that_are_neither_schema_nor_list_are_false() -> None:
    assert kept({"items": "nothing"}) == {"items": False}
    assert kept({"items": []}) == {"items": []}
    assert kept({"items": None}) == {}


def test_numbers_are_rounded_to_float64() -> None:
    assert kept({"maximum": 2**53 + 1, "minimum": 2.5, "multipleOf": 4.0}) == {
        "maximum": 2**53,
        "minimum": 2.5,
        "multipleOf": 4,
    }


def test_bytes_are_normalized_and_may_be_numbers() -> None:
    def bundle(value: object) -> object:
        body = {"spec": {"conversion": {"webhook": {"clientConfig": {"caBundle": value}}}}}
        return decode(body, V1, report=False)[0]["spec"]["conversion"]["webhook"]["clientConfig"].get("caBundle")

    assert bundle("bm\n90") == "bm90"
    assert bundle([110, 111, 116]) == "bm90"
    assert bundle("") is None


def test_options_and_status() -> None:
    options = {"propagationPolicy": "Orphan", "preconditions": {"uid": "u", "odd": 1}, "dryRun": []}
    assert decode(options, DELETE_OPTIONS, report=True) == (
        {"preconditions": {"uid": "u"}, "propagationPolicy": "Orphan"},
        ["preconditions.odd"],
    )
    assert decode({"code": 404, "details": {}}, STATUS, report=False)[0] == {"metadata": {}, "details": {}, "code": 404}


def test_decoded_objects_can_be_encoded() -> None:
    deep: Any = {}
    for _ in range(300):
        deep = {"a": deep}
        with suppress(UndecodableObjectError):
            orjson.dumps(decode(schema({"default": deep}), V1, report=True)[0])


def test_nesting_is_limited() -> None:
    deep: Any = {}
    for _ in range(900):
        deep = {"items": deep}
    with pytest.raises(UndecodableObjectError, match="exceeded max depth"):
        decode(schema(deep), V1, report=True)
    for _ in range(900):
        deep = [deep]
    with pytest.raises(UndecodableObjectError, match="exceeded max depth"):
        decode(schema({"default": deep}), V1, report=True)


@given(JSON)
def test_any_input_decodes_or_raises(value: Any) -> None:
    for type_ in (V1, V1BETA1, NAMESPACE, DELETE_OPTIONS):
        for body in (value, {"spec": value}, {"metadata": value}, schema(value)):
            try:
                once, _ = decode(body, type_, report=True)
            except APIError:
                continue
            assert decode(once, type_, report=True) == (once, [])
