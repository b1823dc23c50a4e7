"""Edge cases of lists, patches, resourceVersions, scales and deletes."""

from __future__ import annotations

import base64
import json

import pytest

from polykind.contract import JsonObject
from tests.support.live import DEFINITIONS, Live
from tests.support.widgets import APPLY, GROUP, WIDGETS, definition
from tests.test_paths import CUP, CUPS, server
from tests.test_paths import refusal as error

__all__ = ["server"]


def token(**fields: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(fields).encode()).rstrip(b"=").decode()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("bm9uZQ", "continue key is not valid: invalid character 'o' in literal null (expecting 'u')"),
        ("bm9uZQ==", "continue key is not valid: illegal base64 data at input byte 6"),
        ("a", "continue key is not valid: illegal base64 data at input byte 0"),
        (
            token(v="meta.k8s.io/v2", rv=-1, start="a"),
            "continue key is not valid: server does not recognize this encoded version meta.k8s.io/v2",
        ),
        ("bnVsbA", "continue key is not valid: server does not recognize this encoded version "),
        ("W10", "continue key is not valid: json: cannot unmarshal array into Go value of type storage.continueToken"),
        (
            token(v=1),
            "continue key is not valid: "
            "json: cannot unmarshal number into Go struct field continueToken.v of type string",
        ),
        (
            token(v="meta.k8s.io/v1", rv=1.5),
            "continue key is not valid: "
            "json: cannot unmarshal number 1.5 into Go struct field continueToken.rv of type int64",
        ),
        (
            token(v="meta.k8s.io/v1"),
            "continue key is not valid: incorrect encoded start resourceVersion (version meta.k8s.io/v1)",
        ),
        (
            token(v="meta.k8s.io/v1", rv=1),
            "continue key is not valid: encoded start key empty (version meta.k8s.io/v1)",
        ),
        (token(v="meta.k8s.io/v1", rv=-1, start="../a"), "continue key is not valid: ../a"),
        (token(v="meta.k8s.io/v1", rv=-1, start="a//b"), "continue key is not valid: a//b"),
    ],
)
async def test_list_rejects_invalid_continue_tokens(server: Live, text: str, reason: str) -> None:
    assert await error(server, "GET", f"{CUPS}?continue={text}", 400) == f"invalid continue token: {reason}"


async def test_continue_token_is_relative_to_the_listed_scope(server: Live) -> None:
    after_a = token(v="meta.k8s.io/v1", rv=-1, start="a\x00")
    listed = await server.ask("GET", f"{CUPS}?continue={after_a}")
    assert [item["metadata"]["name"] for item in listed["items"]] == ["b", "c"]
    first = await server.ask("GET", f"{CUPS}?limit=1")
    padded = first["metadata"]["continue"] + "=" * (-len(first["metadata"]["continue"]) % 4)
    assert json.loads(base64.urlsafe_b64decode(padded))["start"] == "a\x00"
    # With resourceVersion 0 the limit has no effect.
    rest = await server.ask("GET", f"{CUPS}?limit=1&resourceVersion=0&continue={first['metadata']['continue']}")
    assert [item["metadata"]["name"] for item in rest["items"]] == ["b", "c"]


async def test_list_with_contradictory_names_is_empty(server: Live) -> None:
    listed = await server.ask("GET", f"{CUPS}?fieldSelector=metadata.name%3Da,metadata.name%3Db")
    assert listed["items"] == []


async def test_patch_of_a_missing_object_is_not_decoded(server: Live) -> None:
    kind = "application/merge-patch+json"
    assert await error(server, "PATCH", f"{CUPS}/none", 404, b"{", kind) == 'cups.paths.example.com "none" not found'
    says = "error decoding patch: unexpected end of JSON input"
    assert await error(server, "PATCH", f"{CUPS}/a", 400, b"{", kind) == says
    assert await error(server, "PATCH", f"{CUPS}/a/scale", 400, b"{", kind) == says


async def test_patch_rejects_a_list_of_content_types(server: Live) -> None:
    path = f"{DEFINITIONS}/cups.paths.example.com"
    assert await error(server, "PATCH", path, 415, {}, "text/plain, text/html") == "415: Unsupported Media Type"
    says = await error(server, "PATCH", path, 415, {}, "text/plain, application/merge-patch+json")
    assert says.startswith("the body of the request was in an unknown format - accepted media types include: ")


