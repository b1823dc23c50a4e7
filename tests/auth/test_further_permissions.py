"""Requests that need a further permission besides the one for their verb and resource.

This is the complete list of kube-apiserver's further checks that this server has resources for. Each is tried without
and with the permission. Not in it: ClusterTrustBundles and PodCertificateRequests, which are not served by default.
"""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator, Coroutine
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from polykind.contract import JsonObject
from tests.support.live import Live
from tests.support.permissions import RBAC_GROUP, ROLES, allow, ask_as, live_with_users
from tests.support.widgets import APPLY, GROUP, MERGE, WIDGETS, definition, widget

CERTIFICATES = "certificates.k8s.io"
ADMISSION = "admissionregistration.k8s.io"
RESOURCE = "resource.k8s.io"
AUTHENTICATION = "authentication.k8s.io"
PODS = "/api/v1/namespaces/default/pods"
CLAIMS = f"/apis/{RESOURCE}/v1/namespaces/default/resourceclaims"
REQUESTS = f"/apis/{CERTIFICATES}/v1/certificatesigningrequests"
ROLE = {"apiGroup": RBAC_GROUP, "kind": "ClusterRole", "name": "secret-reader"}
SECRETS = {"verbs": ["get"], "apiGroups": [""], "resources": ["secrets"]}
SIGNER = "x.io/s"
NAMESPACES = "/api/v1/namespaces"

Permission = tuple[str, str, str] | tuple[str, str, str, str]
"""The group, resource and verb of a permission, and optionally the name of the object."""


class Check(NamedTuple):
    """A request that needs two permissions. `refused` and `passed` are its statuses without and with the second."""

    name: str
    first: Permission
    second: Permission
    method: str
    path: str
    body: Any = None
    kind: str = "application/json"
    refused: int = 403
    passed: int = 200
    headers: tuple[str, ...] = ()


def signing_request() -> str:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "n")])
    built = x509.CertificateSigningRequestBuilder().subject_name(name).sign(key, hashes.SHA256())
    return base64.b64encode(built.public_bytes(serialization.Encoding.PEM)).decode()


def condition(sort: str) -> JsonObject:
    return {"type": sort, "status": "True", "reason": "r"}


