"""The scale subresource."""

from __future__ import annotations

import asyncio

import pytest

from polykind.apis.autoscaling.types import SCALE as MESSAGE
from polykind.apis.machinery.protobuf_envelope import encode_object
from polykind.contract import JsonObject
from tests.support.live import Live
from tests.support.widgets import APPLY, GROUP, MERGE, NAME, WIDGETS, definition, widget

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
PROTOBUF = "application/vnd.kubernetes.protobuf"
SCALE = {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"}


async def scaled(server: Live) -> None:
    crd = definition()
    for version in crd["spec"]["versions"]:
        version["subresources"] = {"scale": SCALE}
    await server.define(crd)
    await server.ask("POST", WIDGETS, widget("w", size=3))


async def test_scale_is_read_at_the_requested_version(server: Live) -> None:
    await scaled(server)
    reply = await server.client.call("GET", f"{WIDGETS}/w/scale?resourceVersion=x")
    assert (reply.status, reply.json()["message"]) == (
        500,
        'resourceVersion: Invalid value: "x": strconv.ParseUint: parsing "x": invalid syntax',
    )


async def test_scale_fields_are_encoded_in_order(server: Live) -> None:
    await scaled(server)
    plain = await server.client.call("GET", f"{WIDGETS}/w/scale")
    assert plain.body.startswith(b'{"kind":"Scale","apiVersion":"autoscaling/v1","metadata":{"name":"w","namespace":')
    pretty = await server.client.call("GET", f"{WIDGETS}/w/scale?pretty=true")
    assert pretty.body.startswith(b'{\n  "kind": "Scale",\n  "apiVersion": "autoscaling/v1",\n')


async def test_scale_update_in_protobuf(server: Live) -> None:
    await scaled(server)
    sent = {"kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": {"name": "w"}, "spec": {"replicas": 7}}
    done = await server.ask("PUT", f"{WIDGETS}/w/scale", encode_object(sent, MESSAGE), kind=PROTOBUF)
    assert done["spec"] == {"replicas": 7}
    rejected = await server.ask("PUT", f"{WIDGETS}/w/scale", b"k8s\0\x0a", kind=PROTOBUF, expect=400)
    assert rejected["message"].startswith("no kind is registered for the type v1.Scale in scheme ")


async def test_scale_without_a_resource_version_succeeds_beside_other_writes(server: Live) -> None:
    await scaled(server)

    async def scale(number: int) -> None:
        async with server.another() as client:
            for turn in range(10):
                sent = {"metadata": {"name": "w"}, "spec": {"replicas": number * 10 + turn + 1}}
                reply = await client.call("PUT", f"{WIDGETS}/w/scale", sent)
                assert reply.status == 200, reply.body
                assert reply.json()["spec"] == sent["spec"]

    async def scale_at_read_version() -> int:
        async with server.another() as client:
            return (await client.call("PUT", f"{WIDGETS}/w/scale", read)).status

    await asyncio.gather(*map(scale, range(5)))
    read = await server.ask("GET", f"{WIDGETS}/w/scale")
    read["spec"]["replicas"] = 60
    assert sorted(await asyncio.gather(scale_at_read_version(), scale_at_read_version())) == [200, 409]


async def test_apply_checks_the_namespace_before_the_name(server: Live) -> None:
    await scaled(server)
    body = {"apiVersion": f"{GROUP}/v1", "kind": "Widget", "metadata": {"name": "v", "namespace": "other"}}
    reply = await server.client.call("PATCH", f"{WIDGETS}/w?fieldManager=m", body, APPLY)
    says = "the namespace of the provided object does not match the namespace sent on the request"
    assert reply.json()["message"] == says


async def anything(server: Live, spec: JsonObject, path: str) -> None:
    """Create an object without schema, whose replicas are at a path."""
    crd = definition()
    for version in crd["spec"]["versions"]:
        version["schema"]["openAPIV3Schema"] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    crd["spec"]["versions"][1]["subresources"] = {"scale": {**SCALE, "specReplicasPath": path}}
    await server.define(crd)
    await server.ask("POST", WIDGETS, widget("w", **spec))


AT_V2 = f"{WIDGETS.replace('v1', 'v2')}/w/scale"


@pytest.mark.parametrize(
    ("verb", "spec", "says"),
    [
        ("GET", {"a": True}, ".spec.a.b accessor error: true is of the type bool, expected map[string]interface{}"),
        ("GET", {"a": {"b": {"c": "3"}}}, ".spec.a.b.c accessor error: 3 is of the type string, expected int64"),
        ("GET", {"a": None}, 'Internal error occurred: the spec replicas field ".spec.a.b.c" does not exist'),
        ("PUT", {"a": None}, "value cannot be set because .spec.a is not a map[string]interface{}"),
        ("PUT", {"a": {"b": None}}, "value cannot be set because .spec.a.b is not a map[string]interface{}"),
    ],
)
async def test_scale_reports_a_value_that_blocks_the_replicas_path(
    server: Live, verb: str, spec: JsonObject, says: str
) -> None:
    await anything(server, spec, ".spec.a.b.c")
    sent = {"kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": {"name": "w"}, "spec": {"replicas": 7}}
    reply = await server.client.call(verb, AT_V2, sent if verb == "PUT" else None)
    assert (reply.status, reply.json()["message"]) == (500, says)


async def test_scale_truncates_replicas_to_32_bits(server: Live) -> None:
    await anything(server, {"n": 2**32 + 5}, ".spec.n")
    assert (await server.ask("GET", AT_V2))["spec"] == {"replicas": 5}


async def test_scale_update_checks_the_uid_before_the_replicas(server: Live) -> None:
    await anything(server, {"n": "many"}, ".spec.n")
    meta = {"name": "w", "uid": "another"}
    sent = {"kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": meta, "spec": {"replicas": 7}}
    await server.ask("PUT", AT_V2, sent, expect=409)


async def test_scale_keeps_managers_at_unserved_versions(server: Live) -> None:
    await scaled(server)
    await server.client.call("PATCH", f"{WIDGETS.replace('v1', 'v2')}/w?fieldManager=m", {"spec": {"note": "n"}}, MERGE)
    crd = await server.ask("GET", f"{DEFINITIONS}/{NAME}")
    crd["spec"]["versions"][1]["served"] = False
    await server.ask("PUT", f"{DEFINITIONS}/{NAME}", crd)
    sent = {"kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": {"name": "w"}, "spec": {"replicas": 7}}
    await server.ask("PUT", f"{WIDGETS}/w/scale", sent)
    result = await server.ask("GET", f"{WIDGETS}/w")
    assert f"{GROUP}/v2" in [cached["apiVersion"] for cached in result["metadata"]["managedFields"]]


async def test_scale_patch_reports_the_first_invalid_value(server: Live) -> None:
    await scaled(server)
    patch = {"metadata": {"name": 0, "labels": "none"}}
    reply = await server.client.call("PATCH", f"{WIDGETS}/w/scale", patch, MERGE)
    assert reply.json()["message"].endswith(
        "json: cannot unmarshal string into Go struct field ObjectMeta.metadata.labels of type map[string]string"
    )
