"""Services: stored and served as the addresses of webhooks."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from polykind.contract import JsonObject
from tests.conversion.hook import Hook
from tests.support.kubectl import Kubectl
from tests.support.live import DEFINITIONS, Live, live
from tests.support.server import ServerProcess

SERVICES = "/api/v1/namespaces/default/services"
GROUP = "example.com"
MERGE = "application/merge-patch+json"


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Live]:
    async with live(tmp_path) as server:
        yield server


def service(name: str = "converter", **spec: object) -> JsonObject:
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec}


def external(name: str = "converter", host: str = "localhost") -> JsonObject:
    return service(name, type="ExternalName", externalName=host)


async def test_service_is_stored_with_defaults(running: Live) -> None:
    made = await running.ask("POST", SERVICES, service(ports=[{"port": 443}], selector={"app": "x"}))
    spec = made["spec"]
    assert spec.pop("clusterIPs") == [ip := spec.pop("clusterIP")]
    assert ip.startswith("10.0.0.")
    assert spec == {
        "internalTrafficPolicy": "Cluster",
        "ipFamilies": ["IPv4"],
        "ipFamilyPolicy": "SingleStack",
        "ports": [{"port": 443, "protocol": "TCP", "targetPort": 443}],
        "selector": {"app": "x"},
        "sessionAffinity": "None",
        "type": "ClusterIP",
    }
    assert made["status"] == {"loadBalancer": {}}
    patch = {"spec": {"ports": [{"port": 80, "name": "http", "targetPort": "web"}, {"port": 443, "name": "https"}]}}
    changed = await running.ask("PATCH", f"{SERVICES}/converter", patch, kind="application/strategic-merge-patch+json")
    assert [p["port"] for p in changed["spec"]["ports"]] == [80, 443]
    assert (await running.ask("GET", SERVICES))["items"][0]["spec"] == changed["spec"]
    gone = await running.ask("DELETE", f"{SERVICES}/converter")
    assert gone["kind"] == "Service"


@pytest.mark.parametrize(
    ("spec", "complaint"),
    [
        ({}, "spec.ports: Required value"),
        ({"ports": [{"port": 0}]}, "spec.ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive"),
        ({"ports": [{"port": 1}, {"port": 2}]}, "spec.ports[0].name: Required value"),
        ({"type": "ExternalName"}, "spec.externalName: Required value"),
        ({"type": "Else", "ports": [{"port": 1}]}, 'spec.type: Unsupported value: "Else": supported values: '),
        (
            {"type": "ExternalName", "externalName": "no_host"},
            'spec.externalName: Invalid value: "no_host": a lowercase',
        ),
    ],
)
async def test_invalid_service_is_rejected(running: Live, spec: JsonObject, complaint: str) -> None:
    refused = await running.ask("POST", SERVICES, service(**spec), expect=422)
    assert complaint in refused["message"]


async def test_discovery_and_openapi(running: Live) -> None:
    found = {r["name"]: r for r in (await running.ask("GET", "/api/v1"))["resources"]}
    assert found["services"]["shortNames"] == ["svc"]
    assert found["services"]["namespaced"] is True
    assert "services/status" in found
    document = await running.ask("GET", "/openapi/v3/api/v1")
    assert "io.k8s.api.core.v1.ServiceSpec" in document["components"]["schemas"]


def definition(name: str, port: int, bundle: str) -> JsonObject:
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    reference = {"name": name, "namespace": "default", "port": port, "path": "/convert"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"crontabs.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Cluster",
            "names": {"plural": "crontabs", "kind": "CronTab"},
            "versions": [{"name": v, "served": True, "storage": v == "v1", "schema": schema} for v in ("v1", "v2")],
            "conversion": {
                "strategy": "Webhook",
                "webhook": {
                    "clientConfig": {"service": reference, "caBundle": bundle},
                    "conversionReviewVersions": ["v1"],
                },
            },
        },
    }


async def test_webhook_is_resolved_by_external_name(running: Live) -> None:
    async with Hook("converter.default.svc") as hook:
        await running.define(definition("converter", hook.port, hook.bundle))
        one = {"apiVersion": f"{GROUP}/v1", "kind": "CronTab", "metadata": {"name": "one"}, "spec": {}}
        await running.ask("POST", f"/apis/{GROUP}/v1/crontabs", one)
        await running.ask("GET", f"/apis/{GROUP}/v2/crontabs/one", expect=500)
        await running.ask("POST", SERVICES, external(host="localhost"))
        await running.ask("GET", f"/apis/{GROUP}/v2/crontabs/one")
        assert [call.path.split("?")[0] for call in hook.calls] == ["/convert"]
        await running.ask("DELETE", f"{DEFINITIONS}/crontabs.{GROUP}")


async def test_services_survive_a_restart(tmp_path: Path) -> None:
    async with Hook("converter.default.svc") as hook:
        async with live(tmp_path) as server:
            await server.define(definition("converter", hook.port, hook.bundle))
            one = {"apiVersion": f"{GROUP}/v1", "kind": "CronTab", "metadata": {"name": "one"}, "spec": {}}
            await server.ask("POST", f"/apis/{GROUP}/v1/crontabs", one)
            await server.ask("POST", SERVICES, external(host="localhost"))
        async with live(tmp_path, garbage_collector=False) as server:
            await server.ask("GET", f"/apis/{GROUP}/v2/crontabs/one")


def test_kubectl_apply_and_get(server: ServerProcess, tmp_path: Path, group: str) -> None:
    kubectl, name = Kubectl(server.kubeconfig, tmp_path), f"s{group.split('.')[0]}"
    body = external(name, "example.com")
    body["spec"]["ports"] = [{"port": 443, "targetPort": 8443}]
    kubectl("apply", "-f", "-", stdin=json.dumps(body))
    kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=json.dumps(body))
    rows = kubectl("get", "svc", name).rows
    assert rows[0] == ["NAME", "TYPE", "CLUSTER-IP", "EXTERNAL-IP", "PORT(S)", "AGE"]
    assert rows[1][:5] == [name, "ExternalName", "<none>", "example.com", "443/TCP"]
    kubectl("delete", "svc", name)