async def test_patch_rejects_removed_api_version(server: Live) -> None:
    says = "Internal error occurred: Object 'apiVersion' is missing in 'object has no apiVersion field'"
    answer = await error(server, "PATCH", f"{CUPS}/a", 500, {"apiVersion": None}, "application/merge-patch+json")
    assert answer == says


async def test_create_ignores_and_update_rejects_a_malformed_resource_version(server: Live) -> None:
    odd = {**CUP, "metadata": {"name": "d", "resourceVersion": "abc"}}
    assert (await server.ask("POST", CUPS, odd))["metadata"]["resourceVersion"] != "abc"
    assert await error(server, "PUT", f"{CUPS}/d", 500, odd) == 'strconv.ParseUint: parsing "abc": invalid syntax'
    set_one = {**CUP, "metadata": {"name": "e", "resourceVersion": "5"}}
    assert await error(server, "POST", CUPS, 500, set_one) == (
        "resourceVersion should not be set on objects to be created"
    )
    assert await server.ask("POST", f"{CUPS}?dryRun=All", set_one)


async def test_scale_may_omit_its_type_but_not_state_another(server: Live) -> None:
    scaled = await server.ask("PUT", f"{CUPS}/a/scale", {"metadata": {"name": "a"}, "spec": {"replicas": 4}})
    assert scaled["spec"] == {"replicas": 4}
    for body in (b"{", b"[]", {**CUP, "metadata": {"name": "a"}}, {"spec": {"replicas": "4"}}):
        assert "no kind is registered for the type v1.Scale" in await error(server, "PUT", f"{CUPS}/a/scale", 400, body)


async def test_integral_float_is_validated_as_float_and_stored_as_integer(server: Live) -> None:
    await server.define(definition())
    head = f'{{"apiVersion":"{GROUP}/v1","kind":"Widget","metadata":{{"name":"a"}},"spec":'
    rejected = await error(server, "POST", WIDGETS, 422, (head + '{"note":1.0}}').encode())
    assert 'spec.note in body must be of type string: "number"' in rejected
    created = await server.ask("POST", WIDGETS, (head + '{"size":2.0}}').encode())
    assert json.dumps(created["spec"]) == '{"size": 2}'


async def test_integral_float_in_a_patch_is_validated_as_float_and_stored_as_integer(server: Live) -> None:
    await server.define(definition())
    head = f'{{"apiVersion":"{GROUP}/v1","kind":"Widget","metadata":{{"name":"a"}},"spec":'
    await server.ask("POST", WIDGETS, (head + '{"size":2}}').encode())
    merge, operations = "application/merge-patch+json", "application/json-patch+json"
    for kind, patch in (
        (merge, b'{"spec":{"note":1.0}}'),
        (operations, b'[{"op":"add","path":"/spec/note","value":1e0}]'),
    ):
        rejected = await error(server, "PATCH", f"{WIDGETS}/a", 422, patch, kind)
        assert 'spec.note in body must be of type string: "number"' in rejected
    for generation, given, stored in ((2, b"2.0", "2"), (3, b"-0.0", "0")):
        answer = await server.client.call("PATCH", f"{WIDGETS}/a", b'{"spec":{"size":%b}}' % given, merge)
        changed = json.loads(answer.body)
        assert (json.dumps(changed["spec"]), changed["metadata"]["generation"]) == (f'{{"size": {stored}}}', generation)


async def test_duplicate_field_in_a_json_patch_value_is_reported_for_the_object(server: Live) -> None:
    await server.define(definition())
    head = f'{{"apiVersion":"{GROUP}/v1","kind":"Widget","metadata":{{"name":"a"}},"spec":'
    await server.ask("POST", WIDGETS, (head + '{"size":2}}').encode())
    patch = b'[{"op":"add","path":"/spec","value":{"size": 1, "size":2}}]'
    path, kind = f"{WIDGETS}/a?fieldValidation=Strict", "application/json-patch+json"
    rejected = await error(server, "PATCH", path, 422, patch, kind)
    assert rejected.endswith(
        'strict decoding error: json patch duplicate field "[0].value.size", duplicate field "spec.size"'
    )
    assert '\\"spec\\":{\\"size\\":1,\\"size\\":2}' in rejected


