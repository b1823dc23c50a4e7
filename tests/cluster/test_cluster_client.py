"""Requests to our own API server over real TLS."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path

import pytest
import trustme

from polykind.cluster import cluster_client
from polykind.cluster.cluster_access import ClusterAccess, KubeconfigError, read_kubeconfigs
from polykind.cluster.cluster_client import ClusterClient, StatusError, UnreachableError
from polykind.contract import JsonObject
from tests.support.live import DEFINITIONS, Live, live
from tests.support.server import free_port
from tests.toolkit.crds import HOST, HOSTS, crd_manifest

NAMESPACES = "/api/v1/namespaces"


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Live]:
    async with live(tmp_path) as running:
        yield running


def access(server: Live) -> ClusterAccess:
    return read_kubeconfigs([server.server.kubeconfig])


async def test_get_create_and_patch(server: Live) -> None:
    async with ClusterClient(access(server)) as cluster:
        created = await cluster.create(
            NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "one"}}
        )
        patched = await cluster.patch(f"{NAMESPACES}/one", {"metadata": {"labels": {"a": "b"}}})
        assert await cluster.get(f"{NAMESPACES}/one") == patched
        assert created["metadata"]["uid"] == patched["metadata"]["uid"]


async def test_list_is_read_in_pages(server: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_client, "PAGE", 2)
    async with ClusterClient(access(server)) as cluster:
        whole = (await cluster.get(NAMESPACES))["items"]
        paths = []

        async def get(path: str) -> JsonObject:
            paths.append(path)
            return await ClusterClient.get(cluster, path)

        monkeypatch.setattr(cluster, "get", get)
        assert [item async for item in cluster.list_items(NAMESPACES)] == whole
        assert len(paths) == (len(whole) + 1) // 2 > 1


async def test_status_error_has_the_servers_message(server: Live) -> None:
    async with ClusterClient(access(server)) as cluster:
        with pytest.raises(StatusError) as caught:
            await cluster.get(f"{NAMESPACES}/none")
        assert (caught.value.status, str(caught.value)) == (404, 'namespaces "none" not found (404)')


async def test_wrong_token_is_rejected(server: Live) -> None:
    async with ClusterClient(dataclasses.replace(access(server), token="wrong")) as cluster:
        with pytest.raises(StatusError) as caught:
            await cluster.get(NAMESPACES)
        assert caught.value.status == 401


async def test_token_file_is_read_for_each_request(server: Live, tmp_path: Path) -> None:
    file = tmp_path / "token"
    known = dataclasses.replace(access(server), token="", token_file=file)
    async with ClusterClient(known) as cluster:
        with pytest.raises(UnreachableError, match="token cannot be read: No such file or directory"):
            await cluster.get(NAMESPACES)
        file.write_text("wrong")
        with pytest.raises(StatusError):
            await cluster.get(NAMESPACES)
        file.write_text(f"{server.server.token}\n")
        assert (await cluster.get(NAMESPACES))["kind"] == "NamespaceList"


async def test_server_of_another_ca_is_not_trusted(server: Live) -> None:
    other = trustme.CA().cert_pem.bytes()
    async with ClusterClient(dataclasses.replace(access(server), ca=other)) as cluster:
        with pytest.raises(UnreachableError, match="certificate verify failed"):
            await cluster.get(NAMESPACES)
    async with ClusterClient(dataclasses.replace(access(server), ca=other, verify=False)) as cluster:
        assert (await cluster.get(NAMESPACES))["kind"] == "NamespaceList"


async def test_tls_server_name_is_used(server: Live) -> None:
    async with ClusterClient(dataclasses.replace(access(server), server_name="localhost")) as cluster:
        assert (await cluster.get(NAMESPACES))["kind"] == "NamespaceList"
    async with ClusterClient(dataclasses.replace(access(server), server_name="elsewhere")) as cluster:
        with pytest.raises(UnreachableError, match="Hostname mismatch"):
            await cluster.get(NAMESPACES)


async def test_unreachable_server_raises() -> None:
    async with ClusterClient(ClusterAccess(f"https://127.0.0.1:{free_port()}")) as cluster:
        with pytest.raises(UnreachableError, match="Connect call failed"):
            await cluster.get(NAMESPACES)
        with pytest.raises(UnreachableError, match="Connect call failed"):
            async with aclosing(cluster.watch(NAMESPACES, "x")) as events:
                await anext(events)


async def test_watch_yields_each_change(server: Live) -> None:
    crd = await server.define(crd_manifest(HOST, HOSTS))
    name = crd["metadata"]["name"]
    async with ClusterClient(access(server)) as cluster, aclosing(cluster.watch(DEFINITIONS, name)) as events:
        async with asyncio.timeout(20):
            await anext(events)
            await cluster.patch(f"{DEFINITIONS}/{name}", {"metadata": {"labels": {"a": "b"}}})
            await anext(events)


async def test_rejected_watch_raises(server: Live) -> None:
    async with ClusterClient(dataclasses.replace(access(server), token="wrong")) as cluster:
        with pytest.raises(StatusError):
            async with aclosing(cluster.watch(DEFINITIONS, "x")) as events:
                await anext(events)


@pytest.mark.parametrize("fields", [{"ca": b"nonsense"}, {"certificate": b"nonsense", "key": b"nonsense"}])
def test_invalid_certificates_raise(fields: dict[str, bytes]) -> None:
    with pytest.raises(KubeconfigError, match="the certificates for https://x cannot be used: "):
        ClusterClient(ClusterAccess("https://x", **fields))  # type: ignore[arg-type]


async def test_client_certificate_is_sent(tmp_path: Path) -> None:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(tmp_path / "ca.crt")
    me = authority.issue_cert(common_name="me")
    async with live(tmp_path, client_ca_file=tmp_path / "ca.crt") as server:
        known = dataclasses.replace(
            access(server), token="", certificate=me.cert_chain_pems[0].bytes(), key=me.private_key_pem.bytes()
        )
        question = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
        async with ClusterClient(known) as cluster:
            answer = await cluster.create("/apis/authentication.k8s.io/v1/selfsubjectreviews", question)
    assert answer["status"]["userInfo"]["username"] == "me"
