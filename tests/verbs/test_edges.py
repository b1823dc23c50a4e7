"""Rules of lists, patches, revisions, scales and deletions that clients see at the edges."""

from __future__ import annotations

import base64
import json

import pytest

from polykind.contract import JsonObject
from tests.support.live import DEFINITIONS, Live
from tests.support.widgets import APPLY, GROUP, WIDGETS, definition
from tests.test_paths import CUP, CUPS, refusal, server

__all__ = ["server"]


def token(**fields: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(fields).encode()).rstrip(b"=").decode()


@pytest.mark.parametrize(
    ("text", "why"),
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
async def test_continue_tokens_that_cannot_be_read(server: Live, text: str, why: str) -> None:
    assert await refusal(server, "GET", f"{CUPS}?continue={text}", 400) == f"invalid continue token: {why}"


async def test_continue_tokens_are_relative_to_what_is_listed(server: Live) -> None:
    after_a = token(v="meta.k8s.io/v1", rv=-1, start="a\x00")
    listed = await server.ask("GET", f"{CUPS}?continue={after_a}")
    assert [item["metadata"]["name"] for item in listed["items"]] == ["b", "c"]
    first = await server.ask("GET", f"{CUPS}?limit=1")
    padded = first["metadata"]["continue"] + "=" * (-len(first["metadata"]["continue"]) % 4)
    assert json.loads(base64.urlsafe_b64decode(padded))["start"] == "a\x00"
    # Version 0 knows no pages, not even further ones.
    rest = await server.ask("GET", f"{CUPS}?limit=1&resourceVersion=0&continue={first['metadata']['continue']}")
    assert [item["metadata"]["name"] for item in rest["items"]] == ["b", "c"]


async def test_two_names_at_once_are_nobodys(server: Live) -> None:
    listed = await server.ask("GET", f"{CUPS}?fieldSelector=metadata.name%3Da,metadata.name%3Db")
    assert listed["items"] == []


async def test_a_patch_is_read_once_there_is_what_it_changes(server: Live) -> None:
    kind = "application/merge-patch+json"
    assert await refusal(server, "PATCH", f"{CUPS}/none", 404, b"{", kind) == 'cups.paths.example.com "none" not found'
    says = "error decoding patch: unexpected end of JSON input"
    assert await refusal(server, "PATCH", f"{CUPS}/a", 400, b"{", kind) == says
    assert await refusal(server, "PATCH", f"{CUPS}/a/scale", 400, b"{", kind) == says


async def test_a_list_of_types_is_no_type_of_a_patch(server: Live) -> None:
    path = f"{DEFINITIONS}/cups.paths.example.com"
    assert await refusal(server, "PATCH", path, 415, {}, "text/plain, text/html") == "415: Unsupported Media Type"
    says = await refusal(server, "PATCH", path, 415, {}, "text/plain, application/merge-patch+json")
    assert says.startswith("the body of the request was in an unknown format - accepted media types include: ")


async def test_a_patch_may_not_take_the_version_away(server: Live) -> None:
    says = "Internal error occurred: Object 'apiVersion' is missing in 'object has no apiVersion field'"
    answer = await refusal(server, "PATCH", f"{CUPS}/a", 500, {"apiVersion": None}, "application/merge-patch+json")
    assert answer == says


async def test_what_is_no_revision_is_passed_over_by_a_create_and_refused_by_an_update(server: Live) -> None:
    odd = {**CUP, "metadata": {"name": "d", "resourceVersion": "abc"}}
    assert (await server.ask("POST", CUPS, odd))["metadata"]["resourceVersion"] != "abc"
    assert await refusal(server, "PUT", f"{CUPS}/d", 500, odd) == 'strconv.ParseUint: parsing "abc": invalid syntax'
    set_one = {**CUP, "metadata": {"name": "e", "resourceVersion": "5"}}
    assert await refusal(server, "POST", CUPS, 500, set_one) == (
        "resourceVersion should not be set on objects to be created"
    )
    assert await server.ask("POST", f"{CUPS}?dryRun=All", set_one)


async def test_a_scale_need_not_say_what_it_is_but_must_be_one(server: Live) -> None:
    scaled = await server.ask("PUT", f"{CUPS}/a/scale", {"metadata": {"name": "a"}, "spec": {"replicas": 4}})
    assert scaled["spec"] == {"replicas": 4}
    for body in (b"{", b"[]", {**CUP, "metadata": {"name": "a"}}, {"spec": {"replicas": "4"}}):
        assert "no kind is registered for the type v1.Scale" in await refusal(
            server, "PUT", f"{CUPS}/a/scale", 400, body
        )


async def test_a_whole_number_spelled_as_a_fraction_is_judged_as_one_and_stored_as_none(server: Live) -> None:
    await server.define(definition())
    head = f'{{"apiVersion":"{GROUP}/v1","kind":"Widget","metadata":{{"name":"a"}},"spec":'
    refused = await refusal(server, "POST", WIDGETS, 422, (head + '{"note":1.0}}').encode())
    assert 'spec.note in body must be of type string: "number"' in refused
    made = await server.ask("POST", WIDGETS, (head + '{"size":2.0}}').encode())
    assert json.dumps(made["spec"]) == '{"size": 2}'


async def test_what_a_patch_spells_as_a_fraction_is_judged_as_one_and_stored_as_none(server: Live) -> None:
    await server.define(definition())
    head = f'{{"apiVersion":"{GROUP}/v1","kind":"Widget","metadata":{{"name":"a"}},"spec":'
    await server.ask("POST", WIDGETS, (head + '{"size":2}}').encode())
    merge, operations = "application/merge-patch+json", "application/json-patch+json"
    for kind, patch in (
        (merge, b'{"spec":{"note":1.0}}'),
        (operations, b'[{"op":"add","path":"/spec/note","value":1e0}]'),
    ):
        refused = await refusal(server, "PATCH", f"{WIDGETS}/a", 422, patch, kind)
        assert 'spec.note in body must be of type string: "number"' in refused
    for generation, given, stored in ((2, b"2.0", "2"), (3, b"-0.0", "0")):
        answer = await server.client.call("PATCH", f"{WIDGETS}/a", b'{"spec":{"size":%b}}' % given, merge)
        changed = json.loads(answer.body)
        assert (json.dumps(changed["spec"]), changed["metadata"]["generation"]) == (f'{{"size": {stored}}}', generation)


async def test_what_a_json_patch_repeats_in_a_value_the_object_repeats(server: Live) -> None:
    await server.define(definition())
    head = f'{{"apiVersion":"{GROUP}/v1","kind":"Widget","metadata":{{"name":"a"}},"spec":'
    await server.ask("POST", WIDGETS, (head + '{"size":2}}').encode())
    patch = b'[{"op":"add","path":"/spec","value":{"size": 1, "size":2}}]'
    path, kind = f"{WIDGETS}/a?fieldValidation=Strict", "application/json-patch+json"
    refused = await refusal(server, "PATCH", path, 422, patch, kind)
    assert refused.endswith(
        'strict decoding error: json patch duplicate field "[0].value.size", duplicate field "spec.size"'
    )
    assert '\\"spec\\":{\\"size\\":1,\\"size\\":2}' in refused


async def test_what_is_of_another_type_is_judged_but_for_its_values(server: Live) -> None:
    defined = definition()
    spec = defined["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    spec["properties"]["set"] = {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "integer"}}
    spec["x-kubernetes-validations"] = [{"rule": "self.size < 5"}]
    await server.define(defined)
    head = f'{{"apiVersion":"{GROUP}/v1","kind":"Widget","metadata":{{"name":"a"}},"spec":'
    await server.ask("POST", WIDGETS, (head + '{"size":2}}').encode())
    for patched, found in (
        (
            '"set":[1,1],"size":9',
            ["spec.set[1]: Duplicate value: 1", "spec: Invalid value: failed rule: self.size < 5"],
        ),
        ('"note":1', []),
    ):
        patch = f'{{"kind":"Gadget","spec":{{{patched}}}}}'.encode()
        refused = await refusal(server, "PATCH", f"{WIDGETS}/a", 422, patch, "application/merge-patch+json")
        told = ", ".join(['kind: Invalid value: "Gadget": must be Widget', *found])
        assert refused == f'Gadget.{GROUP} "a" is invalid: {f"[{told}]" if found else told}'


async def test_a_number_beyond_all_in_a_json_patch_is_told_with_its_field(server: Live) -> None:
    patch, kind = b'[{"op":"add","path":"/spec","value":1e400}]', "application/json-patch+json"
    assert await refusal(server, "PATCH", f"{CUPS}/a", 400, patch, kind) == (
        "error decoding patch: json: cannot unmarshal number 1e400 into "
        "Go struct field jsonPatchOp.value of type float64"
    )


async def test_the_replicas_of_a_patched_scale_may_not_be_spelled_as_a_fraction(server: Live) -> None:
    kind = "application/merge-patch+json"
    refused = await refusal(server, "PATCH", f"{CUPS}/a/scale", 422, b'{"spec":{"replicas":1.0}}', kind)
    assert refused.endswith(
        "json: cannot unmarshal number 1.0 into Go struct field ScaleSpec.spec.replicas of type int32"
    )


async def test_what_a_patch_of_a_built_in_kind_spells_as_a_fraction_is_no_integer(server: Live) -> None:
    await server.define(definition())
    path, kind = f"{DEFINITIONS}/widgets.{GROUP}", "application/merge-patch+json"
    refused = await refusal(server, "PATCH", path, 422, b'{"metadata":{"generation":1.0}}', kind)
    assert refused.endswith(
        "json: cannot unmarshal number 1.0 into Go struct field ObjectMeta.metadata.generation of type int64"
    )


async def test_a_built_in_object_that_a_patch_takes_the_version_from_is_not_read(server: Live) -> None:
    await server.define(definition())
    path, kind = f"{DEFINITIONS}/widgets.{GROUP}", "application/merge-patch+json"
    says = f"the name of the object (widgets.{GROUP} based on URL) was undeterminable: name must be provided"
    assert await refusal(server, "PATCH", path, 400, {"apiVersion": None}, kind) == says
    refused = await refusal(server, "PATCH", f"{path}?fieldValidation=Strict", 422, {"apiVersion": ""}, kind)
    assert refused.endswith(
        'strict decoding error: unknown field "metadata", unknown field "spec", unknown field "status"'
    )


async def test_the_version_that_a_strategic_patch_states_is_a_text(server: Live) -> None:
    await server.define(definition())
    path, kind = f"{DEFINITIONS}/widgets.{GROUP}", "application/strategic-merge-patch+json"
    refused = await refusal(server, "PATCH", path, 422, {"apiVersion": 1}, kind)
    assert refused.endswith('"map[apiVersion:1]": cannot convert int64 to string')


async def test_a_foreign_namespace_is_refused_before_a_missing_name(server: Live) -> None:
    says = "the namespace of the provided object does not match the namespace sent on the request"
    nowhere = {"metadata": {"namespace": "elsewhere"}}
    assert await refusal(server, "PUT", f"{CUPS}/a", 400, {**CUP, **nowhere}) == says
    assert await refusal(server, "PUT", f"{CUPS}/a/scale", 400, {**nowhere, "spec": {"replicas": 4}}) == says
    patch = {"metadata": {"namespace": "elsewhere", "name": None}}
    assert await refusal(server, "PATCH", f"{CUPS}/a", 400, patch, "application/merge-patch+json") == says


async def test_the_name_in_the_path_of_a_create_is_passed_over(server: Live) -> None:
    made = await server.ask("POST", f"{CUPS}/a", {**CUP, "metadata": {"name": "other"}})
    assert made["metadata"]["name"] == "other"
    says = 'Cup.paths.example.com "" is invalid: metadata.name: Required value: name or generateName is required'
    assert await refusal(server, "POST", f"{CUPS}/none", 422, {**CUP, "metadata": {}}) == says


async def test_a_patched_scale_is_shown_with_the_metadata_it_touches_in_order(server: Live) -> None:
    kind, bad = "application/merge-patch+json", {"spec": {"replicas": "x"}}
    untouched = await refusal(server, "PATCH", f"{CUPS}/a/scale", 422, bad, kind)
    assert '\\"metadata\\":{\\"name\\":\\"a\\",\\"namespace' in untouched
    touched = await refusal(server, "PATCH", f"{CUPS}/a/scale", 422, {**bad, "metadata": {"name": "a"}}, kind)
    assert '\\"metadata\\":{\\"creationTimestamp\\":' in touched


async def test_an_applied_scale_may_own_what_is_there_and_change_nothing(server: Live) -> None:
    applied, kind = {**CUP, "metadata": {"name": "s"}, "spec": {"n": 3}}, "application/apply-patch+yaml"
    await server.ask("PATCH", f"{CUPS}/s?fieldManager=amy", applied, kind=kind)
    scale = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "s"}, "spec": {"replicas": 3}}
    path = f"{CUPS}/s/scale?fieldManager=ben&force=true"
    assert (await server.ask("PATCH", path, scale, kind=kind))["spec"] == {"replicas": 3}
    assert await refusal(server, "PATCH", path, 500, {**scale, "spec": {"replicas": 4}}, kind) == (
        "failed to convert new object (/s; autoscaling/v1, Kind=Scale) to proper version: "
        "request to convert CR to an invalid group/version: autoscaling/v1"
    )