async def test_object_of_another_type_is_validated_except_for_its_values(server: Live) -> None:
    defined = definition()
    spec = defined["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    spec["properties"]["set"] = {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "integer"}}
    spec["x-kubernetes-validations"] = [{"rule": "self.size < 5"}]
    await server.define(defined)
    head = f'{{"apiVersion":"{GROUP}/v1","kind":"Widget","metadata":{{"name":"a"}},"spec":'
    await server.ask("POST", WIDGETS, (head + '{"size":2}}').encode())
    for patched, result in (
        (
            '"set":[1,1],"size":9',
            ["spec.set[1]: Duplicate value: 1", "spec: Invalid value: failed rule: self.size < 5"],
        ),
        ('"note":1', []),
    ):
        patch = f'{{"kind":"Gadget","spec":{{{patched}}}}}'.encode()
        rejected = await error(server, "PATCH", f"{WIDGETS}/a", 422, patch, "application/merge-patch+json")
        reported = ", ".join(['kind: Invalid value: "Gadget": must be Widget', *result])
        assert rejected == f'Gadget.{GROUP} "a" is invalid: {f"[{reported}]" if result else reported}'


async def test_json_patch_reports_the_field_of_an_overflowing_number(server: Live) -> None:
    patch, kind = b'[{"op":"add","path":"/spec","value":1e400}]', "application/json-patch+json"
    assert await error(server, "PATCH", f"{CUPS}/a", 400, patch, kind) == (
        "error decoding patch: json: cannot unmarshal number 1e400 into "
        "Go struct field jsonPatchOp.value of type float64"
    )


async def test_scale_patch_rejects_replicas_with_a_fraction(server: Live) -> None:
    kind = "application/merge-patch+json"
    rejected = await error(server, "PATCH", f"{CUPS}/a/scale", 422, b'{"spec":{"replicas":1.0}}', kind)
    assert rejected.endswith(
        "json: cannot unmarshal number 1.0 into Go struct field ScaleSpec.spec.replicas of type int32"
    )


async def test_patch_of_a_builtin_kind_rejects_an_integral_float(server: Live) -> None:
    await server.define(definition())
    path, kind = f"{DEFINITIONS}/widgets.{GROUP}", "application/merge-patch+json"
    rejected = await error(server, "PATCH", path, 422, b'{"metadata":{"generation":1.0}}', kind)
    assert rejected.endswith(
        "json: cannot unmarshal number 1.0 into Go struct field ObjectMeta.metadata.generation of type int64"
    )


async def test_builtin_object_without_api_version_is_not_decoded(server: Live) -> None:
    await server.define(definition())
    path, kind = f"{DEFINITIONS}/widgets.{GROUP}", "application/merge-patch+json"
    says = f"the name of the object (widgets.{GROUP} based on URL) was undeterminable: name must be provided"
    assert await error(server, "PATCH", path, 400, {"apiVersion": None}, kind) == says
    rejected = await error(server, "PATCH", f"{path}?fieldValidation=Strict", 422, {"apiVersion": ""}, kind)
    assert rejected.endswith(
        'strict decoding error: unknown field "metadata", unknown field "spec", unknown field "status"'
    )


async def test_strategic_merge_patch_rejects_non_string_api_version(server: Live) -> None:
    await server.define(definition())
    path, kind = f"{DEFINITIONS}/widgets.{GROUP}", "application/strategic-merge-patch+json"
    rejected = await error(server, "PATCH", path, 422, {"apiVersion": 1}, kind)
    assert rejected.endswith('"map[apiVersion:1]": cannot convert int64 to string')


async def test_update_checks_the_namespace_before_the_name(server: Live) -> None:
    says = "the namespace of the provided object does not match the namespace sent on the request"
    nowhere = {"metadata": {"namespace": "elsewhere"}}
    assert await error(server, "PUT", f"{CUPS}/a", 400, {**CUP, **nowhere}) == says
    assert await error(server, "PUT", f"{CUPS}/a/scale", 400, {**nowhere, "spec": {"replicas": 4}}) == says
    patch = {"metadata": {"namespace": "elsewhere", "name": None}}
    assert await error(server, "PATCH", f"{CUPS}/a", 400, patch, "application/merge-patch+json") == says


async def test_create_ignores_a_name_in_the_path(server: Live) -> None:
    created = await server.ask("POST", f"{CUPS}/a", {**CUP, "metadata": {"name": "other"}})
    assert created["metadata"]["name"] == "other"
    says = 'Cup.paths.example.com "" is invalid: metadata.name: Required value: name or generateName is required'
    assert await error(server, "POST", f"{CUPS}/none", 422, {**CUP, "metadata": {}}) == says


async def test_scale_patch_error_shows_metadata_in_order(server: Live) -> None:
    kind, bad = "application/merge-patch+json", {"spec": {"replicas": "x"}}
    untouched = await error(server, "PATCH", f"{CUPS}/a/scale", 422, bad, kind)
    assert '\\"metadata\\":{\\"name\\":\\"a\\",\\"namespace' in untouched
    touched = await error(server, "PATCH", f"{CUPS}/a/scale", 422, {**bad, "metadata": {"name": "a"}}, kind)
    assert '\\"metadata\\":{\\"creationTimestamp\\":' in touched


async def test_applied_scale_can_take_ownership_but_not_change_values(server: Live) -> None:
    applied, kind = {**CUP, "metadata": {"name": "s"}, "spec": {"n": 3}}, "application/apply-patch+yaml"
    await server.ask("PATCH", f"{CUPS}/s?fieldManager=amy", applied, kind=kind)
    scale = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "s"}, "spec": {"replicas": 3}}
    path = f"{CUPS}/s/scale?fieldManager=ben&force=true"
    assert (await server.ask("PATCH", path, scale, kind=kind))["spec"] == {"replicas": 3}
    assert await error(server, "PATCH", path, 500, {**scale, "spec": {"replicas": 4}}, kind) == (
        "failed to convert new object (/s; autoscaling/v1, Kind=Scale) to proper version: "
        "request to convert CR to an invalid group/version: autoscaling/v1"
    )


