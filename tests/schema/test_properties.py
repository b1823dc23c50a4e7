"""Properties that hold for every schema and object."""

from __future__ import annotations

import copy
from typing import Any

import jsonschema_rs
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from polykind import errors
from polykind.schema import CompiledSchema
from polykind.schema.node import META_KEYS
from polykind.schema.pruning import effective_default
from tests.schema import strategies

Json = dict[str, Any]
relaxed = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))


@st.composite
def cases(draw: st.DrawFn) -> tuple[Json, Json]:
    schema = draw(strategies.roots)
    return schema, draw(strategies.objects(schema))


@relaxed
@given(cases(), st.booleans())
def test_pruning_and_defaulting_is_idempotent(case: tuple[Json, Json], with_programs: bool) -> None:
    openapi, obj = case
    schema = CompiledSchema(openapi)
    if with_programs:
        schema.compile_programs()
    try:
        schema.prune_and_default(obj, report=True)
    except errors.BadRequestError:
        return
    before = copy.deepcopy(obj)
    assert schema.prune_and_default(obj, report=True) == []
    assert obj == before
    if schema.validate(obj) == []:
        schema.prune_and_default(obj, report=False)
        assert schema.validate(obj) == []
    root = schema.root
    nodes = (root.property_node(key) for key in root.property_names if key not in META_KEYS)
    if all(node is None or effective_default(node) is None for node in nodes):
        schema.prune_and_default_stored(obj)
        schema.prune(obj)
        assert obj == before


@relaxed
@given(cases())
def test_programs_agree_with_the_slow_path(case: tuple[Json, Json]) -> None:
    openapi, obj = case
    slow, fast = CompiledSchema(openapi), CompiledSchema(openapi)
    fast.compile_programs()
    first, second, third = (copy.deepcopy(obj) for _ in range(3))
    assert slow.validate(first) == fast.validate(second)
    try:
        told = slow.prune_and_default(first, report=True)
    except errors.BadRequestError:
        return
    assert fast.prune_and_default(second, report=True) == told
    assert first == second
    unknown, valid = fast.prune_default_and_validate(third, report=True)
    assert unknown == told
    assert third == first
    if valid:
        assert slow.validate(third) == []


@relaxed
@given(cases(), st.data())
def test_update_reports_no_more_errors_than_create(case: tuple[Json, Json], data: st.DataObject) -> None:
    openapi, obj = case
    old = data.draw(strategies.objects(openapi))
    schema = CompiledSchema(openapi)
    created = {str(error) for error in schema.validate(obj)}
    assert {str(error) for error in schema.validate(obj, old)} <= created


@relaxed
@given(strategies.junk, cases())
def test_preserved_field_is_never_changed(value: Any, case: tuple[Json, Json]) -> None:
    openapi, obj = case
    properties = {
        **openapi.get("properties", {}),
        "kept": {"x-kubernetes-preserve-unknown-fields": True, "nullable": True},
    }
    schema = CompiledSchema({**openapi, "properties": properties})
    obj["kept"] = copy.deepcopy(value)
    try:
        told = schema.prune_and_default(obj, report=True)
    except errors.BadRequestError:
        return
    assert obj["kept"] == value
    assert not any(path.startswith("kept") for path in told)


@relaxed
@given(strategies.junk, st.dictionaries(st.sampled_from(strategies.KEYS), strategies.junk), st.booleans())
def test_any_schema_succeeds_or_raises_bad_request(openapi: Any, obj: Json, with_programs: bool) -> None:
    keywords = ("type", "properties", "items", "allOf", "not", "enum", "default", "required", "additionalProperties")
    strange = dict.fromkeys(keywords, openapi)
    schema = CompiledSchema(
        {"properties": {"a": strange, "b": openapi}, **(openapi if isinstance(openapi, dict) else {})}
    )
    if with_programs:
        schema.compile_programs()
    try:
        schema.prune_and_default(obj, report=True)
        schema.validate(obj, copy.deepcopy(obj))
        schema.prune_and_default_stored(obj)
    except errors.APIError:
        pass


def to_json_schema(schema: Json) -> Json:
    """Convert a schema to JSON Schema draft 4, whose exclusive bounds are flags as well."""
    out: Json = {}
    for key, value in schema.items():
        if key == "properties":
            out[key] = {name: to_json_schema(below) for name, below in value.items()}
        elif key in ("items", "not") or (key == "additionalProperties" and isinstance(value, dict)):
            out[key] = to_json_schema(value)
        elif key in ("anyOf", "allOf", "oneOf"):
            out[key] = [to_json_schema(below) for below in value]
        elif key not in ("format", "default") and not key.startswith("x-") and value != []:
            out[key] = value
    if out.pop("nullable", False) and "type" in out and "enum" not in out:
        rest = {key: out.pop(key) for key in ("anyOf", "allOf", "oneOf", "not") if key in out}
        out["type"] = [out["type"], "null"]
        if rest:
            out["anyOf"] = [{"enum": [None]}, rest]
    if schema.get("x-kubernetes-int-or-string"):
        out["type"] = ["integer", "string"]
    return out


def is_comparable(schema: Any) -> bool:
    """True if a schema has no keyword that kube-apiserver interprets differently from JSON Schema."""
    if isinstance(schema, list):
        return all(map(is_comparable, schema))
    if not isinstance(schema, dict):
        return not isinstance(schema, float)
    odd = ("format", "multipleOf", "x-kubernetes-list-type", "x-kubernetes-embedded-resource", "pattern")
    bounds = isinstance(schema.get("type"), str) and schema["type"] in ("integer", "number") and "enum" in schema
    return not bounds and not any(key in schema for key in odd) and all(map(is_comparable, schema.values()))


@relaxed
@given(cases())
def test_validation_agrees_with_json_schema(case: tuple[Json, Json]) -> None:
    openapi, obj = case
    if not is_comparable(openapi) or ("nullable" in repr(openapi) and "enum" in repr(openapi)):
        return
    if any(isinstance(value, float) for value in _leaves(obj)):
        return
    oracle = jsonschema_rs.validator_for(
        {"$schema": "http://json-schema.org/draft-04/schema#", **to_json_schema(openapi)}
    )
    for with_programs in (False, True):
        schema = CompiledSchema(openapi)
        if with_programs:
            schema.compile_programs()
        assert (schema.validate(obj) == []) == oracle.is_valid(obj)


def _leaves(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [leaf for item in value.values() for leaf in _leaves(item)]
    if isinstance(value, list):
        return [leaf for item in value for leaf in _leaves(item)]
    return [value]