async def test_a_scale_that_does_not_say_its_version_loses_its_managers(server: Live) -> None:
    applied, kind = {**CUP, "metadata": {"name": "s"}, "spec": {"n": 3}}, "application/apply-patch+yaml"
    await server.ask("PATCH", f"{CUPS}/s?fieldManager=amy", applied, kind=kind)
    merge = "application/merge-patch+json"
    await server.ask("PATCH", f"{CUPS}/s/scale", {"kind": None, "metadata": {"uid": "other"}}, kind=merge)
    (owned,) = (await server.ask("GET", f"{CUPS}/s"))["metadata"]["managedFields"]
    assert owned["fieldsV1"] == {"f:spec": {".": {}, "f:n": {}}}
    await server.ask("PATCH", f"{CUPS}/s/scale", {"apiVersion": None}, kind=merge)
    (owned,) = (await server.ask("GET", f"{CUPS}/s"))["metadata"]["managedFields"]
    assert owned["fieldsV1"] == {"f:spec": {}}


async def test_an_apply_that_changes_nothing_is_held_to_its_revision(server: Live) -> None:
    kind, path = "application/apply-patch+yaml", f"{CUPS}/s?fieldManager=amy"
    odd = {**CUP, "metadata": {"name": "s", "resourceVersion": "x"}}
    says = 'strconv.ParseUint: parsing "x": invalid syntax'
    assert await refusal(server, "PATCH", path, 500, odd, kind) == says
    await server.ask("PATCH", path, {**CUP, "metadata": {"name": "s", "creationTimestamp": "x"}}, kind=kind)
    assert await refusal(server, "PATCH", path, 500, odd, kind) == says
    old = {**CUP, "metadata": {"name": "s", "resourceVersion": "1"}}
    assert "the object has been modified" in await refusal(server, "PATCH", path, 409, old, kind)


