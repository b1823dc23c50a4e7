"""Requests whose audit events have annotations of webhooks, policies, pod security and authorization.

`python -m tests.audit.annotation_scenario URL AUDIT_LOG` records kube-apiserver's annotations. It has to run with
POLICY, TOKENS, `--authorization-mode RBAC`, `--allow-privileged` and `--disable-admission-plugins ServiceAccount`.
"""

from __future__ import annotations

import asyncio
import base64
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.support.client import Client
from tests.support.hook import Call, Hook, Reply

RECORDED = Path(__file__).with_name("recorded_annotations.json")
POLICY = """
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
  namespaces: [meta]
- level: RequestResponse
"""
TOKENS = """
admintoken,admin,admin,"system:masters"
alicetoken,alice,u1,"dev"
bobtoken,bob,u2
supporttoken,support,u3
"""
NAMESPACES = "/api/v1/namespaces"
ADMISSION = "/apis/admissionregistration.k8s.io/v1"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
MERGE = "application/merge-patch+json"
Request = dict[str, Any]


def review(call: Call) -> Reply:
    """Reply to an admission review as the path of the webhook says."""
    request = call.review["request"]
    obj = request["object"] or {}
    response: dict[str, Any] = {"uid": request["uid"], "allowed": True}
    path = call.path.partition("?")[0]
    if path == "/label":
        labels = (obj.get("metadata") or {}).get("labels") or {}
        count = str(int(labels.get("count", "0")) + 1)
        operation = {"op": "add", "path": "/metadata/labels/count", "value": count}
        response |= {"patch": base64.b64encode(json.dumps([operation]).encode()).decode(), "patchType": "JSONPatch"}
        response["auditAnnotations"] = {"count": count, "not a key": "x", "html": "<&>"}
    elif path == "/same":
        operation = {"value": "yes", "op": "replace", "path": "/metadata/labels/hooks"}
        response |= {"patch": base64.b64encode(json.dumps([operation]).encode()).decode(), "patchType": "JSONPatch"}
    elif path == "/deny" and "deny" in (obj.get("data") or {}):
        response |= {"allowed": False, "status": {"message": "no"}, "auditAnnotations": {"why": "it says deny"}}
    elif path == "/note":
        response["auditAnnotations"] = {"operation": request["operation"]}
    body = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}
    return Reply(json.dumps(body).encode(), status=500 if path == "/broken" else 200)


def configmap(name: str, *, hooks: bool = False, **data: str) -> dict[str, Any]:
    meta = {"name": name, "labels": {"hooks": "yes"} if hooks else {}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": data}


def pod(name: str, **spec: Any) -> dict[str, Any]:
    container = {"name": "c", "image": "i", **spec.pop("container", {})}
    meta = {"name": name}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {"containers": [container], **spec}}


def post(path: str, body: object, **more: Any) -> Request:
    return {"method": "POST", "path": path, "body": body, **more}


def setup(hook: str, bundle: str) -> Iterator[Request]:
    """Return the requests that create namespaces, roles, webhooks and policies."""
    for name, labels in {
        "plain": {},
        "meta": {},
        "safe": {
            "pod-security.kubernetes.io/enforce": "baseline",
            "pod-security.kubernetes.io/audit": "restricted",
            "pod-security.kubernetes.io/warn": "restricted",
        },
        "policed": {"policed": "yes"},
        "denied": {"denied": "yes"},
    }.items():
        yield post(NAMESPACES, {"metadata": {"name": name, "labels": labels}})
    rules = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["*"]}]
    yield post(f"{RBAC}/namespaces/plain/roles", {"metadata": {"name": "writer"}, "rules": rules})
    subjects = [{"kind": "User", "name": "bob", "apiGroup": "rbac.authorization.k8s.io"}]
    reference = {"kind": "Role", "name": "writer", "apiGroup": "rbac.authorization.k8s.io"}
    binding = {"metadata": {"name": "bob"}, "subjects": subjects, "roleRef": reference}
    yield post(f"{RBAC}/namespaces/plain/rolebindings", binding)
    rules = [{"apiGroups": [""], "resources": ["users", "groups"], "verbs": ["impersonate"]}]
    yield post(f"{RBAC}/clusterroles", {"metadata": {"name": "support"}, "rules": rules})
    subjects = [{"kind": "User", "name": "support", "apiGroup": "rbac.authorization.k8s.io"}]
    reference = {"kind": "ClusterRole", "name": "support", "apiGroup": "rbac.authorization.k8s.io"}
    binding = {"metadata": {"name": "support"}, "subjects": subjects, "roleRef": reference}
    yield post(f"{RBAC}/clusterrolebindings", binding)

    def webhook(name: str, path: str, **more: Any) -> dict[str, Any]:
        return {
            "name": name,
            "clientConfig": {"url": f"{hook}{path}", "caBundle": bundle},
            "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["*"]}],
            "objectSelector": {"matchLabels": {"hooks": "yes"}},
            "admissionReviewVersions": ["v1"],
            "sideEffects": "None",
            **more,
        }

    mutating = [
        webhook("unused.example.com", "/note", objectSelector={"matchLabels": {"hooks": "no"}}),
        webhook("label.example.com", "/label", reinvocationPolicy="IfNeeded"),
        webhook("same.example.com", "/same"),
        webhook("broken.example.com", "/broken", failurePolicy="Ignore"),
    ]
    late = [webhook("late.example.com", "/label", reinvocationPolicy="IfNeeded")]
    validating = [
        webhook("unused.example.com", "/note", objectSelector={"matchLabels": {"hooks": "no"}}),
        webhook("note.example.com", "/note"),
        webhook("broken.example.com", "/broken", failurePolicy="Ignore"),
        webhook("deny.example.com", "/deny"),
    ]
    yield post(f"{ADMISSION}/mutatingwebhookconfigurations", {"metadata": {"name": "early"}, "webhooks": mutating})
    yield post(f"{ADMISSION}/mutatingwebhookconfigurations", {"metadata": {"name": "late"}, "webhooks": late})
    path = f"{ADMISSION}/validatingwebhookconfigurations"
    yield post(path, {"metadata": {"name": "checks"}, "webhooks": validating})
    yield from _policies()


