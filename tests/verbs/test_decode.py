"""kube-apiserver's errors for invalid request bodies."""

from __future__ import annotations

import json

import pytest

from tests.support.live import Live
from tests.verbs.test_protobuf import THINGS

THING = "/apis/pb.example.com/v1/namespaces/default/things?dryRun=All"
NAMESPACE = "/api/v1/namespaces?dryRun=All"
UNRECOGNIZED = "the object provided is unrecognized (must be of type Thing): "
STRUCT = (
    'Go value of type struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string '
    '"json:\\"kind,omitempty\\"" }'
)
MISMATCH = "the API version in the data ({}) does not match the expected API version (pb.example.com/v1)"


@pytest.fixture
async def things(server: Live) -> Live:
    await server.define(THINGS)
    return server


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"null", UNRECOGNIZED + "Object 'Kind' is missing in 'null' (6e756c6c)"),
        (b"{}", UNRECOGNIZED + "Object 'Kind' is missing in '{}' ({})"),
        (
            b"[]",
            UNRECOGNIZED
            + f"couldn't get version/kind; json parse error: json: cannot unmarshal array into {STRUCT} (5b5d)",
        ),
        (
            b'{"apiVersion":"a/b/c","kind":"Thing"}',
            UNRECOGNIZED + 'unexpected GroupVersion string: a/b/c ({"apiVersion":"a/b/c","kind":" ...)',
        ),
        (
            b'{"apiVersion":null,"kind":"Thing"}',
            'Thing in version "" cannot be handled as a Thing: .apiVersion accessor error: <nil> is of the type <nil>, '
            "expected string",
        ),
        (
            b'{"apiVersion":"o/v3","kind":"Other","spec":{"a":1e999}}',
            'Other in version "v3" cannot be handled as a Thing: json: cannot unmarshal number 1e999 into Go value of '
            "type float64",
        ),
        (
            b'{"spec":{"a":1e999}}',
            'Thing in version "v1" cannot be handled as a Thing: json: cannot unmarshal number 1e999 into Go value of '
            "type float64",
        ),
        (
            b'{"kind":"Other","metadata":{"labels":{"a":1}}}',
            'Other in version "" cannot be handled as a Thing: json: cannot unmarshal number into Go struct field '
            "ObjectMeta.labels of type string",
        ),
        (b'{"kind":"Thing","metadata":{"name":"x"}}', MISMATCH.format("")),
        (b'{"apiVersion":"g/v9","kind":"Other","metadata":{"name":"x"},"foo":1}', MISMATCH.format("g/v9")),
    ],
)
async def test_custom_object_must_state_its_type(things: Live, body: bytes, reason: str) -> None:
    assert (await things.ask("POST", THING, body, expect=400))["message"] == reason


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", "Object 'Kind' is missing in 'null'"),
        (b"apiVersion: g/v9\n", "Object 'Kind' is missing in '{\"apiVersion\":\"g/v9\"}'"),
    ],
)
async def test_missing_kind_with_field_validation_ignore(things: Live, body: bytes, reason: str) -> None:
    reported = await things.ask("POST", f"{THING}&fieldValidation=Ignore", body, kind="application/yaml", expect=400)
    version = "v9" if body else "v1"
    assert reported["message"] == f'Thing in version "{version}" cannot be handled as a Thing: {reason}'


async def test_empty_yaml_body(things: Live) -> None:
    reported = await things.ask("POST", THING, b"", kind="application/yaml", expect=400)
    assert reported["message"] == UNRECOGNIZED + "Object 'Kind' is missing in '' (<empty>)"


async def test_strict_error_names_the_stated_kind(things: Live) -> None:
    body = b'{"apiVersion":"g/v9","kind":"Other","metadata":{"name":"x"},"spec":{"a":1,"a":2},"foo":1}'
    reported = await things.ask("POST", f"{THING}&fieldValidation=Strict", body, expect=400)
    assert reported["message"] == (
        'Other in version "v9" cannot be handled as a Other: strict decoding error: duplicate field "spec.a"'
    )


async def test_duplicate_keys_in_an_items_schema_are_ignored(server: Live) -> None:
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions?dryRun=All&fieldValidation=Strict"
    items = {"type": "object", "properties": {"list": {"type": "array", "items": "HERE"}}}
    definition = {**THINGS, "spec": {**THINGS["spec"], "versions": [{**THINGS["spec"]["versions"][0]}]}}
    definition["spec"]["versions"][0]["schema"] = {"openAPIV3Schema": items}
    text = json.dumps(definition).replace('"HERE"', '{"type":"string","type":"string"}')
    await server.ask("POST", path, text.encode(), expect=201)


async def test_duplicate_keys_in_yaml(things: Live) -> None:
    body = b"apiVersion: pb.example.com/v1\nkind: Thing\nmetadata: {name: x}\nspec:\n  a: 1\n  a: 2\n  b: 1\n  b: 2\n"
    reported = await things.ask("POST", f"{THING}&fieldValidation=Strict", body, kind="application/yaml", expect=400)
    assert reported["message"] == (
        'Thing in version "v1" cannot be handled as a Thing: strict decoding error: yaml: unmarshal errors:\n'
        '  line 6: key "a" already set in map\n  line 8: key "b" already set in map, unknown field "spec"'
    )
    warned = await things.client.call("POST", THING, body, "application/yaml")
    assert warned.status == 201
    assert warned.headers[b"warning"].split(b"\n") == [
        b'299 - "line 6: key \\"a\\" already set in map"',
        b'299 - "line 8: key \\"b\\" already set in map"',
        b'299 - "unknown field \\"spec\\""',
    ]