def policy(sort: str) -> JsonObject:
    match = {"apiGroups": ["x.io"], "apiVersions": ["*"], "operations": ["CREATE"], "resources": ["*"]}
    spec: JsonObject = {
        "matchConstraints": {"resourceRules": [match]},
        "paramKind": {"apiVersion": f"{GROUP}/v1", "kind": "Widget"},
    }
    if sort == "validating":
        spec["validations"] = [{"expression": "true"}]
    else:
        patch = {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": "Object{}"}}
        spec |= {"reinvocationPolicy": "Never", "mutations": [patch]}
    return {"metadata": {"name": "p"}, "spec": spec}


def policy_binding(sort: str) -> JsonObject:
    spec: JsonObject = {"policyName": "stored", "paramRef": {"name": "w", "parameterNotFoundAction": "Deny"}}
    spec |= {"validationActions": ["Deny"]} if sort == "validating" else {}
    return {"metadata": {"name": "b"}, "spec": spec}


ALLOCATION = {"devices": {"results": [{"request": "r", "driver": "d.io", "pool": "p", "device": "v"}]}}
OWNED = {"metadata": {"ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u"}]}}
BLOCKED = [{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u", "blockOwnerDeletion": True}]

CHECKS = [
    *(
        Check(
            f"{what} by GET", ("", f"pods/{what}", "get"), ("", f"pods/{what}", "create"), "GET",
            f"{PODS}/p/{what}{query}", passed=400,
        )
        for what, query in (("exec", "?command=ls"), ("attach", ""), ("portforward", "?ports=80"))
    ),
    Check(
        "allocation of a claim", (RESOURCE, "resourceclaims/status", "patch"),
        (RESOURCE, "resourceclaims/binding", "patch"), "PATCH", f"{CLAIMS}/c/status",
        {"status": {"allocation": ALLOCATION}}, MERGE, refused=422,
    ),
    Check(
        "devices of a driver", (RESOURCE, "resourceclaims/status", "patch"),
        (RESOURCE, "resourceclaims/driver", "arbitrary-node:patch", "d.io"), "PATCH", f"{CLAIMS}/allocated/status",
        {"status": {"devices": [{"driver": "d.io", "pool": "p", "device": "v"}]}}, MERGE, refused=422,
    ),
    Check(
        "approval of a certificate", (CERTIFICATES, "certificatesigningrequests/approval", "patch"),
        (CERTIFICATES, "signers", "approve", "x.io/*"), "PATCH", f"{REQUESTS}/approved/approval",
        {"status": {"conditions": [condition("Approved")]}}, MERGE,
    ),
    Check(
        "signing of a certificate", (CERTIFICATES, "certificatesigningrequests/status", "patch"),
        (CERTIFICATES, "signers", "sign", SIGNER), "PATCH", f"{REQUESTS}/failed/status",
        {"status": {"conditions": [condition("Failed")]}}, MERGE,
    ),
    Check(
        "apply that creates", (GROUP, "widgets", "patch"), (GROUP, "widgets", "create"), "PATCH",
        f"{WIDGETS}/new?fieldManager=m", widget("new"), APPLY, passed=201,
    ),
    Check(
        "update that creates", ("coordination.k8s.io", "leases", "update"), ("coordination.k8s.io", "leases", "create"),
        "PUT", "/apis/coordination.k8s.io/v1/namespaces/default/leases/l", {"metadata": {"name": "l"}}, passed=201,
    ),
    Check(
        "role with foreign permissions", (RBAC_GROUP, "clusterroles", "create"),
        (RBAC_GROUP, "clusterroles", "escalate"), "POST", f"{ROLES}/clusterroles",
        {"metadata": {"name": "r"}, "rules": [SECRETS]}, passed=201,
    ),
    Check(
        "change of a role", (RBAC_GROUP, "clusterroles", "patch"),
        (RBAC_GROUP, "clusterroles", "escalate", "secret-reader"), "PATCH", f"{ROLES}/clusterroles/secret-reader",
        {"rules": [{**SECRETS, "verbs": ["list"]}]}, MERGE,
    ),
    Check(
        "binding to a foreign role", (RBAC_GROUP, "clusterrolebindings", "create"),
        (RBAC_GROUP, "clusterroles", "bind", "secret-reader"), "POST", f"{ROLES}/clusterrolebindings",
        {"metadata": {"name": "b"}, "roleRef": ROLE}, passed=201,
    ),
    Check(
        "binding in a namespace", (RBAC_GROUP, "rolebindings", "create"),
        (RBAC_GROUP, "clusterroles", "bind", "secret-reader"), "POST", f"{ROLES}/namespaces/default/rolebindings",
        {"metadata": {"name": "b"}, "roleRef": ROLE}, passed=201,
    ),
    *(
        Check(
            f"params of a {sort} policy", (ADMISSION, f"{sort}admissionpolicies", "create"), (GROUP, "widgets", "get"),
            "POST", f"/apis/{ADMISSION}/v1/{sort}admissionpolicies", policy(sort), refused=422, passed=201,
        )
        for sort in ("validating", "mutating")
    ),
    *(
        Check(
            f"params of a {sort} binding", (ADMISSION, f"{sort}admissionpolicybindings", "create"),
            (GROUP, "widgets", "get", "w"), "POST", f"/apis/{ADMISSION}/v1/{sort}admissionpolicybindings",
            policy_binding(sort), refused=422, passed=201,
        )
        for sort in ("validating", "mutating")
    ),
    Check(
        "unsafe deletion", (GROUP, "widgets", "delete"), (GROUP, "widgets", "unsafe-delete-ignore-read-errors"),
        "DELETE", f"{WIDGETS}/absent?ignoreStoreReadErrorWithClusterBreakingPotential=true", passed=404,
    ),
    *(
        Check(
            f"impersonation of {what}", ("", "users", "impersonate"), (group, resource, "impersonate"), "GET",
            NAMESPACES, headers=("Impersonate-User: reader", header),
        )
        for what, group, resource, header in (
            ("a uid", AUTHENTICATION, "uids", "Impersonate-Uid: 1"),
            ("a group", "", "groups", "Impersonate-Group: g"),
            ("an extra value", AUTHENTICATION, "userextras/x", "Impersonate-Extra-X: y"),
        )
    ),
    Check(
        "impersonation of a user for a verb", (AUTHENTICATION, "users", "impersonate:user-info"),
        ("", "namespaces", "impersonate-on:user-info:list"), "GET", NAMESPACES, headers=("Impersonate-User: reader",),
    ),
    Check(
        "impersonation of a node for a verb", (AUTHENTICATION, "nodes", "impersonate:arbitrary-node", "n"),
        ("", "namespaces", "impersonate-on:arbitrary-node:list"), "GET", NAMESPACES,
        headers=("Impersonate-User: system:node:n",),
    ),
    Check(
        "impersonation of an account for a verb", (AUTHENTICATION, "serviceaccounts", "impersonate:serviceaccount"),
        ("", "namespaces", "impersonate-on:serviceaccount:list"), "GET", NAMESPACES,
        headers=("Impersonate-User: system:serviceaccount:default:robot",),
    ),
    Check(
        "owner of an object", ("", "configmaps", "patch"), ("", "configmaps", "delete"), "PATCH",
        "/api/v1/namespaces/default/configmaps/m", OWNED, MERGE,
    ),
    Check(
        "owner that is blocked", ("", "configmaps", "create"), ("", "pods/finalizers", "update", "p"), "POST",
        "/api/v1/namespaces/default/configmaps", {"metadata": {"name": "n", "ownerReferences": BLOCKED}}, passed=201,
    ),
    Check(
        "expression that asks the authorizer", (GROUP, "widgets", "delete"), (GROUP, "widgets", "shred", "kept"),
        "DELETE", f"{WIDGETS}/kept", refused=422,
    ),
]  # fmt: skip


async def prepare(running: Live) -> None:
    """Create the objects of the requests, and a policy that requires the verb `shred` for deletions of widgets."""
    await running.define(definition())
    await running.ask("POST", WIDGETS, widget("kept"))
    pod = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    await running.ask("POST", PODS, pod)
    await running.ask("POST", "/api/v1/namespaces/default/configmaps", {"metadata": {"name": "m"}})
    spec: JsonObject = {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "x.io"}}]}}
    for name in ("c", "allocated"):
        await running.ask("POST", CLAIMS, {"metadata": {"name": name}, "spec": spec})
    await running.ask("PATCH", f"{CLAIMS}/allocated/status", {"status": {"allocation": ALLOCATION}}, kind=MERGE)
    spec = {"request": signing_request(), "signerName": SIGNER, "usages": ["client auth"]}
    for name in ("approved", "failed"):
        await running.ask("POST", REQUESTS, {"metadata": {"name": name}, "spec": spec})
    await running.ask("POST", f"{ROLES}/clusterroles", {"metadata": {"name": "secret-reader"}, "rules": [SECRETS]})
    for reader in ("reader", "system:node:n", "system:serviceaccount:default:robot"):
        await allow(running, reader, "", "namespaces", "list")
    for sort in ("validating", "mutating"):
        stored = {**policy(sort), "metadata": {"name": "stored"}}
        await running.ask("POST", f"/apis/{ADMISSION}/v1/{sort}admissionpolicies", stored)