async def test_an_apply_to_the_status_does_not_give_the_rest_defaults_of_a_version_that_is_not_stored(
    server: Live,
) -> None:
    made = definition()
    stored, other = made["spec"]["versions"]
    spec = {**other["schema"]["openAPIV3Schema"]["properties"]["spec"], "default": {}}
    properties = {**other["schema"]["openAPIV3Schema"]["properties"], "spec": spec}
    other = {**other, "schema": {"openAPIV3Schema": {"type": "object", "properties": properties}}}
    await server.define({**made, "spec": {**made["spec"], "versions": [stored, other]}})
    await server.ask("POST", WIDGETS, {"apiVersion": f"{GROUP}/v1", "kind": "Widget", "metadata": {"name": "w"}})
    applied = {"apiVersion": f"{GROUP}/v2", "kind": "Widget", "status": {"ready": True}}
    path = WIDGETS.replace("/v1/", "/v2/") + "/w/status?fieldManager=amy"
    shown = await server.ask("PATCH", path, applied, kind=APPLY)
    assert shown["status"] == {"ready": True}
    assert "spec" not in shown


async def test_fields_of_a_schema_that_is_not_structural_are_owned_as_if_there_were_none(server: Live) -> None:
    spec = {"group": GROUP, "version": "v1", "names": {"plural": "widgets", "kind": "Widget"}}
    loose = {"properties": {"spec": {"properties": {"a": {"type": "string"}}}}}
    made: JsonObject = {"apiVersion": "apiextensions.k8s.io/v1beta1", "kind": "CustomResourceDefinition"}
    made |= {"metadata": {"name": f"widgets.{GROUP}"}, "spec": {**spec, "validation": {"openAPIV3Schema": loose}}}
    await server.ask("POST", DEFINITIONS.replace("/v1/", "/v1beta1/"), made)
    applied = {"apiVersion": f"{GROUP}/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"a": "x"}}
    shown = await server.ask("PATCH", f"{WIDGETS}/w?fieldManager=amy", applied, kind=APPLY)
    assert shown["metadata"]["managedFields"][0]["fieldsV1"] == {"f:spec": {".": {}, "f:a": {}}}


async def test_a_deletion_in_dry_run_that_drops_the_last_finalizer_shows_nothing(server: Live) -> None:
    await server.ask("POST", CUPS, {**CUP, "metadata": {"name": "f", "finalizers": ["foregroundDeletion"]}})
    shown = await server.ask("DELETE", f"{CUPS}/f?propagationPolicy=Background&dryRun=All")
    assert shown == CUP


async def test_the_items_of_a_built_in_list_do_not_repeat_their_kind(server: Live) -> None:
    listed = await server.ask("GET", f"{DEFINITIONS}?pretty=true")
    assert [set(item) for item in listed["items"]] == [{"metadata", "spec", "status"}]


async def test_a_partial_list_of_nothing_is_null(server: Live) -> None:
    client = server.another()
    client.accept = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
    async with client:
        assert (await client.call("GET", f"{CUPS}?labelSelector=none")).json()["items"] is None


async def test_the_first_deletion_of_a_definition_does_not_mind_the_policy(server: Live) -> None:
    deleted = await server.ask("DELETE", f"{DEFINITIONS}/cups.paths.example.com?orphanDependents=true")
    assert deleted["metadata"]["finalizers"] == ["customresourcecleanup.apiextensions.k8s.io"]


@pytest.mark.parametrize("path", [f"{CUPS}/a%25b", "/api/v1/namespaces/a%25b", f"{DEFINITIONS}/a%25b"])
@pytest.mark.parametrize("method", ["GET", "DELETE"])
async def test_a_name_that_no_object_can_have(server: Live, method: str, path: str) -> None:
    refused = await server.ask(method, path, expect=400)
    assert refused["message"] == "Name parameter invalid: \"a%b\": may not contain '%'"


async def test_a_name_that_no_object_can_have_is_not_applied(server: Live) -> None:
    sent = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": ".."}}
    path = "/api/v1/namespaces/%2e%2e?fieldManager=m"
    refused = await server.ask("PATCH", path, sent, kind="application/apply-patch+yaml", expect=400)
    assert refused["message"] == "Name parameter invalid: \"..\": may not be '..'"


async def test_an_export_is_no_longer_supported(server: Live) -> None:
    refused = await server.ask("GET", "/api/v1/namespaces/default?export=1", expect=400)
    assert refused["message"] == "the export parameter, deprecated since v1.14, is no longer supported"
    await server.ask("GET", "/api/v1/namespaces/default?export=false", expect=200)


async def test_in_a_namespace_that_no_url_can_name_nothing_is_created(server: Live) -> None:
    told = await refusal(server, "POST", CUPS.replace("default", "a%25b"), 500, CUP)
    assert told == "Internal error occurred: invalid resource name \"a%b\": [may not contain '%']"
