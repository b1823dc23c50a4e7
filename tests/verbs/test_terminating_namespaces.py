"""Requests in terminating namespaces."""

from __future__ import annotations

from tests.support.live import Live
from tests.support.widgets import GROUP, WIDGETS, definition, widget


async def test_create_in_a_terminating_namespace_reports_the_generate_name(server: Live) -> None:
    await server.ask("POST", "/api/v1/namespaces", {"metadata": {"name": "gone", "finalizers": ["a.b/c"]}})
    await server.ask("DELETE", "/api/v1/namespaces/gone")
    await server.define(definition())
    path = WIDGETS.replace("/default/", "/gone/")
    reply = await server.client.call("POST", path, {**widget("w"), "metadata": {"generateName": "cup-"}})
    assert reply.json()["details"]["name"] == "cup-"


async def test_terminating_namespace_ignores_propagation_policies(server: Live) -> None:
    held = {"metadata": {"name": "held"}, "spec": {"finalizers": ["kubernetes", "example.com/held"]}}
    await server.ask("POST", "/api/v1/namespaces", held)
    await server.ask("DELETE", "/api/v1/namespaces/held")
    again = await server.ask("DELETE", "/api/v1/namespaces/held?propagationPolicy=Foreground")
    assert "finalizers" not in again["metadata"]


async def test_namespace_delete_without_orphans_is_foreground(server: Live) -> None:
    await server.ask("POST", "/api/v1/namespaces", {"metadata": {"name": "late"}})
    going = await server.ask("DELETE", "/api/v1/namespaces/late?orphanDependents=false", expect=202)
    assert going["metadata"]["finalizers"] == ["foregroundDeletion"]


async def test_finalize_endpoint_does_not_own_the_namespace_status(server: Live) -> None:
    await server.ask("POST", "/api/v1/namespaces", {"metadata": {"name": "own"}})
    body = {"metadata": {"name": "own"}, "spec": {"finalizers": ["kubernetes", "example.com/held"]}}
    done = await server.ask("PUT", "/api/v1/namespaces/own/finalize", body)
    owned = [e["fieldsV1"] for e in done["metadata"]["managedFields"] if e.get("subresource") == "finalize"]
    assert owned == [{"f:spec": {"f:finalizers": {}}}]


async def test_update_that_removes_the_last_finalizer_returns_the_sent_object(server: Live) -> None:
    crd = definition()
    schema = crd["spec"]["versions"][1]["schema"]["openAPIV3Schema"]
    only = {"type": "object", "properties": {"here": {"type": "string", "default": "yes"}}}
    crd["spec"]["versions"][1]["schema"] = {"openAPIV3Schema": {**schema, "properties": {"spec": only}}}
    await server.define(crd)
    await server.ask("POST", WIDGETS, widget("w", meta={"finalizers": ["a.b/c"]}))
    going = await server.ask("DELETE", f"{WIDGETS}/w")
    stated = {"name": "w", "resourceVersion": going["metadata"]["resourceVersion"]}
    body = {**widget("w"), "apiVersion": f"{GROUP}/v2", "metadata": stated}
    gone = await server.ask("PUT", f"{WIDGETS}/w".replace("/v1/", "/v2/"), body)
    assert gone["spec"] == {"here": "yes"}
