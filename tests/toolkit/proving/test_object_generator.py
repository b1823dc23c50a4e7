from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from polykind.schema.string_formats import KNOWN_FORMATS
from polykind.toolkit.crd_versions import CRD, CRDVersion
from polykind.toolkit.proving.choices import RandomChoices
from polykind.toolkit.proving.object_generator import ObjectGenerator
from polykind.toolkit.proving.proofs import objects
from tests.toolkit.crds import crd_manifest

Schema = dict[str, Any]
TEXT: Schema = {"type": "string"}
NUMBER: Schema = {"type": "integer"}


def rules(*expressions: str) -> list[Schema]:
    return [{"rule": rule} for rule in expressions]


def item(*required: str, **properties: Schema) -> Schema:
    return {"type": "object", "properties": properties, **({"required": list(required)} if required else {})}


def listed(items: Schema, kind: str = "atomic", **more: Any) -> Schema:
    return {"type": "array", "items": items, "x-kubernetes-list-type": kind, **more}


QUANTITY: Schema = {
    "anyOf": [{"type": "integer"}, {"type": "string"}],
    "pattern": r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE])?$",
    "x-kubernetes-int-or-string": True,
}
UNION = {
    **item("type", type={**TEXT, "enum": ["A", "B", "C", "D"]}, a=TEXT, b=TEXT, c=TEXT, d=TEXT),
    "x-kubernetes-validations": rules(
        *(f"self.type == '{name.upper()}' ? has(self.{name}) : !has(self.{name})" for name in "abcd")
    ),
}
SCHEMAS: dict[str, Schema] = {
    "nullable": {**TEXT, "nullable": True},
    "enum": {**TEXT, "enum": ["one"]},
    "enum of numbers": {**NUMBER, "enum": [1, 5]},
    "bounds": {**NUMBER, "minimum": 3, "maximum": 12, "exclusiveMinimum": True, "exclusiveMaximum": True},
    "multiple": {**NUMBER, "multipleOf": 7, "minimum": 10},
    "int32": {**NUMBER, "format": "int32"},
    "int64": {**NUMBER, "format": "int64"},
    "number": {"type": "number", "minimum": 0.5, "maximum": 3},
    "negative": {"type": "number", "maximum": -2, "format": "double"},
    "length": {**TEXT, "minLength": 3, "maxLength": 4},
    "long": {**TEXT, "minLength": 200},
    "pattern and length": {**TEXT, "pattern": "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", "minLength": 9, "maxLength": 12},
    "boolean": {"type": "boolean"},
    "int or string": {"x-kubernetes-int-or-string": True},
    "quantity": QUANTITY,
    "list": {"type": "array", "items": TEXT, "minItems": 2, "maxItems": 3},
    "set": listed(NUMBER, "set", minItems=3),
    "list map": listed(
        item("name", name=TEXT, protocol={**TEXT, "default": "TCP"}, port=NUMBER),
        "map",
        minItems=2,
        **{"x-kubernetes-list-map-keys": ["name", "protocol"]},
    ),
    "map": {"type": "object", "additionalProperties": QUANTITY, "minProperties": 2, "maxProperties": 3},
    "properties bounded": {**item(a=TEXT, b=TEXT, c=TEXT), "minProperties": 1, "maxProperties": 2},
    "required": item("a", "b", a=TEXT, b=item("c", c=NUMBER)),
    "anything": {"x-kubernetes-preserve-unknown-fields": True},
    "preserved": {**item(a=TEXT), "x-kubernetes-preserve-unknown-fields": True},
    "resource": {"type": "object", "x-kubernetes-embedded-resource": True, "properties": {"spec": item(a=TEXT)}},
    "any resource": {
        "type": "object",
        "x-kubernetes-embedded-resource": True,
        "x-kubernetes-preserve-unknown-fields": True,
    },
    "one of required": {**item(a=TEXT, b=TEXT, c=TEXT), "oneOf": [{"required": [name]} for name in "abc"]},
    "any of required": {**item(a=TEXT, b=TEXT), "anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
    "none of required": {
        **item(a=TEXT, b=TEXT, c=TEXT),
        "not": {"anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
    },
    "branches of values": {
        **item("kind", kind=TEXT, size=NUMBER),
        "oneOf": [
            {"properties": {"kind": {"enum": ["small"]}, "size": {"maximum": 3}}},
            {"properties": {"kind": {"enum": ["large"]}, "size": {"minimum": 50}}, "required": ["size"]},
        ],
    },
    "all of": {**TEXT, "allOf": [{"minLength": 3}, {"pattern": "^[ab]+$"}, {"maxLength": 5}]},
    "not an enum": {**TEXT, "not": {"enum": ["a", "b"]}},
    "default": item(a={**NUMBER, "default": 4}, b={"type": "object", "default": {}, "properties": {"c": TEXT}}),
    "rule on a text": {**TEXT, "x-kubernetes-validations": rules("self.startsWith('https://')", "self.size() < 20")},
    "rule with a pattern": {**TEXT, "x-kubernetes-validations": rules(r"self.matches('^v[0-9]+\\.[0-9]+$')")},
    "rule of addresses": listed(
        {**TEXT, "maxLength": 43, "x-kubernetes-validations": rules("isCIDR(self)")}, maxItems=4
    ),
    "rule of order": {
        **item("least", "most", least=NUMBER, most=NUMBER),
        "x-kubernetes-validations": rules("self.least <= self.most"),
    },
    "union by rules": UNION,
    "rule on items": {
        "type": "array",
        "maxItems": 5,
        "items": item("name", name={**TEXT, "maxLength": 9}, main={"type": "boolean"}),
        "x-kubernetes-validations": rules("self.exists_one(one, has(one.main) && one.main)"),
    },
    "rule below": {
        **item("inner", inner=item("mode", mode={**TEXT, "maxLength": 20}, x=NUMBER)),
        "x-kubernetes-validations": rules("self.inner.mode == 'fixed' || !has(self.inner.x)"),
    },
    "rule on a map": {
        "type": "object",
        "maxProperties": 5,
        "additionalProperties": {**TEXT, "maxLength": 20},
        "x-kubernetes-validations": rules("self.all(key, int(key) > 0)"),
    },
    **{f"format {name}": {**TEXT, "format": name} for name in sorted(KNOWN_FORMATS)},
    "format date-time": {**TEXT, "format": "date-time"},
}


def version_of(schema: Schema, **spec: Any) -> CRDVersion:
    return CRD(crd_manifest({"properties": {"it": schema}, "required": ["it"]}, **spec)).versions["v1"]


@pytest.mark.parametrize("name", SCHEMAS)
def test_nearly_every_generated_object_is_valid(name: str) -> None:
    version = version_of(SCHEMAS[name])
    generator = ObjectGenerator(version)
    generated = [generator.object(RandomChoices(Random(number))) for number in range(60)]
    found = [obj for obj in generated if obj is not None]
    assert len(found) >= 45, generator.rejections
    for obj in found:
        assert version.validation_errors(obj) == []
        assert version.admit(obj) == (obj, [])


def values(schema: Schema, count: int = 200) -> list[Any]:
    generator = ObjectGenerator(version_of(schema))
    generated = [generator.object(RandomChoices(Random(number))) for number in range(count)]
    return [obj["spec"]["it"] for obj in generated if obj is not None and "it" in obj.get("spec", {})]


def test_values_cover_everything_a_schema_allows() -> None:
    assert {type(value) for value in values(SCHEMAS["int or string"])} == {int, str}
    assert None in values(SCHEMAS["nullable"])
    assert "" in values(TEXT)
    assert set(values(SCHEMAS["enum of numbers"])) == {1, 5}
    assert set(values(SCHEMAS["bounds"])) == set(range(4, 12))
    assert {len(value) for value in values({"type": "array", "items": TEXT})} >= {0, 1, 2, 3}
    assert {frozenset(value) for value in values(SCHEMAS["one of required"])} == {*map(frozenset, "abc")}
    assert {value["type"] for value in values(UNION)} == set("ABCD")
    assert any(value["x"] for value in [one["inner"] for one in values(SCHEMAS["rule below"])] if "x" in value)


def test_metadata_has_client_and_server_fields() -> None:
    generator = ObjectGenerator(version_of(TEXT))
    generated = [generator.object(RandomChoices(Random(number))) for number in range(200)]
    seen = {key for obj in generated if obj for key in obj["metadata"]}
    stored = {"uid", "resourceVersion", "generation", "creationTimestamp"}
    noted = {"labels", "annotations", "finalizers", "ownerReferences", "managedFields"}
    deleted = {"deletionTimestamp", "deletionGracePeriodSeconds"}
    assert seen == {"name", "namespace", *stored, *noted, *deleted}


def test_cluster_scoped_objects_have_no_namespace_and_valid_names() -> None:
    schema = crd_manifest({}, scope="Cluster")
    openapi = schema["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    openapi["properties"]["metadata"] = {"type": "object", "properties": {"name": {"type": "string", "pattern": "^x-"}}}
    openapi["x-kubernetes-validations"] = rules("self.metadata.name.startsWith('x-')")
    generator = ObjectGenerator(CRD(schema).versions["v1"])
    generated = [generator.object(RandomChoices(Random(number))) for number in range(20)]
    assert all(
        obj and obj["metadata"]["name"].startswith("x-") and "namespace" not in obj["metadata"] for obj in generated
    )


def test_singleton_gets_the_name_of_its_cel_rule() -> None:
    schema = crd_manifest({})
    openapi = schema["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    openapi["x-kubernetes-validations"] = rules("self.metadata.name == 'cluster'")
    generated = ObjectGenerator(CRD(schema).versions["v1"]).object(RandomChoices(Random(0)))
    assert generated is not None
    assert generated["metadata"]["name"] == "cluster"


def test_targeted_fields_are_generated_at_any_depth() -> None:
    deep: Schema = item(a={"type": "array", "items": item(b={"type": "object", "additionalProperties": item(c=TEXT)})})
    generator = ObjectGenerator(version_of(deep))
    (place,) = generator.leaf_nodes
    for number in range(30):
        obj = generator.object(RandomChoices(Random(number)), [place])
        assert obj is not None
        below = obj["spec"]["it"]["a"][0]["b"]
        assert any("c" in value for value in below.values())


def test_samples_are_used_unchanged_and_with_exchanged_fields() -> None:
    version = version_of(item(a=TEXT, b=TEXT))
    head = {"apiVersion": version.api_version, "kind": "CronTab"}
    samples: list[Schema] = [
        {**head, "metadata": {"name": "one"}, "spec": {"it": {"a": "real", "b": "1"}}},
        {**head, "metadata": {"name": "two"}, "spec": {"it": {"a": "true"}}},
    ]
    generator = ObjectGenerator(version, samples)
    generated = [generator.object(RandomChoices(Random(number))) for number in range(200)]
    assert all(sample in generated for sample in samples)
    named = [obj["spec"]["it"] for obj in generated if obj and obj["metadata"]["name"] == "one"]
    assert any(value != samples[0]["spec"]["it"] for value in named)


def test_rejections_are_counted() -> None:
    schema = {**TEXT, "x-kubernetes-validations": [{"rule": "self.size() == 77", "message": "must have 77 letters"}]}
    generator = ObjectGenerator(version_of(schema))
    assert [generator.object(RandomChoices(Random(number))) for number in range(5)] == [None] * 5
    assert generator.rejections == {"spec.it: must have 77 letters": 5}


def test_version_without_schema_has_objects() -> None:
    manifest = crd_manifest({})
    manifest["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = {
        "type": "object",
        "x-kubernetes-preserve-unknown-fields": True,
    }
    assert ObjectGenerator(CRD(manifest).versions["v1"]).object(RandomChoices(Random(0))) is not None


@settings(max_examples=30, deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_hypothesis_strategy_yields_valid_objects(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(SCHEMAS)))
    manifest = crd_manifest({"properties": {"it": SCHEMAS[name]}})
    obj = data.draw(objects(manifest, "v1"))
    assert CRD(manifest).versions["v1"].validation_errors(obj) == []