async def test_scale_without_api_version_loses_its_managers(server: Live) -> None:
    applied, kind = {**CUP, "metadata": {"name": "s"}, "spec": {"n": 3}}, "application/apply-patch+yaml"
    await server.ask("PATCH", f"{CUPS}/s?fieldManager=amy", applied, kind=kind)
    merge = "application/merge-patch+json"
    await server.ask("PATCH", f"{CUPS}/s/scale", {"kind": None, "metadata": {"uid": "other"}}, kind=merge)
    (owned,) = (await server.ask("GET", f"{CUPS}/s"))["metadata"]["managedFields"]
    assert owned["fieldsV1"] == {"f:spec": {".": {}, "f:n": {}}}
    await server.ask("PATCH", f"{CUPS}/s/scale", {"apiVersion": None}, kind=merge)
    (owned,) = (await server.ask("GET", f"{CUPS}/s"))["metadata"]["managedFields"]
    assert owned["fieldsV1"] == {"f:spec": {}}


async def test_apply_that_changes_nothing_still_checks_its_resource_version(server: Live) -> None:
    kind, path = "application/apply-patch+yaml", f"{CUPS}/s?fieldManager=amy"
    odd = {**CUP, "metadata": {"name": "s", "resourceVersion": "x"}}
    says = 'strconv.ParseUint: parsing "x": invalid syntax'
    assert await error(server, "PATCH", path, 500, odd, kind) == says
    await server.ask("PATCH", path, {**CUP, "metadata": {"name": "s", "creationTimestamp": "x"}}, kind=kind)
    assert await error(server, "PATCH", path, 500, odd, kind) == says
    old = {**CUP, "metadata": {"name": "s", "resourceVersion": "1"}}
    assert "the object has been modified" in await error(server, "PATCH", path, 409, old, kind)


