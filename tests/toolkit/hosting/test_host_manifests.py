"""Manifests that run a host."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from polykind.toolkit.hosting.host_manifests import HostManifests
from polykind.toolkit.hosting.webhook_endpoint import WebhookEndpoint

STANZA = """\
# spec:
#   conversion:
#     strategy: Webhook
#     webhook:
#       conversionReviewVersions:
#       - v1
#       clientConfig:
#         service:
#           namespace: crontabs
#           name: converter
#           port: 443
#           path: /convert
"""


@pytest.fixture(scope="module")
def text() -> str:
    where = WebhookEndpoint.of_service("crontabs/converter")
    return HostManifests("me/crontabs:1", where, ["conversions:crontabs"], ["crontabs.stable.example.com"]).text()


@pytest.fixture(scope="module")
def documents(text: str) -> dict[str, Any]:
    return {document["kind"]: document for document in yaml.safe_load_all(text) if document}


def test_manifests_have_the_expected_kinds(documents: dict[str, Any]) -> None:
    assert list(documents) == [
        "ServiceAccount", "ClusterRole", "Role", "ClusterRoleBinding", "RoleBinding", "Service", "Deployment"
    ]  # fmt: skip


def test_conversion_is_printed_in_comments(text: str) -> None:
    assert text.endswith(STANZA)
    assert "#   kubectl patch crd crontabs.stable.example.com --type=merge --patch-file=conversion.yaml\n" in text


def test_rbac_grants_only_what_is_needed(documents: dict[str, Any]) -> None:
    assert documents["ClusterRole"]["rules"] == [
        {
            "apiGroups": ["apiextensions.k8s.io"],
            "resources": ["customresourcedefinitions"],
            "resourceNames": ["crontabs.stable.example.com"],
            "verbs": ["get", "list", "watch", "patch"],
        },
        {"apiGroups": ["stable.example.com"], "resources": ["crontabs"], "verbs": ["list"]},
    ]
    assert documents["Role"]["rules"] == [
        {"apiGroups": [""], "resources": ["secrets"], "verbs": ["create"]},
        {
            "apiGroups": [""],
            "resources": ["secrets"],
            "resourceNames": ["converter-certificates"],
            "verbs": ["get", "patch"],
        },
    ]
    for kind in ("ClusterRole", "Role"):
        bound = documents[f"{kind}Binding"]
        assert bound["roleRef"]["name"] == documents[kind]["metadata"]["name"]
        assert bound["subjects"] == [{"kind": "ServiceAccount", "name": "converter", "namespace": "crontabs"}]


def test_service_publishes_not_ready_addresses(documents: dict[str, Any]) -> None:
    service, template = documents["Service"]["spec"], documents["Deployment"]["spec"]["template"]
    assert service["publishNotReadyAddresses"] is True
    assert service["selector"] == template["metadata"]["labels"]
    assert service["ports"] == [{"name": "https", "port": 443, "targetPort": "https"}]


def test_deployment_uses_the_flags(documents: dict[str, Any]) -> None:
    from polykind.cli import parser

    container = documents["Deployment"]["spec"]["template"]["spec"]["containers"][0]
    chosen = parser().parse_args(container["args"])
    assert (chosen.command, chosen.converter, chosen.crd) == (
        "host", ["conversions:crontabs"], ["crontabs.stable.example.com"]
    )  # fmt: skip
    assert WebhookEndpoint.of_service(chosen.service) == WebhookEndpoint.of_service("crontabs/converter")
    assert chosen.cert_secret == "crontabs/converter-certificates"
    assert container["ports"][0]["containerPort"] == chosen.secure_port
    assert [container[probe]["httpGet"]["path"] for probe in ("livenessProbe", "readinessProbe")] == [
        "/healthz", "/readyz"
    ]  # fmt: skip
