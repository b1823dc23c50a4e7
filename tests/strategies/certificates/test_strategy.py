"""CertificateSigningRequests on a running server: the user, approvals, certificates and permissions."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from polykind.contract import JsonObject
from tests.apis.certificates.requests import certificate_request
from tests.support.client import Client
from tests.support.live import Live, live
from tests.support.objects import edited

_PLURAL = "certificatesigningrequests"
REQUESTS = f"/apis/certificates.k8s.io/v1/{_PLURAL}"
ROLES = "/apis/rbac.authorization.k8s.io/v1"
MERGE = "application/merge-patch+json"
APPROVED: JsonObject = {"type": "Approved", "status": "True", "reason": "R"}


def signing_request(signer: str = "example.com/s", organization: str = "acme") -> JsonObject:
    return {
        "apiVersion": "certificates.k8s.io/v1",
        "kind": "CertificateSigningRequest",
        "metadata": {"name": "a"},
        "spec": {
            "request": certificate_request(organization),
            "signerName": signer,
            "usages": ["client auth"],
            "username": "eve",
            "groups": ["system:masters"],
        },
        "status": {"conditions": [APPROVED]},
    }


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Live]:
    tokens = tmp_path / "tokens.csv"
    tokens.write_text("bob-token,bob,bob-uid,dev\n")
    async with live(tmp_path, token_auth_file=tokens, authorization_mode=("RBAC",)) as server:
        yield server


async def test_the_server_records_the_user_and_ignores_a_stated_status(running: Live) -> None:
    await _grant(running, {"apiGroups": ["certificates.k8s.io"], "resources": ["*"], "verbs": ["create"]})
    async with Client(running.server.url, "bob-token") as bob:
        created = (await bob.call("POST", REQUESTS, signing_request())).json()
    spec = created["spec"]
    assert (spec["username"], spec["uid"], spec["groups"]) == ("bob", "bob-uid", ["dev", "system:authenticated"])
    assert created["status"] == {}


async def test_approval_sets_the_times_of_conditions(running: Live) -> None:
    created = await running.ask("POST", REQUESTS, signing_request())
    decided = edited(created, ("status", {"conditions": [APPROVED]}))
    approved = await running.ask("PUT", f"{REQUESTS}/a/approval", decided)
    [condition] = approved["status"]["conditions"]
    assert condition["lastUpdateTime"] == condition["lastTransitionTime"]
    kept = edited(approved, ("status.conditions[0].reason", "other"), ("spec.signerName", "other.com/x"))
    updated = await running.ask("PUT", f"{REQUESTS}/a/status", kept)
    assert (updated["spec"], updated["status"]) == (approved["spec"], approved["status"])
    error = await running.ask("PUT", f"{REQUESTS}/a/status", edited(approved, ("status", {})), expect=422)
    assert 'updates may not remove a condition of type "Approved"' in error["message"]


async def test_approvers_and_signers_need_permissions_for_the_signer(running: Live) -> None:
    await running.ask("POST", REQUESTS, signing_request())
    verbs = ["get", "update", "patch"]
    await _grant(running, {"apiGroups": ["certificates.k8s.io"], "resources": [f"{_PLURAL}/approval"], "verbs": verbs})
    patch = {"status": {"conditions": [APPROVED]}}
    async with Client(running.server.url, "bob-token") as bob:
        refused = await bob.call("PATCH", f"{REQUESTS}/a/approval", patch, MERGE)
        assert refused.status == 403
        assert 'user not permitted to approve requests with signerName \\"example.com/s\\"' in refused.body.decode()
        rule = {"apiGroups": ["certificates.k8s.io"], "resources": ["signers"], "verbs": ["approve"]}
        await _grant(running, {**rule, "resourceNames": ["example.com/*"]}, name="signers")
        assert (await bob.call("PATCH", f"{REQUESTS}/a/approval", patch, MERGE)).status == 200


async def test_requests_for_certificates_of_the_group_masters_are_refused(running: Live) -> None:
    request = signing_request("kubernetes.io/kube-apiserver-client", "system:masters")
    error = await running.ask("POST", REQUESTS, request, expect=403)
    assert "signer with system:masters group is not allowed" in error["message"]


async def _grant(running: Live, rule: JsonObject, name: str = "requests") -> None:
    """Give bob the permissions of a rule."""
    group = "rbac.authorization.k8s.io"
    meta = {"apiVersion": f"{group}/v1", "metadata": {"name": name}}
    await running.ask("POST", f"{ROLES}/clusterroles", {**meta, "kind": "ClusterRole", "rules": [rule]})
    subject = {"apiGroup": group, "kind": "User", "name": "bob"}
    role = {"apiGroup": group, "kind": "ClusterRole", "name": name}
    binding = {**meta, "kind": "ClusterRoleBinding", "subjects": [subject], "roleRef": role}
    await running.ask("POST", f"{ROLES}/clusterrolebindings", binding)