def _policies() -> Iterator[Request]:
    resources = [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["*"]}]
    size = {
        "matchConstraints": {"resourceRules": resources},
        "matchConditions": [{"name": "has-object", "expression": "object != null"}],
        "validations": [
            {"expression": "true"},
            {"expression": "!('big' in object.data)", "message": "too <big>"},
            {"expression": "!('odd' in object.data)", "messageExpression": "'odd: ' + object.data.odd"},
        ],
        "auditAnnotations": [
            {"key": "keys", "valueExpression": "string(size(object.data)) + ' keys'"},
            {"key": "none", "valueExpression": "'big' in object.data ? 'big' : ''"},
            {"key": "blank", "valueExpression": "'  '"},
        ],
    }
    bindings = {
        "policed": ({"policed": "yes"}, ["Audit", "Warn"]),
        "denied": ({"denied": "yes"}, ["Deny", "Audit"]),
    }
    path = f"{ADMISSION}/validatingadmissionpolicies"
    yield post(path, {"metadata": {"name": "size.example.com"}, "spec": size})
    for name, (labels, actions) in bindings.items():
        spec: dict[str, Any] = {"policyName": "size.example.com", "validationActions": actions}
        spec["matchResources"] = {"namespaceSelector": {"matchLabels": labels}}
        yield post(f"{path.removesuffix('policies')}policybindings", {"metadata": {"name": name}, "spec": spec})
    failing = {
        "failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": resources},
        "matchConditions": [{"name": "fails", "expression": "object != null && 'fail' in object.data"}],
        "validations": [{"expression": "int(object.data.fail) > 0"}],
        "auditAnnotations": [{"key": "number", "valueExpression": "string(int(object.data.fail))"}],
    }
    yield post(path, {"metadata": {"name": "failing.example.com"}, "spec": failing})
    spec = {"policyName": "failing.example.com", "validationActions": ["Audit"]}
    yield post(f"{path.removesuffix('policies')}policybindings", {"metadata": {"name": "failing"}, "spec": spec})


