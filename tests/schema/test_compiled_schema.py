"""Pruning, defaulting and validation of whole objects, on the slow path and with generated programs."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest

from polykind import errors
from polykind.schema import CompiledSchema
from polykind.schema.object_meta import BadObjectMetaError

Json = dict[str, Any]

DEFAULTED = {"type": "string", "default": "y"}


def compiled_schema(properties: Json, *, with_programs: bool, **more: Any) -> CompiledSchema:
    schema = CompiledSchema({"type": "object", "properties": properties, **more})
    if with_programs:
        schema.compile_programs()
    return schema


def sample_object(**fields: Any) -> Json:
    return {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "a"}, **fields}


@pytest.fixture(params=[False, True], ids=["slow", "fast"])
def with_programs(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


def test_unknown_fields_are_pruned_and_reported_in_order(with_programs: bool) -> None:
    item = {"type": "object", "properties": {"n": {"type": "integer"}}}
    schema = compiled_schema(
        {"spec": {"type": "object", "properties": {"l": {"type": "array", "items": item}}}}, with_programs=with_programs
    )
    obj = sample_object(zulu=1, alpha=2, spec={"l": [{"n": 1}, {"m": 1, "k": 2}], "extra": {"deep": 1}})
    assert schema.prune_and_default(obj, report=True) == ["alpha", "spec.extra", "spec.l[1].k", "spec.l[1].m", "zulu"]
    assert obj == sample_object(spec={"l": [{"n": 1}, {}]})


def test_unknown_fields_are_reported_only_on_request(with_programs: bool) -> None:
    obj = sample_object(x=1)
    assert compiled_schema({}, with_programs=with_programs).prune_and_default(obj, report=False) == []
    assert obj == sample_object()


def test_preserve_unknown_fields_prunes_inside_specified_fields(with_programs: bool) -> None:
    inner = {"type": "object", "properties": {"a": {"type": "integer"}}}
    open_field = {"type": "object", "x-kubernetes-preserve-unknown-fields": True, "properties": {"inner": inner}}
    schema = compiled_schema({"open": open_field}, with_programs=with_programs)
    obj = sample_object(open={"any": {"b": None}, "inner": {"a": 1, "b": 2}})
    assert schema.prune_and_default(obj, report=True) == ["open.inner.b"]
    assert obj["open"] == {"any": {"b": None}, "inner": {"a": 1}}


def test_without_schema_only_type_and_metadata_remain() -> None:
    obj = sample_object(spec={"a": 1})
    CompiledSchema(None).prune_and_default(obj, report=False)
    assert obj == sample_object()
    kept = sample_object(spec={"a": None})
    CompiledSchema(None, preserve_unknown=True).prune_and_default(kept, report=False)
    assert kept == sample_object(spec={"a": None})


def test_additional_properties_true_keeps_keys_but_empties_objects(with_programs: bool) -> None:
    schema = compiled_schema({"m": {"type": "object", "additionalProperties": True}}, with_programs=with_programs)
    obj = sample_object(m={"a": 1, "b": {"c": 1}})
    assert schema.prune_and_default(obj, report=True) == ["m.b.c"]
    assert obj["m"] == {"a": 1, "b": {}}


def test_nulls_are_dropped_defaulted_or_kept(with_programs: bool) -> None:
    properties = {
        "gone": {"type": "string"},
        "kept": {"type": "string", "nullable": True, "default": "x"},
        "filled": {"type": "string", "default": "y"},
        "map": {"type": "object", "additionalProperties": {"type": "integer"}},
        "list": {"type": "array", "items": {"type": "integer", "default": 7}},
        "bare": {"type": "array", "items": {"type": "integer"}},
    }
    schema = compiled_schema({"spec": {"type": "object", "properties": properties}}, with_programs=with_programs)
    nulls: Json = {
        "gone": None,
        "kept": None,
        "filled": None,
        "map": {"a": None, "b": 1},
        "list": [None],
        "bare": [None],
    }
    obj = sample_object(spec=nulls)
    assert schema.prune_and_default(obj, report=True) == []
    assert obj["spec"] == {"kept": None, "filled": "y", "map": {"b": 1}, "list": [7], "bare": [None]}


def test_nested_defaults_are_applied_and_not_shared(with_programs: bool) -> None:
    inner = {
        "type": "object",
        "default": {"a": 1, "gone": 5},
        "properties": {"a": {"type": "integer"}, "b": {"type": "array", "default": ["x"], "items": {"type": "string"}}},
    }
    absent = {"type": "object", "properties": {"c": {"type": "string", "default": "never"}}}
    schema = compiled_schema(
        {"spec": {"type": "object", "properties": {"inner": inner, "absent": absent}}}, with_programs=with_programs
    )
    first, second = sample_object(spec={}), sample_object(spec={"inner": {"b": []}})
    schema.prune_and_default(first, report=False)
    schema.apply_defaults(second)
    assert first["spec"] == {"inner": {"a": 1, "b": ["x"]}}
    assert second["spec"] == {"inner": {"b": []}}
    first["spec"]["inner"]["b"].append("y")
    third = sample_object(spec={})
    schema.prune_and_default_stored(third)
    assert third["spec"] == {"inner": {"a": 1, "b": ["x"]}}


def test_defaulted_null_does_not_hide_a_wrong_container(with_programs: bool) -> None:
    listed = {"type": "array", "items": {"type": "string"}}
    schema = compiled_schema({"filled": {**listed, "default": []}, "wrong": listed}, with_programs=with_programs)
    obj: Json = {"filled": None, "wrong": {"unknown": 1}}
    assert schema.prune_and_default(obj, report=True) == ["wrong.unknown"]
    assert obj == {"filled": [], "wrong": {}}


def test_prune_after_conversion_applies_no_defaults(with_programs: bool) -> None:
    schema = compiled_schema(
        {"spec": {"type": "object", "properties": {"a": {"type": "string", "default": "x"}}}},
        with_programs=with_programs,
    )
    obj = sample_object(spec={"b": 1})
    schema.prune(obj)
    assert obj["spec"] == {}


EMBEDDED = {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True}


def test_malformed_embedded_metadata_is_rejected_or_dropped_if_stored(
    with_programs: bool,
) -> None:
    schema = compiled_schema({"open": EMBEDDED}, with_programs=with_programs)
    bad = {"apiVersion": "v1", "kind": "Pod", "metadata": {"labels": {"a": 1}, "name": "p", "x": 1}}
    with pytest.raises(BadObjectMetaError) as refusal:
        schema.prune_and_default(sample_object(open=dict(bad)), report=True)
    why = (
        'open.metadata: Invalid value: {"labels":{"a":1},"name":"p","x":1}: '
        "json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string"
    )
    assert refusal.value.message == f'Thing in version "v1" cannot be handled as a Thing: {why}'
    assert refusal.value.detail == why
    stored = sample_object(open={**bad, "kind": 5})
    schema.prune_and_default_stored(stored)
    assert stored["open"] == {"apiVersion": "v1", "metadata": {"name": "p"}}
    with pytest.raises(errors.UnknownReasonError):
        schema.prune(sample_object(open=dict(bad)))


def test_unknown_embedded_metadata_is_reported_last(with_programs: bool) -> None:
    schema = compiled_schema(
        {"open": EMBEDDED, "m": {"type": "object", "additionalProperties": EMBEDDED}}, with_programs=with_programs
    )
    embedded = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "x": 1}}
    obj = sample_object(open=dict(embedded), m={"k": dict(embedded)}, zulu=1)
    assert schema.prune_and_default(obj, report=True) == ["zulu", "m[k].metadata.x", "open.metadata.x"]
    assert obj["open"]["metadata"] == {"name": "p"}


def test_embedded_resources_are_validated_like_objects(with_programs: bool) -> None:
    schema = compiled_schema({"t": EMBEDDED}, with_programs=with_programs)
    assert [str(error) for error in schema.validate(sample_object(t={}))] == [
        "t.apiVersion: Required value",
        "t.kind: Required value",
    ]
    bad = {"apiVersion": "a/b/c", "kind": "", "metadata": {"name": ".."}}
    assert [str(error) for error in schema.validate(sample_object(t=bad))] == [
        't.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c',
        't.kind: Invalid value: "": must not be empty',
        """t.metadata.name: Invalid value: "..": may not be '..'""",
    ]


def test_duplicates_in_sets_and_map_lists(with_programs: bool) -> None:
    ports = {
        "type": "array",
        "items": {"type": "object", "properties": {"n": {"type": "integer"}, "p": {"type": "string"}}},
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["n", "p"],
    }
    tags = {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"}
    schema = compiled_schema(
        {"spec": {"type": "object", "properties": {"ports": ports, "tags": tags}}}, with_programs=with_programs
    )
    good = sample_object(spec={"tags": ["a", "b"], "ports": [{"n": 1, "p": "tcp"}, {"n": 1}]})
    bad = sample_object(spec={"tags": ["a", "b", "a", "a"], "ports": [{"n": 1, "p": "tcp"}, {"p": "tcp", "n": 1}]})
    assert schema.validate(good) == []
    assert [str(error) for error in schema.validate(bad, good)] == [
        'spec.ports[1]: Duplicate value: {"n":1,"p":"tcp"}',
        'spec.tags[2]: Duplicate value: "a"',
    ]
    assert schema.validate(sample_object(spec={"tags": ["x", "x"]}), bad) == []


def test_status_update_reports_paths_relative_to_status(with_programs: bool) -> None:
    status = {
        "type": "object",
        "required": ["phase"],
        "properties": {"count": {"type": "integer", "minimum": 0}, "phase": {"type": "string"}},
    }
    schema = compiled_schema(
        {"spec": {"type": "object", "required": ["no"]}, "status": status}, with_programs=with_programs
    )
    found = schema.validate_status(sample_object(spec={}, status={"count": -1}), sample_object(spec={}))
    assert [str(error) for error in found] == [
        "status.count: Invalid value: -1: count in body should be greater than or equal to 0",
        "status.phase: Required value",
    ]
    [error] = schema.validate_status(sample_object(status="text"), sample_object())
    assert str(error) == 'status: Invalid value: "string":  in body must be of type object: "string"'
    assert schema.validate_status(sample_object(), sample_object()) == []


def test_scale_errors_follow_value_errors_and_precede_list_errors(with_programs: bool) -> None:
    scale = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
    tags = {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"}
    spec = {"type": "object", "required": ["z"], "properties": {"replicas": {"type": "integer"}, "tags": tags}}
    schema = compiled_schema({"spec": spec}, with_programs=with_programs)
    found = schema.validate(sample_object(spec={"replicas": -1, "tags": ["a", "a"]}), scale=scale)
    assert [str(error) for error in found] == [
        "spec.z: Required value",
        ".spec.replicas: Invalid value: -1: should be a non-negative integer",
        'spec.tags[1]: Duplicate value: "a"',
    ]


def test_single_pass_defaults_and_validates() -> None:
    spec = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string", "default": "x"}}}
    schema = compiled_schema({"spec": spec}, with_programs=True)
    assert schema.prune_default_and_validate(sample_object(spec={"a": "1", "b": "2"}), report=True) == ([], True)
    needing = sample_object(spec={"a": "1"})
    assert schema.prune_default_and_validate(needing, report=True) == ([], True)
    assert needing["spec"] == {"a": "1", "b": "x"}
    assert schema.prune_default_and_validate(sample_object(spec={"b": "x", "c": 1}), report=True) == (["spec.c"], False)
    assert schema.prune_default_and_validate(sample_object(spec={"a": 1, "b": "x"}), report=True) == ([], False)


def test_default_and_validate_does_not_prune() -> None:
    spec = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string", "default": "x"}}}
    schema = compiled_schema({"spec": spec}, with_programs=True)
    needing = sample_object(spec={"a": "1"})
    assert schema.default_and_validate(needing)
    assert needing["spec"] == {"a": "1", "b": "x"}
    unknown = sample_object(spec={"c": 1})
    assert not schema.default_and_validate(unknown)
    assert unknown["spec"] == {"b": "x", "c": 1}
    assert not schema.default_and_validate(sample_object(spec={"a": 1}))


def test_single_pass_declines_objects_that_a_default_could_invalidate() -> None:
    item = {"type": "object", "properties": {"k": {"type": "string", "default": "x"}, "n": {"type": "integer"}}}
    keyed = {"type": "array", "items": item, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]}
    few = {"type": "object", "maxProperties": 1, "properties": {"a": {"type": "string"}, "b": {**DEFAULTED}}}
    deep = {"type": "object", "default": {}, "properties": {"b": {**DEFAULTED}}}
    schema = compiled_schema({"keyed": keyed, "few": few, "deep": deep}, with_programs=True)
    for given, filled in (
        ({"keyed": [{"n": 1}, {"k": "x"}]}, {"keyed": [{"k": "x", "n": 1}, {"k": "x"}], "deep": {"b": "y"}}),
        ({"few": {"a": "1"}, "deep": {}}, {"few": {"a": "1", "b": "y"}, "deep": {"b": "y"}}),
    ):
        obj = sample_object(**given)
        assert schema.prune_default_and_validate(obj, report=True) == ([], False)
        assert {key: value for key, value in obj.items() if key in filled} == filled
        assert schema.validate(obj)


def test_single_pass_declines_schemas_that_constrain_metadata() -> None:
    metadata = {"type": "object", "properties": {"name": {"type": "string", "maxLength": 5}}}
    schema = compiled_schema({"metadata": metadata}, with_programs=True)
    assert schema.prune_default_and_validate(sample_object(), report=True) == ([], False)
    [error] = schema.validate({**sample_object(), "metadata": {"name": "abcdef"}})
    assert str(error) == "metadata.name: Too long: may not be more than 5 bytes"


def test_generated_programs_return_the_same_results() -> None:
    schema = compiled_schema(
        {"spec": {"type": "object", "properties": {"a": {"type": "integer", "default": 1}}}}, with_programs=False
    )
    for _ in range(20):
        obj = sample_object(spec={})
        assert schema.prune_and_default(obj, report=True) == []
        assert obj["spec"] == {"a": 1}
        assert schema.validate(obj) == []
        assert [str(error) for error in schema.validate(sample_object(spec={"a": "x"}))] == [
            'spec.a: Invalid value: "string": spec.a in body must be of type integer: "string"'
        ]
        converted = sample_object(spec={"b": 1})
        schema.prune(converted)
        assert converted["spec"] == {}


@pytest.mark.parametrize(
    "openapi",
    [
        {"type": 5, "properties": [], "items": 7, "required": {}, "enum": "x", "default": object},
        {"properties": {"spec": None, "a": 1}, "additionalProperties": "yes"},
        {"allOf": [1, None], "not": [], "pattern": 3, "maximum": "9", "maxLength": 1.5},
        {"type": "object", "properties": {"spec": {"type": "string", "pattern": "("}}},
    ],
)
def test_invalid_schemas_cause_no_failure(openapi: Json, with_programs: bool) -> None:
    schema = CompiledSchema(openapi)
    if with_programs:
        schema.compile_programs()
    obj = sample_object(spec="text", a=[[{"b": None}]])
    schema.prune_and_default(obj, report=True)
    schema.validate(obj, sample_object(spec=1))
    schema.validate_status(obj)
    schema.prune_and_default_stored(obj)
    schema.prune(obj)


def test_deep_nesting_succeeds_or_raises_bad_request(with_programs: bool) -> None:
    openapi: Json = {"type": "object", "properties": {"a": {"type": "string"}}}
    value: Any = {"a": "x"}
    for _ in range(450):
        openapi = {"type": "object", "properties": {"a": openapi}}
        value = {"a": value}
    schema = CompiledSchema(openapi)
    if with_programs:
        schema.compile_programs()
    for act in (schema.prune_and_default, schema.prune_default_and_validate):
        with contextlib.suppress(errors.BadRequestError):
            act(dict(value), report=True)
            schema.validate(dict(value))
    lists: Any = []
    for _ in range(990):
        lists = [lists]
    broad = compiled_schema({"l": {"type": "array", "items": {"type": "array"}}}, with_programs=with_programs)
    broad.prune_and_default(sample_object(l=lists), report=True)


def test_lone_surrogates_are_valid_text(with_programs: bool) -> None:
    schema = compiled_schema({"a": {"type": "string", "pattern": "^.$", "maxLength": 3}}, with_programs=with_programs)
    assert schema.validate(sample_object(a="\ud800")) == []
    assert len(schema.validate(sample_object(a="\ud800x"))) == 1


def test_bound_beyond_int64_in_shortest_decimal_is_out_of_range() -> None:
    schema = compiled_schema({"n": {"type": "integer", "minimum": -9223372036854775808}}, with_programs=True)
    [error] = schema.validate(sample_object(n=1))
    assert "Minimum boundary value must be of type integer (default format) in n" in str(error)
