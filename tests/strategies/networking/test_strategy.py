"""Ingresses and NetworkPolicies on a running server: generations, statuses and warnings."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from polykind.apis.networking.types import INGRESS
from polykind.contract import JsonObject
from polykind.strategies.networking.strategy import IngressStrategy
from tests.support.live import Live, live
from tests.support.objects import edited

POLICIES = "/apis/networking.k8s.io/v1/namespaces/default/networkpolicies"
CIDRS = "/apis/networking.k8s.io/v1/servicecidrs"
DENY_ALL: JsonObject = {
    "apiVersion": "networking.k8s.io/v1",
    "kind": "NetworkPolicy",
    "metadata": {"name": "deny"},
    "spec": {"podSelector": {}, "policyTypes": ["Ingress"], "ingress": []},
}
INGRESS_OBJECT: JsonObject = {
    "metadata": {"name": "a", "annotations": {"kubernetes.io/ingress.class": "nginx"}},
    "spec": {"defaultBackend": {"service": {"name": "s", "port": {"number": 80}}}},
    "status": {"loadBalancer": {}},
}


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Live]:
    async with live(tmp_path) as server:
        yield server


@pytest.mark.parametrize(
    ("method", "body", "kind", "generation"),
    [
        ("PUT", DENY_ALL, "application/json", 2),
        ("PATCH", {"spec": {"ingress": []}}, "application/merge-patch+json", 2),
        ("PATCH", [{"op": "add", "path": "/spec/ingress", "value": []}], "application/json-patch+json", 2),
        ("PATCH", {"spec": {"policyTypes": []}}, "application/merge-patch+json", 1),
        ("PATCH", {"metadata": {"labels": {"a": "b"}}}, "application/merge-patch+json", 1),
        ("PUT", {**DENY_ALL, "spec": {"podSelector": {}}}, "application/json", 1),
    ],
)
async def test_an_empty_list_counts_as_a_change_of_a_network_policy(
    running: Live, method: str, body: Any, kind: str, generation: int
) -> None:
    created = await running.ask("POST", POLICIES, DENY_ALL)
    assert created["spec"] == {"podSelector": {}, "policyTypes": ["Ingress"]}
    updated = await running.ask(method, f"{POLICIES}/deny", body, kind=kind)
    assert updated["spec"] == created["spec"]
    assert updated["metadata"]["generation"] == generation


async def test_the_status_endpoint_of_a_service_cidr_changes_only_the_status(running: Live) -> None:
    cidr: JsonObject = {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "ServiceCIDR",
        "metadata": {"name": "a"},
        "spec": {"cidrs": ["192.0.2.0/24"]},
    }
    created = await running.ask("POST", CIDRS, cidr)
    condition = {
        "type": "Ready",
        "status": "True",
        "reason": "R",
        "message": "",
        "lastTransitionTime": "2024-01-01T00:00:00Z",
    }
    status = {"conditions": [condition]}
    changed = edited(created, ("metadata.labels", {"a": "b"}), ("spec.cidrs", []), ("status", status))
    updated = await running.ask("PUT", f"{CIDRS}/a/status", changed)
    assert updated["status"] == status
    assert updated["spec"] == created["spec"]
    assert "labels" not in updated["metadata"]


def test_warnings_of_ingresses() -> None:
    strategy = IngressStrategy(INGRESS)
    [warning] = strategy.warnings(INGRESS_OBJECT, None)
    assert warning.startswith('annotation "kubernetes.io/ingress.class" is deprecated, please use')
    assert strategy.warnings(edited(INGRESS_OBJECT, ("spec.ingressClassName", "nginx")), None) == []
    changed = edited(INGRESS_OBJECT, ("status.loadBalancer", {"ingress": [{"ip": "2001:DB8::1"}]}))
    [warning] = strategy.warnings(changed, INGRESS_OBJECT)
    assert warning.startswith('status.loadBalancer.ingress[0]: IPv6 address "2001:DB8::1" should be in RFC 5952')
    assert strategy.warnings(INGRESS_OBJECT, INGRESS_OBJECT) == []


async def test_name_of_an_ip_address_gets_no_suffix(running: Live) -> None:
    parent = {"resource": "services", "name": "s", "namespace": "default"}
    address = {"metadata": {"generateName": "1.2.3.4"}, "spec": {"parentRef": parent}}
    created = await running.ask("POST", "/apis/networking.k8s.io/v1/ipaddresses", address)
    assert created["metadata"]["name"] == "1.2.3.4"