def requests() -> Iterator[Request]:
    """Return the requests whose annotations are compared."""
    for namespace in ("plain", "meta"):
        maps = f"{NAMESPACES}/{namespace}/configmaps"
        yield post(maps, configmap("quiet", a="b"))
        yield post(maps, configmap("hooked", hooks=True, a="<b>"))
        yield post(f"{maps}?dryRun=All", configmap("dry", hooks=True))
        yield post(maps, configmap("denied", hooks=True, deny="x"))
        yield post(maps, configmap("hooked", hooks=True))
        yield {"method": "PUT", "path": f"{maps}/hooked", "body": configmap("hooked", hooks=True, a="c")}
        yield {"method": "PATCH", "path": f"{maps}/hooked", "body": {"data": {"x": "y"}}, "type": MERGE}
        yield {"method": "PATCH", "path": f"{maps}/hooked", "body": {"data": {"deny": "y"}}, "type": MERGE}
        yield {"method": "PATCH", "path": f"{maps}/quiet", "body": {"data": {"x": "y"}}, "type": MERGE}
        applied = configmap("applied", hooks=True, z="1")
        path = f"{maps}/applied?fieldManager=me"
        yield {"method": "PATCH", "path": path, "body": applied, "type": "application/apply-patch+yaml"}
        yield {"method": "DELETE", "path": f"{maps}/hooked"}
        yield {"method": "GET", "path": f"{maps}/applied"}
        yield {"method": "GET", "path": f"{maps}/missing"}
    for namespace in ("policed", "denied"):
        maps = f"{NAMESPACES}/{namespace}/configmaps"
        yield post(maps, configmap("fine", a="b"))
        yield post(maps, configmap("big", big="1"))
        yield post(maps, configmap("odd", odd="1", even="2"))
        yield post(maps, configmap("both", odd="1", big="2"))
        yield post(maps, configmap("fails", fail="x"))
        yield post(maps, configmap("zero", fail="0"))
        yield post(maps, configmap("hooked", hooks=True, big="1"))
        yield {"method": "PATCH", "path": f"{maps}/fine", "body": {"data": {"big": "y"}}, "type": MERGE}
        yield {"method": "DELETE", "path": f"{maps}/fine"}
    pods = f"{NAMESPACES}/safe/pods"
    yield post(pods, pod("restricted"))
    yield post(pods, pod("host", hostNetwork=True))
    yield post(pods, pod("privileged", container={"securityContext": {"privileged": True}}))
    yield post(f"{NAMESPACES}/plain/pods", pod("free", hostPID=True))
    yield {"method": "DELETE", "path": f"{pods}/restricted?gracePeriodSeconds=0"}
    maps = f"{NAMESPACES}/plain/configmaps"
    for token in ("alicetoken", "bobtoken"):
        yield {"method": "GET", "path": maps, "token": token}
        yield {"method": "GET", "path": f"{NAMESPACES}/meta/configmaps", "token": token}
        yield post(maps, configmap(f"by-{token}", a="b"), token=token)
        yield {"method": "GET", "path": "/openapi/v2", "token": token}
        yield {"method": "GET", "path": "/metrics", "token": token}
    for number, headers in enumerate(
        (["Impersonate-User: bob"], ["Impersonate-User: eve", "Impersonate-Group: dev"], ["Impersonate-Uid: 1"])
    ):
        yield {"method": "GET", "path": maps, "token": "supporttoken", "headers": headers}
        yield {"method": "DELETE", "path": f"{maps}/nothing{number}", "token": "supporttoken", "headers": headers}
    yield {"method": "GET", "path": maps, "token": "wrong"}
    yield {"method": "DELETE", "path": maps}


async def run(url: str, log: Path, *, settle: float) -> list[dict[str, Any]]:
    """Send all requests and return the compared ones, each with the status code and the annotations."""
    async with Hook(behaviour=review) as hook:
        bundle = base64.b64encode(hook.authority.cert_pem.bytes()).decode()
        for number, request in enumerate(setup(hook.url.rstrip("/"), bundle)):
            status = await _send(url, request, f"setup{number}")
            assert status == 201, request
        await asyncio.sleep(settle)
        sent = list(requests())
        for number, request in enumerate(sent):
            await _send(url, request, f"r{number}")
    await asyncio.sleep(settle)
    events = {}
    for line in log.read_text().splitlines():
        event = json.loads(line)
        if event["stage"] != "RequestReceived":
            events[event["auditID"]] = event
    return [{"request": _name(one), **_compared(events[f"r{number}"])} for number, one in enumerate(sent)]


async def _send(url: str, request: Request, audit_id: str) -> int:
    async with Client(url, request.get("token", "admintoken")) as client:
        client.headers = (f"Audit-ID: {audit_id}", *request.get("headers", ()), "User-Agent: driver/1.0")
        kind = request.get("type", "application/json")
        return (await client.call(request["method"], request["path"], request.get("body"), kind)).status


def _name(request: Request) -> str:
    headers = " ".join(request.get("headers", ()))
    name = (request.get("body") or {}).get("metadata", {}).get("name", "")
    return " ".join(filter(None, (request["method"], request["path"], name, request.get("token", ""), headers)))


def _compared(event: dict[str, Any]) -> dict[str, Any]:
    annotations = {
        key: re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "UUID", value)
        for key, value in event.get("annotations", {}).items()
        if not key.startswith("apiserver.latency.k8s.io/")
    }
    users = [user and user.get("username") for user in (event["user"], event.get("impersonatedUser"))]
    return {"code": event["responseStatus"]["code"], "users": users, "annotations": annotations}


if __name__ == "__main__":
    found = asyncio.run(run(sys.argv[1], Path(sys.argv[2]), settle=3))
    RECORDED.write_text(json.dumps(found, indent=1) + "\n")
