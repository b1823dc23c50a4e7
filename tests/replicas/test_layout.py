"""Keys and values in etcd have Kubernetes' layout, so kube-apiserver and Polykind can read each other's data."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from polykind.apis.machinery.protobuf_envelope import MAGIC
from polykind.codec.protobuf_wire import iter_fields
from polykind.server.server import Server
from polykind.server.settings import Settings
from polykind.store.etcd import EtcdAccess, EtcdStore, rpc_messages
from polykind.store.etcd.rpc_messages import bytes_field, message_field
from tests.histories.registers import definition, path, register
from tests.support.client import Client
from tests.support.etcd import Etcd

GROUP = "layout.example.com"
CRD_KEY = f"/registry/apiextensions.k8s.io/customresourcedefinitions/registers.{GROUP}"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

STORED_V1BETA1 = {
    "kind": "CustomResourceDefinition",
    "apiVersion": "apiextensions.k8s.io/v1beta1",
    "metadata": {
        "name": f"registers.{GROUP}",
        "uid": "29e87c9a-4266-4ea3-b187-4cbeabed0d65",
        "generation": 1,
        "creationTimestamp": "2026-11-15T22:04:13Z",
    },
    "spec": {
        "group": GROUP,
        "version": "v1",
        "names": {"plural": "registers", "singular": "register", "kind": "Register", "listKind": "RegisterList"},
        "scope": "Namespaced",
        "validation": {
            "openAPIV3Schema": {
                "type": "object",
                "properties": {"spec": {"type": "object", "properties": {"value": {"type": "string"}}}},
            }
        },
        "versions": [{"name": "v1", "served": True, "storage": True}],
        "conversion": {"strategy": "None"},
        "preserveUnknownFields": False,
    },
    "status": {
        "conditions": [
            {
                "type": "NamesAccepted",
                "status": "True",
                "lastTransitionTime": "2026-11-15T22:04:13Z",
                "reason": "NoConflicts",
                "message": "no conflicts found",
            },
            {
                "type": "Established",
                "status": "True",
                "lastTransitionTime": "2026-11-15T22:04:13Z",
                "reason": "InitialNamesAccepted",
                "message": "the initial names have been accepted",
            },
        ],
        "acceptedNames": {
            "plural": "registers",
            "singular": "register",
            "kind": "Register",
            "listKind": "RegisterList",
        },
        "storedVersions": ["v1"],
    },
}
STORED_OBJECT = (
    b'{"apiVersion":"layout.example.com/v1","kind":"Register","metadata":{"creationTimestamp":"2026-11-15T22:04:16Z",'
    b'"generation":1,"labels":{"x":"y"},"name":"theirs","namespace":"default",'
    b'"uid":"ccea649d-9a8a-4b99-a1ca-f3c9fd9dcacc"},"spec":{"value":"1"}}\n'
)
STORED_NAMESPACE = (
    MAGIC
    + message_field(1, bytes_field(1, b"v1") + bytes_field(2, b"Namespace"))
    + message_field(
        2,
        message_field(1, bytes_field(1, b"theirs") + bytes_field(5, b"fe2b9b23-76ab-4337-9ce4-03f5739aed34"))
        + message_field(2, bytes_field(1, b"kubernetes"))
        + message_field(3, bytes_field(1, b"Active")),
    )
)


class Raw:
    """Raw access to etcd."""

    def __init__(self, store: EtcdStore) -> None:
        self._store = store

    async def put(self, key: str, value: bytes) -> int:
        # Bypass the store, which would handle the trailing newline.
        put = message_field(2, bytes_field(1, key.encode()) + bytes_field(2, value))
        return rpc_messages.parse_revision(await self._store.client.write(rpc_messages.TXN, message_field(2, put)))

    async def get(self, key: str) -> bytes:
        answer = await self._store.client.read(rpc_messages.RANGE, rpc_messages.get_request(key.encode()))
        for field, item in iter_fields(answer):
            if field == 2:
                return bytes(next(value for number, value in iter_fields(item) if number == 5))  # type: ignore[arg-type]
        raise KeyError(key)

    async def keys(self, prefix: str) -> list[str]:
        return [item.key for item in (await self._store.range(prefix)).items]


@asynccontextmanager
async def both(cluster: Etcd, folder: Path, before: dict[str, bytes]) -> AsyncIterator[tuple[Raw, Client]]:
    """A server on an etcd that already holds data."""
    store = EtcdStore(EtcdAccess(cluster.urls))
    await store.start()
    try:
        raw = Raw(store)
        for key, value in before.items():
            await raw.put(key, value)
        settings = Settings(data_dir=folder / "data", secure_port=0, etcd_servers=tuple(cluster.urls))
        async with Server(settings) as server, Client(server.url, server.token) as client:
            yield raw, client
    finally:
        await store.close()


async def test_objects_written_by_kubernetes_are_served(cluster: Etcd, tmp_path: Path) -> None:
    before = {
        CRD_KEY: json.dumps(STORED_V1BETA1, separators=(",", ":")).encode() + b"\n",
        f"/registry/{GROUP}/registers/default/theirs": STORED_OBJECT,
        "/registry/namespaces/theirs": STORED_NAMESPACE,
        "/registry/pods/default/unknown": MAGIC + message_field(1, bytes_field(1, b"v1") + bytes_field(2, b"Pod")),
    }
    async with both(cluster, tmp_path, before) as (raw, client):
        served = (await client.call("GET", path(GROUP, "theirs"))).json()
        revision = served["metadata"].pop("resourceVersion")
        assert served == json.loads(STORED_OBJECT)
        crd = (await client.call("GET", f"{CRDS}/registers.{GROUP}")).json()
        assert crd["metadata"]["uid"] == STORED_V1BETA1["metadata"]["uid"]  # type: ignore[index]
        assert crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["type"] == "object"
        assert "preserveUnknownFields" not in crd["spec"]
        assert crd["status"] == STORED_V1BETA1["status"]
        namespace = (await client.call("GET", "/api/v1/namespaces/theirs")).json()
        assert (namespace["status"], namespace["spec"]) == ({"phase": "Active"}, {"finalizers": ["kubernetes"]})
        assert (
            await client.call("POST", path(GROUP).replace("default", "theirs"), register(GROUP, "a", "x"))
        ).status == 201
        # kube-apiserver changes an object while the server watches.
        async with Client(f"https://127.0.0.1:{client.port}", client.token) as watching:
            events = watching.lines(f"{path(GROUP)}?watch=1&resourceVersion={revision}")
            written = await raw.put(
                f"/registry/{GROUP}/registers/default/theirs", STORED_OBJECT.replace(b'"1"', b'"2"')
            )
            event = json.loads(await anext(events))
        assert (event["type"], event["object"]["spec"]) == ("MODIFIED", {"value": "2"})
        assert event["object"]["metadata"]["resourceVersion"] == str(written)
        # kube-apiserver creates a CRD while the server runs, and deletes one of ours.
        other = json.dumps(STORED_V1BETA1).replace(GROUP, f"late.{GROUP}").encode()
        await raw.put(f"/registry/apiextensions.k8s.io/customresourcedefinitions/registers.late.{GROUP}", other)
        while (reply := await client.call("GET", path(f"late.{GROUP}"))).status != 200:
            assert reply.status == 404


async def test_written_bytes_equal_those_of_kubernetes(cluster: Etcd, tmp_path: Path) -> None:
    async with both(cluster, tmp_path, {}) as (raw, client):
        assert (await client.call("POST", CRDS, definition(GROUP))).status == 201
        cluster_wide = definition(f"wide.{GROUP}")
        cluster_wide["spec"]["scope"] = "Cluster"
        assert (await client.call("POST", CRDS, cluster_wide)).status == 201
        made = (await client.call("POST", path(GROUP), register(GROUP, "ours", "1"))).json()
        wide = f"/apis/wide.{GROUP}/v1/registers"
        while (await client.call("POST", wide, register(f"wide.{GROUP}", "ours", "1"))).status == 404:
            pass
        keys = await raw.keys("/registry/")
        assert [key for key in keys if GROUP in key] == [
            CRD_KEY,
            f"/registry/apiextensions.k8s.io/customresourcedefinitions/registers.wide.{GROUP}",
            f"/registry/{GROUP}/registers/default/ours",
            f"/registry/wide.{GROUP}/registers/ours",
        ]
        assert "/registry/namespaces/default" in keys
        value = await raw.get(f"/registry/{GROUP}/registers/default/ours")
        del made["metadata"]["resourceVersion"]
        assert value == sorted_json(made)
        crd = json.loads(await raw.get(CRD_KEY))
        assert crd["apiVersion"] in ("apiextensions.k8s.io/v1", "apiextensions.k8s.io/v1beta1")
        assert crd["status"]["storedVersions"] == ["v1"]
        assert "resourceVersion" not in crd["metadata"]


def sorted_json(value: Any) -> bytes:
    """Encode JSON as Go encodes maps: sorted, compact, with a trailing newline."""
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode() + b"\n"
