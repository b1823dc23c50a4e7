"""The scale of an object, as it is read."""

from __future__ import annotations

from polykind.typed.core import SCALE as MESSAGE
from polykind.typed.protobuf import encode_object
from tests.support.live import Live
from tests.support.widgets import APPLY, GROUP, WIDGETS, definition, widget

PROTOBUF = "application/vnd.kubernetes.protobuf"
SCALE = {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"}


async def scaled(server: Live) -> None:
    crd = definition()
    for version in crd["spec"]["versions"]:
        version["subresources"] = {"scale": SCALE}
    await server.define(crd)
    await server.ask("POST", WIDGETS, widget("w", size=3))


async def test_a_scale_is_read_at_a_version(server: Live) -> None:
    await scaled(server)
    reply = await server.client.call("GET", f"{WIDGETS}/w/scale?resourceVersion=x")
    assert (reply.status, reply.json()["message"]) == (
        500,
        'resourceVersion: Invalid value: "x": strconv.ParseUint: parsing "x": invalid syntax',
    )


async def test_a_scale_is_written_in_the_order_of_its_fields(server: Live) -> None:
    await scaled(server)
    plain = await server.client.call("GET", f"{WIDGETS}/w/scale")
    assert plain.body.startswith(b'{"kind":"Scale","apiVersion":"autoscaling/v1","metadata":{"name":"w","namespace":')
    pretty = await server.client.call("GET", f"{WIDGETS}/w/scale?pretty=true")
    assert pretty.body.startswith(b'{\n  "kind": "Scale",\n  "apiVersion": "autoscaling/v1",\n')


async def test_a_scale_is_sent_in_protobuf(server: Live) -> None:
    await scaled(server)
    sent = {"kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": {"name": "w"}, "spec": {"replicas": 7}}
    done = await server.ask("PUT", f"{WIDGETS}/w/scale", encode_object(sent, MESSAGE), kind=PROTOBUF)
    assert done["spec"] == {"replicas": 7}
    refused = await server.ask("PUT", f"{WIDGETS}/w/scale", b"k8s\0\x0a", kind=PROTOBUF, expect=400)
    assert refused["message"].startswith("no kind is registered for the type v1.Scale in scheme ")


async def test_the_namespace_of_what_is_applied_is_judged_before_its_name(server: Live) -> None:
    await scaled(server)
    body = {"apiVersion": f"{GROUP}/v1", "kind": "Widget", "metadata": {"name": "v", "namespace": "other"}}
    reply = await server.client.call("PATCH", f"{WIDGETS}/w?fieldManager=m", body, APPLY)
    says = "the namespace of the provided object does not match the namespace sent on the request"
    assert reply.json()["message"] == says
