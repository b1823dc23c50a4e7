"""What happens to objects on their way in and out."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest

from polykind import errors
from polykind.schema import CompiledSchema
from polykind.schema.object_meta import BadObjectMetaError

Json = dict[str, Any]

DEFAULTED = {"type": "string", "default": "y"}


def made(properties: Json, *, warm: bool, **more: Any) -> CompiledSchema:
    schema = CompiledSchema({"type": "object", "properties": properties, **more})
    if warm:
        schema.compile_programs()
    return schema


def thing(**fields: Any) -> Json:
    return {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "a"}, **fields}


@pytest.fixture(params=[False, True], ids=["slow", "fast"])
def warm(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


def test_unknown_fields_go_and_are_told_in_order(warm: bool) -> None:
    item = {"type": "object", "properties": {"n": {"type": "integer"}}}
    schema = made({"spec": {"type": "object", "properties": {"l": {"type": "array", "items": item}}}}, warm=warm)
    obj = thing(zulu=1, alpha=2, spec={"l": [{"n": 1}, {"m": 1, "k": 2}], "extra": {"deep": 1}})
    assert schema.prune_and_default(obj, report=True) == ["alpha", "spec.extra", "spec.l[1].k", "spec.l[1].m", "zulu"]
    assert obj == thing(spec={"l": [{"n": 1}, {}]})


def test_nothing_is_told_unless_asked(warm: bool) -> None:
    obj = thing(x=1)
    assert made({}, warm=warm).prune_and_default(obj, report=False) == []
    assert obj == thing()


def test_preserved_fields_stay_but_specified_ones_below_are_pruned(warm: bool) -> None:
    inner = {"type": "object", "properties": {"a": {"type": "integer"}}}
    open_field = {"type": "object", "x-kubernetes-preserve-unknown-fields": True, "properties": {"inner": inner}}
    schema = made({"open": open_field}, warm=warm)
    obj = thing(open={"any": {"b": None}, "inner": {"a": 1, "b": 2}})
    assert schema.prune_and_default(obj, report=True) == ["open.inner.b"]
    assert obj["open"] == {"any": {"b": None}, "inner": {"a": 1}}


def test_without_a_schema_only_type_and_metadata_stay() -> None:
    obj = thing(spec={"a": 1})
    CompiledSchema(None).prune_and_default(obj, report=False)
    assert obj == thing()
    kept = thing(spec={"a": None})
    CompiledSchema(None, preserve_unknown=True).prune_and_default(kept, report=False)
    assert kept == thing(spec={"a": None})


def test_additional_properties_true_keeps_keys_but_empties_objects(warm: bool) -> None:
    schema = made({"m": {"type": "object", "additionalProperties": True}}, warm=warm)
    obj = thing(m={"a": 1, "b": {"c": 1}})
    assert schema.prune_and_default(obj, report=True) == ["m.b.c"]
    assert obj["m"] == {"a": 1, "b": {}}


def test_nulls(warm: bool) -> None:
    properties = {
        "gone": {"type": "string"},
        "kept": {"type": "string", "nullable": True, "default": "x"},
        "filled": {"type": "string", "default": "y"},
        "map": {"type": "object", "additionalProperties": {"type": "integer"}},
        "list": {"type": "array", "items": {"type": "integer", "default": 7}},
        "bare": {"type": "array", "items": {"type": "integer"}},
    }
    schema = made({"spec": {"type": "object", "properties": properties}}, warm=warm)
    nulls: Json = {
        "gone": None,
        "kept": None,
        "filled": None,
        "map": {"a": None, "b": 1},
        "list": [None],
        "bare": [None],
    }
    obj = thing(spec=nulls)
    assert schema.prune_and_default(obj, report=True) == []
    assert obj["spec"] == {"kept": None, "filled": "y", "map": {"b": 1}, "list": [7], "bare": [None]}


def test_defaults_fill_what_is_absent_down_to_the_last_level(warm: bool) -> None:
    inner = {
        "type": "object",
        "default": {"a": 1, "gone": 5},
        "properties": {"a": {"type": "integer"}, "b": {"type": "array", "default": ["x"], "items": {"type": "string"}}},
    }
    absent = {"type": "object", "properties": {"c": {"type": "string", "default": "never"}}}
    schema = made({"spec": {"type": "object", "properties": {"inner": inner, "absent": absent}}}, warm=warm)
    first, second = thing(spec={}), thing(spec={"inner": {"b": []}})
    schema.prune_and_default(first, report=False)
    schema.apply_defaults(second)
    assert first["spec"] == {"inner": {"a": 1, "b": ["x"]}}
    assert second["spec"] == {"inner": {"b": []}}
    first["spec"]["inner"]["b"].append("y")
    third = thing(spec={})
    schema.prune_and_default_stored(third)
    assert third["spec"] == {"inner": {"a": 1, "b": ["x"]}}


def test_a_null_that_becomes_a_container_hides_no_other(warm: bool) -> None:
    listed = {"type": "array", "items": {"type": "string"}}
    schema = made({"filled": {**listed, "default": []}, "wrong": listed}, warm=warm)
    obj: Json = {"filled": None, "wrong": {"unknown": 1}}
    assert schema.prune_and_default(obj, report=True) == ["wrong.unknown"]
    assert obj == {"filled": [], "wrong": {}}


def test_after_a_conversion_nothing_is_defaulted(warm: bool) -> None:
    schema = made({"spec": {"type": "object", "properties": {"a": {"type": "string", "default": "x"}}}}, warm=warm)
    obj = thing(spec={"b": 1})
    schema.prune(obj)
    assert obj["spec"] == {}


EMBEDDED = {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True}


def test_malformed_embedded_metadata_is_refused_on_the_way_in_and_dropped_from_storage(warm: bool) -> None:
    schema = made({"open": EMBEDDED}, warm=warm)
    bad = {"apiVersion": "v1", "kind": "Pod", "metadata": {"labels": {"a": 1}, "name": "p", "x": 1}}
    with pytest.raises(BadObjectMetaError) as refusal:
        schema.prune_and_default(thing(open=dict(bad)), report=True)
    why = (
        'open.metadata: Invalid value: {"labels":{"a":1},"name":"p","x":1}: '
        "json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string"
    )
    assert refusal.value.message == f'Thing in version "v1" cannot be handled as a Thing: {why}'
    assert refusal.value.detail == why
    stored = thing(open={**bad, "kind": 5})
    schema.prune_and_default_stored(stored)
    assert stored["open"] == {"apiVersion": "v1", "metadata": {"name": "p"}}
    with pytest.raises(errors.UnknownReasonError):
        schema.prune(thing(open=dict(bad)))


def test_unknown_embedded_metadata_is_told_after_the_rest(warm: bool) -> None:
    schema = made({"open": EMBEDDED, "m": {"type": "object", "additionalProperties": EMBEDDED}}, warm=warm)
    embedded = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "x": 1}}
    obj = thing(open=dict(embedded), m={"k": dict(embedded)}, zulu=1)
    assert schema.prune_and_default(obj, report=True) == ["zulu", "m[k].metadata.x", "open.metadata.x"]
    assert obj["open"]["metadata"] == {"name": "p"}


def test_embedded_resources_are_judged_like_objects(warm: bool) -> None:
    schema = made({"t": EMBEDDED}, warm=warm)
    assert [str(error) for error in schema.validate(thing(t={}))] == [
        "t.apiVersion: Required value",
        "t.kind: Required value",
    ]
    bad = {"apiVersion": "a/b/c", "kind": "", "metadata": {"name": ".."}}
    assert [str(error) for error in schema.validate(thing(t=bad))] == [
        't.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c',
        't.kind: Invalid value: "": must not be empty',
        """t.metadata.name: Invalid value: "..": may not be '..'""",
    ]


def test_repetitions_in_sets_and_keyed_lists(warm: bool) -> None:
    ports = {
        "type": "array",
        "items": {"type": "object", "properties": {"n": {"type": "integer"}, "p": {"type": "string"}}},
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["n", "p"],
    }
    tags = {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"}
    schema = made({"spec": {"type": "object", "properties": {"ports": ports, "tags": tags}}}, warm=warm)
    good = thing(spec={"tags": ["a", "b"], "ports": [{"n": 1, "p": "tcp"}, {"n": 1}]})
    bad = thing(spec={"tags": ["a", "b", "a", "a"], "ports": [{"n": 1, "p": "tcp"}, {"p": "tcp", "n": 1}]})
    assert schema.validate(good) == []
    assert [str(error) for error in schema.validate(bad, good)] == [
        'spec.ports[1]: Duplicate value: {"n":1,"p":"tcp"}',
        'spec.tags[2]: Duplicate value: "a"',
    ]
    assert schema.validate(thing(spec={"tags": ["x", "x"]}), bad) == []


def test_the_status_endpoint_names_fields_relative_to_the_status(warm: bool) -> None:
    status = {
        "type": "object",
        "required": ["phase"],
        "properties": {"count": {"type": "integer", "minimum": 0}, "phase": {"type": "string"}},
    }
    schema = made({"spec": {"type": "object", "required": ["no"]}, "status": status}, warm=warm)
    found = schema.validate_status(thing(spec={}, status={"count": -1}), thing(spec={}))
    assert [str(error) for error in found] == [
        "status.count: Invalid value: -1: count in body should be greater than or equal to 0",
        "status.phase: Required value",
    ]
    [error] = schema.validate_status(thing(status="text"), thing())
    assert str(error) == 'status: Invalid value: "string":  in body must be of type object: "string"'
    assert schema.validate_status(thing(), thing()) == []


def test_scale_is_checked_between_values_and_lists(warm: bool) -> None:
    scale = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
    tags = {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"}
    spec = {"type": "object", "required": ["z"], "properties": {"replicas": {"type": "integer"}, "tags": tags}}
    schema = made({"spec": spec}, warm=warm)
    found = schema.validate(thing(spec={"replicas": -1, "tags": ["a", "a"]}), scale=scale)
    assert [str(error) for error in found] == [
        "spec.z: Required value",
        ".spec.replicas: Invalid value: -1: should be a non-negative integer",
        'spec.tags[1]: Duplicate value: "a"',
    ]


def test_take_judges_and_admits_at_once() -> None:
    spec = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string", "default": "x"}}}
    schema = made({"spec": spec}, warm=True)
    assert schema.prune_default_and_validate(thing(spec={"a": "1", "b": "2"}), report=True) == ([], True)
    needing = thing(spec={"a": "1"})
    assert schema.prune_default_and_validate(needing, report=True) == ([], True)
    assert needing["spec"] == {"a": "1", "b": "x"}
    assert schema.prune_default_and_validate(thing(spec={"b": "x", "c": 1}), report=True) == (["spec.c"], False)
    assert schema.prune_default_and_validate(thing(spec={"a": 1, "b": "x"}), report=True) == ([], False)


def test_take_leaves_to_others_what_a_default_could_make_invalid() -> None:
    item = {"type": "object", "properties": {"k": {"type": "string", "default": "x"}, "n": {"type": "integer"}}}
    keyed = {"type": "array", "items": item, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]}
    few = {"type": "object", "maxProperties": 1, "properties": {"a": {"type": "string"}, "b": {**DEFAULTED}}}
    deep = {"type": "object", "default": {}, "properties": {"b": {**DEFAULTED}}}
    schema = made({"keyed": keyed, "few": few, "deep": deep}, warm=True)
    for given, filled in (
        ({"keyed": [{"n": 1}, {"k": "x"}]}, {"keyed": [{"k": "x", "n": 1}, {"k": "x"}], "deep": {"b": "y"}}),
        ({"few": {"a": "1"}, "deep": {}}, {"few": {"a": "1", "b": "y"}, "deep": {"b": "y"}}),
    ):
        obj = thing(**given)
        assert schema.prune_default_and_validate(obj, report=True) == ([], False)
        assert {key: value for key, value in obj.items() if key in filled} == filled
        assert schema.validate(obj)


def test_a_rule_on_the_name_is_never_judged_before_there_is_one() -> None:
    metadata = {"type": "object", "properties": {"name": {"type": "string", "maxLength": 5}}}
    schema = made({"metadata": metadata}, warm=True)
    assert schema.prune_default_and_validate(thing(), report=True) == ([], False)
    [error] = schema.validate({**thing(), "metadata": {"name": "abcdef"}})
    assert str(error) == "metadata.name: Too long: may not be more than 5 bytes"


def test_used_often_a_schema_answers_the_same() -> None:
    schema = made({"spec": {"type": "object", "properties": {"a": {"type": "integer", "default": 1}}}}, warm=False)
    for _ in range(20):
        obj = thing(spec={})
        assert schema.prune_and_default(obj, report=True) == []
        assert obj["spec"] == {"a": 1}
        assert schema.validate(obj) == []
        assert [str(error) for error in schema.validate(thing(spec={"a": "x"}))] == [
            'spec.a: Invalid value: "string": spec.a in body must be of type integer: "string"'
        ]
        converted = thing(spec={"b": 1})
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
def test_strange_schemas_break_nothing(openapi: Json, warm: bool) -> None:
    schema = CompiledSchema(openapi)
    if warm:
        schema.compile_programs()
    obj = thing(spec="text", a=[[{"b": None}]])
    schema.prune_and_default(obj, report=True)
    schema.validate(obj, thing(spec=1))
    schema.validate_status(obj)
    schema.prune_and_default_stored(obj)
    schema.prune(obj)


def test_deep_nesting_gives_an_answer_or_a_refusal(warm: bool) -> None:
    openapi: Json = {"type": "object", "properties": {"a": {"type": "string"}}}
    value: Any = {"a": "x"}
    for _ in range(450):
        openapi = {"type": "object", "properties": {"a": openapi}}
        value = {"a": value}
    schema = CompiledSchema(openapi)
    if warm:
        schema.compile_programs()
    for act in (schema.prune_and_default, schema.prune_default_and_validate):
        with contextlib.suppress(errors.BadRequestError):
            act(dict(value), report=True)
            schema.validate(dict(value))
    lists: Any = []
    for _ in range(990):
        lists = [lists]
    broad = made({"l": {"type": "array", "items": {"type": "array"}}}, warm=warm)
    broad.prune_and_default(thing(l=lists), report=True)


def test_lone_surrogates_are_only_text(warm: bool) -> None:
    schema = made({"a": {"type": "string", "pattern": "^.$", "maxLength": 3}}, warm=warm)
    assert schema.validate(thing(a="\ud800")) == []
    assert len(schema.validate(thing(a="\ud800x"))) == 1


def test_a_bound_at_the_end_of_its_range_is_none_in_the_shortest_decimal() -> None:
    schema = made({"n": {"type": "integer", "minimum": -9223372036854775808}}, warm=True)
    [error] = schema.validate(thing(n=1))
    assert "Minimum boundary value must be of type integer (default format) in n" in str(error)
