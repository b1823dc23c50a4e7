"""Paths, methods and query parameters are parsed as kube-apiserver parses them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from polykind.contract import JsonObject
from tests.support.live import Live, live

CUP: JsonObject = {"apiVersion": "paths.example.com/v1", "kind": "Cup"}
CUPS = "/apis/paths.example.com/v1/namespaces/default/cups"
NOT_FOUND = b"404 page not found\n"


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Live]:
    async with live(tmp_path) as running:
        await running.define(
            {
                "apiVersion": "apiextensions.k8s.io/v1",
                "kind": "CustomResourceDefinition",
                "metadata": {"name": "cups.paths.example.com"},
                "spec": {
                    "group": "paths.example.com",
                    "scope": "Namespaced",
                    "names": {"plural": "cups", "kind": "Cup"},
                    "versions": [
                        {
                            "name": "v1",
                            "served": True,
                            "storage": True,
                            "schema": {
                                "openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
                            },
                            "subresources": {
                                "status": {},
                                "scale": {"specReplicasPath": ".spec.n", "statusReplicasPath": ".status.n"},
                            },
                        }
                    ],
                },
            }
        )
        for name in ("a", "b", "c"):
            await running.ask("POST", CUPS, {**CUP, "metadata": {"name": name}, "spec": {"n": 1}})
        yield running


async def refusal(server: Live, method: str, path: str, expect: int, body: object = None, kind: str = "") -> str:
    answer = await server.ask(method, path, body, kind=kind or "application/json", expect=expect)
    message: str = answer["message"]
    return message


async def test_path_is_unescaped_before_it_is_split(server: Live) -> None:
    assert (await server.ask("GET", f"{CUPS}%2Fa"))["metadata"]["name"] == "a"
    assert await refusal(server, "GET", f"{CUPS}/a%2Fmore", 404) == 'cups.paths.example.com "a" not found'


async def test_empty_namespace_counts_as_no_namespace(server: Live) -> None:
    listed = await server.ask("GET", "/apis/paths.example.com/v1/namespaces//cups")
    assert len(listed["items"]) == 3


async def test_empty_name_may_have_subresources(server: Live) -> None:
    assert await refusal(server, "GET", f"{CUPS}//b", 404) == 'cups.paths.example.com "" not found'


async def test_timeout_is_validated_except_for_watches(server: Live) -> None:
    says = 'invalid timeout specified in the request URL - time: invalid duration "soon"'
    for path in ("/apis", "/apis/none.example.com/v1/x", f"{CUPS}/a", CUPS):
        assert await refusal(server, "GET", f"{path}?timeout=soon", 400) == says
    async for event in server.watch(f"{CUPS}?watch=&resourceVersion=0&timeout=soon"):
        assert event["type"] == "ADDED"
        break


async def test_documents_are_served_for_any_method(server: Live) -> None:
    assert (await server.ask("POST", "/apis/paths.example.com/v1", {}))["kind"] == "APIResourceList"
    assert (await server.ask("DELETE", "/apis"))["kind"] == "APIGroupList"
    assert await server.ask("PUT", "/apis/none.example.com/v1", {}, expect=404) == NOT_FOUND
    for path in ("/api", "/api/v1", "/apis/apiextensions.k8s.io/v1"):
        says = "the server does not allow this method on the requested resource"
        assert await refusal(server, "POST", path, 405, {}) == says


async def test_legacy_watch_paths_accept_any_method(server: Live) -> None:
    path = "/apis/paths.example.com/v1/watch/namespaces/default/cups/a"
    async with server.another() as client:
        status, _ = await client.send("DELETE", f"{path}?resourceVersion=0")
        assert status == 200
        assert b'"type":"ADDED"' in await anext(client.chunks())
    says = "fieldSelector metadata.name doesn't match requested name"
    assert await refusal(server, "GET", f"{path}?fieldSelector=metadata.name%3Db", 400) == says


async def test_watch_from_before_the_crd_gets_410(server: Live) -> None:
    since = server.server.registry.find("paths.example.com", "v1", "cups")
    assert since is not None
    event = await server.ask("GET", f"{CUPS}?watch=1&resourceVersion=1")
    assert event["object"]["message"] == f"too old resource version: 1 ({since.resource.watchable_since})"
    assert (event["type"], event["object"]["code"]) == ("ERROR", 410)