async def test_quote_in_an_unknown_field_is_escaped_for_builtin_types_only(things: Live) -> None:
    body = rb'{"apiVersion":"pb.example.com/v1","kind":"Thing","metadata":{"name":"x"},"a\"b":1}'
    reported = await things.ask("POST", f"{THING}&fieldValidation=Strict", body, expect=400)
    assert reported["message"].endswith('strict decoding error: unknown field "a"b"')
    reported = await things.ask("POST", f"{NAMESPACE}&fieldValidation=Strict", rb'{"a\"b":1}', expect=400)
    assert reported["message"].endswith('strict decoding error: unknown field "a\\"b"')


@pytest.mark.parametrize(
    "body", [b'{"metadata":{"name":"x"}}', b'{"apiVersion":null,"kind":"","metadata":{"name":"x"}}']
)
async def test_builtin_object_may_omit_its_type(server: Live, body: bytes) -> None:
    created = await server.ask("POST", NAMESPACE, body, expect=201)
    assert (created["kind"], created["apiVersion"]) == ("Namespace", "v1")


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (
            b'{"kind":"Other","apiVersion":"g/v9"}',
            'Other in version "v9" cannot be handled as a Namespace: no kind "Other" is registered for version "g/v9" '
            'in scheme "pkg/api/legacyscheme/scheme.go:30"',
        ),
        (
            b'{"kind":"Namespace","apiVersion":"v2"}',
            'Namespace in version "v2" cannot be handled as a Namespace: no kind "Namespace" is registered for version '
            '"v2" in scheme "pkg/api/legacyscheme/scheme.go:30"',
        ),
        (
            b'{"metadata":{"name":1}}',
            'Namespace in version "v1" cannot be handled as a Namespace: json: cannot unmarshal number into Go struct '
            "field ObjectMeta.metadata.name of type string",
        ),
        (
            b'{"kind":"Namespace","kind":"Namespace","metadata":{"name":"x"},"foo":{"a":1,"a":2}}',
            'Namespace in version "v1" cannot be handled as a Namespace: strict decoding error: '
            'duplicate field "kind", unknown field "foo"',
        ),
        (
            b'{"kind":"Namespace","foo":1,"metadata":{"name":"x","name":"x"}}',
            'Namespace in version "v1" cannot be handled as a Namespace: strict decoding error: '
            'unknown field "foo", duplicate field "metadata.name"',
        ),
        (
            b'{"kind":"Namespace","Kind":"Other","apiVersion":"v1"}',
            'Other in version "v1" cannot be handled as a Namespace: no kind "Other" is registered for version "v1" '
            'in scheme "pkg/api/legacyscheme/scheme.go:30"',
        ),
    ],
)
async def test_builtin_resource_rejects_other_kinds(server: Live, body: bytes, reason: str) -> None:
    reported = await server.ask("POST", f"{NAMESPACE}&fieldValidation=Strict", body, expect=400)
    assert reported["message"] == reason


@pytest.mark.parametrize(
    ("path", "transform", "code", "reason"),
    [
        (
            "/api/v1/namespaces/default",
            "PartialObjectMetadataList",
            406,
            "you requested PartialObjectMetadataList, but the requested object is not a list (*core.Namespace)",
        ),
        (
            "/api/v1/namespaces",
            "PartialObjectMetadata",
            406,
            "you requested PartialObjectMetadata, but the requested object is a list (*core.NamespaceList)",
        ),
        (
            "/apis/events.k8s.io/v1/events",
            "PartialObjectMetadata",
            406,
            "you requested PartialObjectMetadata, but the requested object is a list (*core.EventList)",
        ),
        (
            "/apis/pb.example.com/v1/namespaces/default/things/a",
            "PartialObjectMetadataList",
            500,
            "content is not a list",
        ),
        (
            "/apis/pb.example.com/v1/things",
            "PartialObjectMetadata",
            406,
            "you requested PartialObjectMetadata, but the requested object is a list (*unstructured.UnstructuredList)",
        ),
    ],
)
async def test_partial_metadata_of_the_wrong_shape_is_rejected(
    things: Live, path: str, transform: str, code: int, reason: str
) -> None:
    thing = {"apiVersion": "pb.example.com/v1", "kind": "Thing", "metadata": {"name": "a"}}
    await things.ask("POST", "/apis/pb.example.com/v1/namespaces/default/things", thing)
    things.client.accept = f"application/json;as={transform};g=meta.k8s.io;v=v1"
    assert (await things.ask("GET", path, expect=code))["message"] == reason


async def test_pod_is_rejected_as_a_namespace(server: Live) -> None:
    rejected = await server.ask("POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Pod"}, expect=400)
    reason = "converting (v1.Pod) to (core.Namespace): unknown conversion"
    assert rejected["message"] == f'Pod in version "v1" cannot be handled as a Namespace: {reason}'