async def test_apply_to_status_does_not_default_the_spec_at_another_version(
    server: Live,
) -> None:
    created = definition()
    stored, other = created["spec"]["versions"]
    spec = {**other["schema"]["openAPIV3Schema"]["properties"]["spec"], "default": {}}
    properties = {**other["schema"]["openAPIV3Schema"]["properties"], "spec": spec}
    other = {**other, "schema": {"openAPIV3Schema": {"type": "object", "properties": properties}}}
    await server.define({**created, "spec": {**created["spec"], "versions": [stored, other]}})
    await server.ask("POST", WIDGETS, {"apiVersion": f"{GROUP}/v1", "kind": "Widget", "metadata": {"name": "w"}})
    applied = {"apiVersion": f"{GROUP}/v2", "kind": "Widget", "status": {"ready": True}}
    path = WIDGETS.replace("/v1/", "/v2/") + "/w/status?fieldManager=amy"
    shown = await server.ask("PATCH", path, applied, kind=APPLY)
    assert shown["status"] == {"ready": True}
    assert "spec" not in shown


async def test_fields_of_a_non_structural_schema_are_owned_as_if_untyped(server: Live) -> None:
    spec = {"group": GROUP, "version": "v1", "names": {"plural": "widgets", "kind": "Widget"}}
    loose = {"properties": {"spec": {"properties": {"a": {"type": "string"}}}}}
    created: JsonObject = {"apiVersion": "apiextensions.k8s.io/v1beta1", "kind": "CustomResourceDefinition"}
    created |= {"metadata": {"name": f"widgets.{GROUP}"}, "spec": {**spec, "validation": {"openAPIV3Schema": loose}}}
    await server.ask("POST", DEFINITIONS.replace("/v1/", "/v1beta1/"), created)
    applied = {"apiVersion": f"{GROUP}/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"a": "x"}}
    shown = await server.ask("PATCH", f"{WIDGETS}/w?fieldManager=amy", applied, kind=APPLY)
    assert shown["metadata"]["managedFields"][0]["fieldsV1"] == {"f:spec": {".": {}, "f:a": {}}}


async def test_dry_run_delete_that_drops_the_last_finalizer_returns_an_empty_object(server: Live) -> None:
    await server.ask("POST", CUPS, {**CUP, "metadata": {"name": "f", "finalizers": ["foregroundDeletion"]}})
    shown = await server.ask("DELETE", f"{CUPS}/f?propagationPolicy=Background&dryRun=All")
    assert shown == CUP


async def test_items_of_a_builtin_list_omit_their_kind(server: Live) -> None:
    listed = await server.ask("GET", f"{DEFINITIONS}?pretty=true")
    assert [set(item) for item in listed["items"]] == [{"metadata", "spec", "status"}]


async def test_items_of_an_empty_partial_list_are_null(server: Live) -> None:
    client = server.another()
    client.accept = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
    async with client:
        assert (await client.call("GET", f"{CUPS}?labelSelector=none")).json()["items"] is None


async def test_first_delete_of_a_crd_ignores_the_propagation_policy(server: Live) -> None:
    deleted = await server.ask("DELETE", f"{DEFINITIONS}/cups.paths.example.com?orphanDependents=true")
    assert deleted["metadata"]["finalizers"] == ["customresourcecleanup.apiextensions.k8s.io"]


@pytest.mark.parametrize("path", [f"{CUPS}/a%25b", "/api/v1/namespaces/a%25b", f"{DEFINITIONS}/a%25b"])
@pytest.mark.parametrize("method", ["GET", "DELETE"])
async def test_get_rejects_an_invalid_name(server: Live, method: str, path: str) -> None:
    rejected = await server.ask(method, path, expect=400)
    assert rejected["message"] == "Name parameter invalid: \"a%b\": may not contain '%'"


async def test_apply_rejects_an_invalid_name(server: Live) -> None:
    sent = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": ".."}}
    path = "/api/v1/namespaces/%2e%2e?fieldManager=m"
    rejected = await server.ask("PATCH", path, sent, kind="application/apply-patch+yaml", expect=400)
    assert rejected["message"] == "Name parameter invalid: \"..\": may not be '..'"


async def test_get_rejects_the_export_parameter(server: Live) -> None:
    rejected = await server.ask("GET", "/api/v1/namespaces/default?export=1", expect=400)
    assert rejected["message"] == "the export parameter, deprecated since v1.14, is no longer supported"
    await server.ask("GET", "/api/v1/namespaces/default?export=false", expect=200)


async def test_create_rejects_an_invalid_namespace_name(server: Live) -> None:
    reported = await error(server, "POST", CUPS.replace("default", "a%25b"), 500, CUP)
    assert reported == "Internal error occurred: invalid resource name \"a%b\": [may not contain '%']"
