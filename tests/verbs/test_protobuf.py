"""Protobuf requests and responses of Go's typed clients."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from polykind import errors
from polykind.apis import machinery
from polykind.apis.apiextensions.types import CUSTOM_RESOURCE_DEFINITION_V1 as DEFINITION
from polykind.apis.core.types import NAMESPACE
from polykind.apis.machinery.protobuf_envelope import decode_envelope, encode_envelope, encode_object
from polykind.apis.machinery.protobuf_reader import decode_message
from polykind.apis.machinery.structs import Struct
from polykind.apis.meta.types import DELETE_OPTIONS, PARTIAL_OBJECT_METADATA, STATUS
from polykind.codec.protobuf_wire import iter_fields
from polykind.contract import JsonObject
from polykind.operations.operation import Operation
from polykind.verbs.watch_encoding import ProtobufEncoder
from tests.support.client import Client, Reply
from tests.support.crontabs import crontab, definition
from tests.support.live import DEFINITIONS, Live

PROTOBUF = "application/vnd.kubernetes.protobuf"
NAMESPACES = "/api/v1/namespaces"
GROUP = "stable.example.com"
TABS = f"/apis/{GROUP}/v1/namespaces/default/crontabs"
PARTIAL = f"{PROTOBUF};as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
PARTIAL_LIST = f"{PROTOBUF};as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"

NOT_FOUND = (
    b"k8s\x00\n\x0c\n\x02v1\x12\x06Status\x12U\n\x06\n\x00\x12\x00\x1a\x00\x12\x07Failure"
    b'\x1a\x1bnamespaces "nope" not found"\x08NotFound*\x18\n\x04nope\x12\x00\x1a\nnamespaces(\x002\x000\x94\x03'
    b'\x1a\x00"\x00'
)
NOT_ACCEPTABLE = (
    b"k8s\x00\n\x0c\n\x02v1\x12\x06Status\x12\x99\x01\n\x06\n\x00\x12\x00\x1a\x00\x12\x07Failure\x1atonly the "
    b"following media types are accepted: application/json, application/yaml, application/vnd.kubernetes.protobuf"
    b'"\rNotAcceptable0\x96\x03\x1a\x00"\x00'
)
UNAUTHORIZED = (
    b"k8s\x00\n\x0c\n\x02v1\x12\x06Status\x120\n\x06\n\x00\x12\x00\x1a\x00\x12\x07Failure"
    b'\x1a\x0cUnauthorized"\x0cUnauthorized0\x91\x03\x1a\x00"\x00'
)
EXPIRED = (
    b"\x00\x00\x00b\n\x05ERROR\x12Y\nWk8s\x00\n\x0c\n\x02v1\x12\x06Status\x12?\n\x06\n\x00\x12\x00\x1a\x00\x12\x07Failure"
    b'\x1a too old resource version: 1 (99)"\x07Expired0\x9a\x03\x1a\x00"\x00'
)
APIGROUP = (
    b"k8s\x00\n\x0e\n\x02v1\x12\x08APIGroup\x12B\n\x0epb.example.com\x12\x17\n\x11pb.example.com/v1\x12\x02v1"
    b'\x1a\x17\n\x11pb.example.com/v1\x12\x02v1\x1a\x00"\x00'
)
RESOURCES = (
    b"k8s\x00\n\x15\n\x02v1\x12\x0fAPIResourceList\x12\x80\x02\n\x11pb.example.com/v1\x12o\n\x06things\x10\x01"
    b'\x1a\x05Thing"C\n\x06delete\n\x10deletecollection\n\x03get\n\x04list\n\x05patch\n\x06create\n\x06update'
    b"\n\x05watch2\x05thingB\x00J\x00R\x0cnbDf/Xi37n4=\x126\n\rthings/status\x10\x01\x1a\x05Thing"
    b'"\x14\n\x03get\n\x05patch\n\x06update2\x00B\x00J\x00R\x00\x12B\n\x0cthings/scale\x10\x01\x1a\x05Scale'
    b'"\x14\n\x03get\n\x05patch\n\x06update2\x00B\x0bautoscalingJ\x02v1R\x00\x1a\x00"\x00'
)
NAMESPACES_ENTRY = (
    b'\x12\xba\x01\n\nnamespaces\x12\x0f\n\x00\x12\x00\x1a\tNamespace\x1a\x07Cluster"\tnamespace*\x06create*\x06delete'
    b'*\x03get*\x04list*\x05patch*\x06update*\x05watch2\x02nsB#\n\x08finalize\x12\x0f\n\x00\x12\x00\x1a\tNamespace"\x06update'
)
"""Responses recorded from kube-apiserver."""

THINGS: JsonObject = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "things.pb.example.com"},
    "spec": {
        "group": "pb.example.com",
        "scope": "Namespaced",
        "names": {"plural": "things", "kind": "Thing"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object"}},
                "subresources": {
                    "status": {},
                    "scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"},
                },
            }
        ],
    },
}


def read(data: bytes, type_: Struct) -> JsonObject:
    api_version, kind, message = decode_envelope(data)
    fields = decode_message(message, type_)
    return machinery.decode({"kind": kind, "apiVersion": api_version, **fields}, type_, report=False)[0]


def items(data: bytes, type_: Struct) -> list[JsonObject]:
    _, _, message = decode_envelope(data)
    return [
        decode_message(raw, type_) for number, raw in iter_fields(message) if number == 2 and isinstance(raw, bytes)
    ]


def written(obj: Any, type_: Struct) -> bytes:
    return encode_object(machinery.decode(obj, type_, report=False)[0], type_)


@pytest.fixture
def client(server: Live) -> Client:
    server.client.accept = PROTOBUF
    return server.client


async def call(client: Client, method: str, path: str, body: bytes = b"", accept: str = PROTOBUF) -> Reply:
    client.accept = accept
    return await client.call(method, path, body, PROTOBUF)


async def events(server: Live, path: str, type_: Struct, accept: str, count: int) -> list[tuple[str, Any]]:
    """Return the first events of a protobuf watch: length-prefixed messages of a type and an object."""
    result: list[tuple[str, Any]] = []
    async with server.another() as client:
        client.accept = accept
        status, headers = await client.send("GET", path)
        assert (status, headers[b"content-type"]) == (200, b"application/vnd.kubernetes.protobuf;stream=watch")
        data = b""
        async for chunk in client.chunks():
            data += chunk
            while len(result) < count and len(data) > 4:
                (size,) = struct.unpack(">I", data[:4])
                result.append(event(data[4 : 4 + size], type_))
                data = data[4 + size :]
            if len(result) == count:
                break
    return result


def event(data: bytes, type_: Struct) -> tuple[str, Any]:
    frame = dict(iter_fields(data))
    kind, raw = frame[1], frame[2]
    assert isinstance(kind, bytes)
    assert isinstance(raw, bytes)
    ((number, encoded),) = iter_fields(raw)
    assert number == 1
    assert isinstance(encoded, bytes)
    return kind.decode(), read(encoded, STATUS if kind == b"ERROR" else type_)


async def test_crd_lifecycle_in_protobuf(client: Client) -> None:
    created = await call(client, "POST", DEFINITIONS, written(definition(GROUP), DEFINITION))
    assert (created.status, created.headers[b"content-type"]) == (201, PROTOBUF.encode())
    crd = read(created.body, DEFINITION)
    assert (crd["kind"], crd["apiVersion"]) == ("CustomResourceDefinition", "apiextensions.k8s.io/v1")
    name = crd["metadata"]["name"]
    result = await call(client, "GET", f"{DEFINITIONS}/{name}")
    crd = read(result.body, DEFINITION)
    assert {c["type"]: c["status"] for c in crd["status"]["conditions"]}["Established"] == "True"
    client.accept = "application/json"
    assert (await client.call("GET", f"{DEFINITIONS}/{name}")).json() == crd
    crd["metadata"]["labels"] = {"a": "1"}
    changed = await call(client, "PUT", f"{DEFINITIONS}/{name}", written(crd, DEFINITION))
    assert read(changed.body, DEFINITION)["metadata"]["labels"] == {"a": "1"}
    client.accept = PROTOBUF
    patch = b'{"metadata":{"labels":{"b":"2"}}}'
    patched = await client.call("PATCH", f"{DEFINITIONS}/{name}", patch, "application/strategic-merge-patch+json")
    assert read(patched.body, DEFINITION)["metadata"]["labels"] == {"a": "1", "b": "2"}
    listed = await call(client, "GET", f"{DEFINITIONS}?labelSelector=a=1")
    assert decode_envelope(listed.body)[:2] == ("apiextensions.k8s.io/v1", "CustomResourceDefinitionList")
    assert [item["metadata"]["name"] for item in items(listed.body, DEFINITION)] == [name]
    options = written({"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": {"uid": "other"}}, DELETE_OPTIONS)
    rejected = await call(client, "DELETE", f"{DEFINITIONS}/{name}", options)
    assert (rejected.status, read(rejected.body, STATUS)["reason"]) == (409, "Conflict")
    deleted = await call(client, "DELETE", f"{DEFINITIONS}/{name}", encode_envelope("v1", "DeleteOptions", b""))
    assert deleted.status == 200, deleted


async def test_errors_are_sent_in_protobuf(client: Client) -> None:
    missing = await call(client, "GET", f"{NAMESPACES}/nope")
    assert (missing.status, missing.headers[b"content-type"], missing.body) == (404, PROTOBUF.encode(), NOT_FOUND)
    client.token = "nobody's"
    assert (await call(client, "GET", NAMESPACES)).body == UNAUTHORIZED


async def test_namespace_in_protobuf_may_omit_its_type(client: Client) -> None:
    created = await call(client, "POST", NAMESPACES, encode_envelope("", "", b"\n\x06\n\x04bare"))
    assert read(created.body, NAMESPACE)["status"] == {"phase": "Active"}


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", "the object provided is unrecognized (must be of type Namespace): empty data (<empty>)"),
        (b"k8s\x00", "the object provided is unrecognized (must be of type Namespace): empty body (6b387300)"),
        (
            b"\x00\x01\x02",
            "the object provided is unrecognized (must be of type Namespace): provided data does not appear to be a "
            "protobuf message, expected prefix [107 56 115 0] (000102)",
        ),
        (
            b"k8s\x00\x0a\x0c\x0a",
            "the object provided is unrecognized (must be of type Namespace): unexpected EOF (6b3873000a0c0a)",
        ),
        (
            encode_envelope("v1", "Namespace", b"\n\x06\n"),
            'Namespace in version "v1" cannot be handled as a Namespace: unexpected EOF',
        ),
        (
            encode_envelope("v1", "Namespace", b"\x08\x06"),
            'Namespace in version "v1" cannot be handled as a Namespace: '
            "proto: wrong wireType = 0 for field ObjectMeta",
        ),
        (
            encode_envelope("v2", "Namespace", b""),
            'Namespace in version "v2" cannot be handled as a Namespace: no kind "Namespace" is registered for '
            'version "v2" in scheme "pkg/api/legacyscheme/scheme.go:30"',
        ),
    ],
)
async def test_malformed_protobuf_namespaces_are_rejected(client: Client, body: bytes, reason: str) -> None:
    rejected = await call(client, "POST", NAMESPACES, body)
    assert (rejected.status, read(rejected.body, STATUS)["message"]) == (400, reason)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"\x00", "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]"),
        (b"k8s\x00", "empty body"),
        (encode_envelope("v1", "DeleteOptions", b"\x08"), "unexpected EOF"),
        (encode_envelope("v1", "DeleteOptions", b"\n\x00"), "proto: wrong wireType = 2 for field GracePeriodSeconds"),
        (
            encode_envelope("v1", "Pod", b""),
            'no kind "Pod" is registered for version "v1" in scheme '
            '"k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme/register.go:27"',
        ),
    ],
)
async def test_malformed_protobuf_delete_options_are_rejected(client: Client, body: bytes, reason: str) -> None:
    rejected = await call(client, "DELETE", f"{NAMESPACES}/nope", body)
    assert (rejected.status, read(rejected.body, STATUS)["message"]) == (400, reason)


async def test_only_metadata_of_custom_objects_is_sent_in_protobuf(server: Live, client: Client) -> None:
    client.accept = "application/json"
    await server.define(definition(GROUP))
    created = await server.ask("POST", TABS, crontab(GROUP))
    name = created["metadata"]["name"]
    for path in (f"{TABS}/{name}", TABS, f"{TABS}?watch=1"):
        rejected = await call(client, "GET", path)
        assert (rejected.status, rejected.body) == (406, NOT_ACCEPTABLE)
    fallback = await call(client, "GET", f"{TABS}/{name}", accept=f"{PROTOBUF},application/json")
    assert fallback.json() == created
    assert (await call(client, "POST", TABS, encode_envelope(f"{GROUP}/v1", "CronTab", b""), accept="")).status == 415
    one = await call(client, "GET", f"{TABS}/{name}", accept=PARTIAL)
    assert read(one.body, PARTIAL_OBJECT_METADATA) == {
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": created["metadata"],
    }
    listed = await call(client, "GET", TABS, accept=PARTIAL_LIST)
    assert decode_envelope(listed.body)[:2] == ("meta.k8s.io/v1", "PartialObjectMetadataList")
    assert [item["metadata"]["uid"] for item in items(listed.body, PARTIAL_OBJECT_METADATA)] == [
        created["metadata"]["uid"]
    ]
    ((kind, obj),) = await events(server, f"{TABS}?watch=1", PARTIAL_OBJECT_METADATA, PARTIAL, 1)
    assert (kind, obj["metadata"]["name"]) == ("ADDED", name)
    gone = await call(client, "DELETE", f"{TABS}/{name}", encode_envelope("v1", "DeleteOptions", b""), accept=PARTIAL)
    assert read(gone.body, STATUS)["details"]["name"] == name


async def test_v1beta1_metadata_list_has_other_field_numbers(client: Client) -> None:
    listed = await call(client, "GET", f"{NAMESPACES}?limit=1", accept=PARTIAL_LIST.replace("v=v1", "v=v1beta1"))
    _, _, message = decode_envelope(listed.body)
    assert [number for number, _ in iter_fields(message)] == [1, 2]
    first = next(raw for number, raw in iter_fields(message) if number == 1)
    assert isinstance(first, bytes)
    assert decode_message(first, PARTIAL_OBJECT_METADATA)["metadata"]["name"] == "default"


async def test_watch_of_builtin_resources_in_protobuf(server: Live, client: Client) -> None:
    requested = (
        f"{NAMESPACES}?watch=1&allowWatchBookmarks=true&sendInitialEvents=true"
        "&resourceVersionMatch=NotOlderThan&fieldSelector=metadata.name=default"
    )
    added, bookmark = await events(server, requested, NAMESPACE, f"{PROTOBUF};stream=watch", 2)
    assert (added[0], added[1]["metadata"]["name"]) == ("ADDED", "default")
    assert (bookmark[0], bookmark[1]["kind"]) == ("BOOKMARK", "Namespace")
    assert bookmark[1]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}


async def test_watch_error_in_protobuf(server: Live, client: Client) -> None:
    version = server.server.registry.find("", "v1", "namespaces")
    assert version is not None
    projection = ProtobufEncoder(Operation.by_server(server.server.backend, "list", version, ""))
    assert projection.error(errors.ExpiredError("too old resource version: 1 (99)")) == EXPIRED


async def test_discovery_in_protobuf(server: Live, client: Client) -> None:
    client.accept = "application/json"
    await server.define(THINGS)
    for path, document in (("/apis/pb.example.com", APIGROUP), ("/apis/pb.example.com/v1", RESOURCES)):
        result = await call(client, "GET", path)
        assert (result.status, result.headers[b"content-type"], result.body) == (200, PROTOBUF.encode(), document)
    # kube-apiserver omits the version in the core group's own document.
    for path, kind in (
        ("/api", ("", "APIVersions")),
        ("/api/v1", ("", "APIResourceList")),
        ("/apis", ("v1", "APIGroupList")),
    ):
        assert decode_envelope((await call(client, "GET", path)).body)[:2] == kind


async def test_aggregated_discovery_in_protobuf(client: Client) -> None:
    parameters = ";g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    aggregated = await call(client, "GET", "/api", accept=f"{PROTOBUF}{parameters},application/json{parameters}")
    assert aggregated.headers[b"content-type"] == f"{PROTOBUF}{parameters}".encode()
    assert decode_envelope(aggregated.body)[:2] == ("apidiscovery.k8s.io/v2", "APIGroupDiscoveryList")
    assert NAMESPACES_ENTRY in aggregated.body