async def require_shred(running: Live) -> None:
    expression = f"authorizer.group('{GROUP}').resource('widgets').name(request.name).check('shred').allowed()"
    match = {"apiGroups": [GROUP], "apiVersions": ["v1"], "operations": ["DELETE"], "resources": ["widgets"]}
    spec: JsonObject = {"matchConstraints": {"resourceRules": [match]}, "validations": [{"expression": expression}]}
    base = f"/apis/{ADMISSION}/v1/validatingadmissionpolic"
    await running.ask("POST", f"{base}ies", {"metadata": {"name": "shred"}, "spec": spec})
    spec = {"policyName": "shred", "validationActions": ["Deny"]}
    await running.ask("POST", f"{base}ybindings", {"metadata": {"name": "shred"}, "spec": spec})


def user_of(check: Check) -> str:
    return check.name.replace(" ", "-")


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Live]:
    users = [user_of(check) for check in CHECKS]
    plugins = ("OwnerReferencesPermissionEnforcement",)
    gates = {"AllowUnsafeMalformedObjectDeletion": True}
    async with live_with_users(tmp_path, *users, enable_admission_plugins=plugins, feature_gates=gates) as running:
        await prepare(running)
        await require_shred(running)
        yield running


def permit(running: Live, user: str, one: Permission) -> Coroutine[None, None, None]:
    group, resource, verb, *name = one
    return allow(running, user, group, resource, verb, name="".join(name))


async def test_each_further_permission_is_required(running: Live) -> None:
    for check in CHECKS:
        user = user_of(check)
        for granted, expected in ((None, 403), (check.first, check.refused), (check.second, check.passed)):
            if granted is not None:
                await permit(running, user, granted)
            sent = (running, user, check.method, check.path, check.body)
            await ask_as(*sent, kind=check.kind, headers=check.headers, expect=expected)
