"""Hostile requests for built-in kinds, metadata and reviews."""

from __future__ import annotations

import json
from typing import Any

from tests.conformance.client import Answer
from tests.robustness.attacker import (
    APPLY,
    BOMBS,
    JSON_PATCH,
    MERGE_PATCH,
    OWN,
    SIZE,
    STRATEGIC_PATCH,
    Attacker,
    Attacks,
    JsonObject,
    bomb,
)
from tests.support.waiting import eventually

_CORE = "/api/v1/namespaces/default"
_PODS = f"{_CORE}/pods"
_ROLES = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles"
_POLICIES = "/apis/networking.k8s.io/v1/namespaces/default/networkpolicies"
_DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
_ACCESS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
_DRY = "dryRun=All&fieldValidation=Ignore"


def _post(path: str, body: JsonObject, query: str = _DRY) -> Any:
    return lambda attacker: attacker.send("POST", f"{path}?{query}", body)


def _metadata(**metadata: Any) -> Any:
    return lambda attacker: attacker.send("POST", f"{BOMBS}?dryRun=All", bomb("meta", {}, **metadata))


def _pod(**spec: Any) -> JsonObject:
    container = {"name": "c", "image": "i"}
    return {"metadata": {"name": "p"}, "spec": {"containers": [container], **spec}}


def _container(**fields: Any) -> JsonObject:
    return _pod(containers=[{"name": "c", "image": "i", **fields}])


def _numbered(count: int, **fields: Any) -> list[JsonObject]:
    return [{"name": f"n{number}", **fields} for number in range(count)]


def _owners(count: int) -> list[JsonObject]:
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "p"}
    return [{**owner, "uid": str(number)} for number in range(count)]


def _managers(count: int) -> list[JsonObject]:
    entry = {"operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {}}}
    return [{**entry, "manager": f"m{number}"} for number in range(count)]


def _field_sets() -> list[JsonObject]:
    fields: JsonObject = {"f:spec": {"f:open": {f"f:x{number}": {} for number in range(100_000)}}}
    return [{"operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": fields, "manager": "m"}]


def _patched_config_map(attacker: Attacker, patch: Any, content_type: str) -> Answer:
    attacker.send("POST", f"{_CORE}/configmaps", {"metadata": {"name": "patched"}, "data": {"a": "b"}})
    return attacker.send("PATCH", f"{_CORE}/configmaps/patched?dryRun=All", patch, content_type)


def _patched_deployment(attacker: Attacker, spec: JsonObject) -> Answer:
    labels = {"a": "b"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    body = {"metadata": {"name": "patched"}, "spec": {"selector": {"matchLabels": labels}, "template": template}}
    attacker.send("POST", _DEPLOYMENTS, body)
    patch = {"spec": {"template": {"spec": spec}}}
    return attacker.send("PATCH", f"{_DEPLOYMENTS}/patched?dryRun=All", patch, STRATEGIC_PATCH)


def _delete_with_finalizers(attacker: Attacker) -> Answer:
    for number in range(300):
        meta = {"name": f"held{number}", "finalizers": [f"x.io/f{n}" for n in range(100)]}
        attacker.send("POST", f"{_CORE}/configmaps", {"metadata": meta})
    return attacker.send("DELETE", f"{_CORE}/configmaps?labelSelector=a!=b")


def _namespace(attacker: Attacker) -> Answer:
    path = f"/api/v1/namespaces/full-{OWN}"
    attacker.send("POST", "/api/v1/namespaces", {"metadata": {"name": f"full-{OWN}"}})
    for number in range(300):
        attacker.send("POST", f"{path}/configmaps", {"metadata": {"name": f"c{number}"}})
    answer = attacker.send("DELETE", path)
    eventually(lambda: attacker.send("GET", path).status == 404, pause=0)
    return answer


def _rules(count: int) -> list[JsonObject]:
    return [{"verbs": ["get"], "apiGroups": ["x"], "resources": [f"r{number}"]} for number in range(count)]


def _role_binding(attacker: Attacker) -> Answer:
    """Bind a user who has no rights to a large role, so that the server compares all its rules."""
    attacker.send("POST", _ROLES, {"metadata": {"name": "large"}, "rules": _rules(7_000)})
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "large"}
    subjects = [{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": f"u{n}"} for n in range(7_000)]
    body = {"metadata": {"name": "large"}, "roleRef": role, "subjects": subjects}
    return attacker.send("POST", _ROLES.replace("roles", "rolebindings") + "?dryRun=All", body)


def _ingress_rules(count: int) -> JsonObject:
    rules = [{"ports": [{"port": number % 60_000 + 1}], "from": [{"ipBlock": {"cidr": "10.0.0.0/8"}}]}
             for number in range(count)]  # fmt: skip
    return {"metadata": {"name": "n"}, "spec": {"podSelector": {}, "ingress": rules}}


_LABELS = {f"l{number}": "v" for number in range(100_000)}
_SELECTOR = ",".join(f"l{number}" for number in range(20_000))
_SET_SELECTOR = "a%20in%20(" + ",".join(f"v{number}" for number in range(30_000)) + ")"
_BIG_DIRECTIVE = [{"name": f"n{number}", "$patch": "delete"} for number in range(14_500)]
_ORDER = [{"name": f"n{number}"} for number in range(7_000)]
_DEEP_POINTER = "/data" + "/a" * 100_000

BUILTIN_ATTACKS: Attacks = {
    "100,000 labels": (_metadata(labels=_LABELS), 201),
    "100,000 annotations": (_metadata(annotations=_LABELS), 422),
    "long annotation": (_metadata(annotations={"a": "x" * SIZE}), 422),
    "owner references": (_metadata(ownerReferences=_owners(30_000)), 201),
    "managed fields": (_metadata(managedFields=_managers(20_000)), 201),
    "large field set": (_metadata(managedFields=_field_sets()), 201),
    "finalizer names": (_metadata(finalizers=[f"x.io/{number}" for number in range(100_000)]), 201),
    "long name": (lambda a: a.send("POST", BOMBS, bomb("x" * 1_000_000, {})), 422),
    "containers": (_post(_PODS, _pod(containers=_numbered(14_500, image="i"))), 201),
    "too many containers": (_post(_PODS, _pod(containers=_numbered(50_000, image="i"))), 413),
    "invalid containers": (_post(_PODS, _pod(containers=[{}] * 14_500)), 422),
    "environment": (_post(_PODS, _container(env=_numbered(14_500, value="v"))), 201),
    "volumes": (_post(_PODS, _pod(volumes=_numbered(7_400, emptyDir={}))), 201),
    "volume mounts": (
        _post(_PODS, _container(volumeMounts=[{"name": "v", "mountPath": f"/{n}"} for n in range(14_500)])),
        422,
    ),
    "ports": (_post(_PODS, _container(ports=[{"containerPort": n % 65_000 + 1} for n in range(14_500)])), 201),
    "tolerations": (_post(_PODS, _pod(tolerations=[{"operator": "Exists"}] * 14_500)), 201),
    "host aliases": (_post(_PODS, _pod(hostAliases=[{"ip": "1.1.1.1", "hostnames": ["a"]}] * 14_500)), 201),
    "affinity": (
        _post(
            _PODS,
            _pod(
                affinity={
                    "nodeAffinity": {
                        "requiredDuringSchedulingIgnoredDuringExecution": {
                            "nodeSelectorTerms": [
                                {"matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]}
                            ]
                            * 7_000
                        }
                    }
                }
            ),
        ),
        201,
    ),
    "resources": (
        _post(_PODS, _container(resources={"limits": {f"x.io/r{n}": "1" for n in range(50_000)}})),
        201,
    ),
    "pod conditions": (
        _post(_PODS, {**_pod(), "status": {"conditions": [{"type": "a", "status": "True"}] * 14_500}}),
        201,
    ),
    "secret": (
        _post(f"{_CORE}/secrets", {"metadata": {"name": "s"}, "data": {f"k{n}": "dg==" for n in range(80_000)}}),
        201,
    ),
    "invalid base64": (
        _post(f"{_CORE}/secrets", {"metadata": {"name": "s"}, "data": {"k": "?" * SIZE}}),
        400,
    ),
    "config map": (
        _post(f"{_CORE}/configmaps", {"metadata": {"name": "s"}, "data": {f"k{n}": "v" for n in range(100_000)}}),
        201,
    ),
    "role": (_post(_ROLES, {"metadata": {"name": "r"}, "rules": _rules(14_500)}), 201),
    "role binding": (_role_binding, 201),
    "network policy": (_post(_POLICIES, _ingress_rules(3_600)), 201),
    "service ports": (
        _post(
            f"{_CORE}/services",
            {"metadata": {"name": "s"}, "spec": {"ports": [{"name": f"p{n}", "port": n + 1} for n in range(14_500)]}},
        ),
        201,
    ),
    "endpoints": (
        _post(
            f"{_CORE}/endpoints",
            {"metadata": {"name": "e"}, "subsets": [{"addresses": [{"ip": "1.2.3.4"}] * 14_500}]},
        ),
        201,
    ),
    "resource quota": (
        _post(
            f"{_CORE}/resourcequotas",
            {"metadata": {"name": "q"}, "spec": {"hard": {f"count/r{n}.x": "1" for n in range(50_000)}}},
        ),
        201,
    ),
    "strategic merge": (
        lambda a: _patched_deployment(a, {"containers": _numbered(14_500, image="i")}),
        200,
    ),
    "strategic directives": (lambda a: _patched_deployment(a, {"containers": _BIG_DIRECTIVE}), 200),
    "strategic order": (
        lambda a: _patched_deployment(a, {"$setElementOrder/containers": _ORDER, "containers": _ORDER}),
        422,
    ),
    "merge patch": (
        lambda a: _patched_config_map(a, {"data": {f"k{n}": "v" for n in range(100_000)}}, MERGE_PATCH),
        200,
    ),
    "JSON patch of a map": (
        lambda a: _patched_config_map(
            a, [{"op": "add", "path": f"/data/k{n}", "value": "v"} for n in range(10_000)], JSON_PATCH
        ),
        200,
    ),
    "JSON patch of a list": (
        lambda a: a.send(
            "PATCH",
            f"{_CORE}/configmaps/kube-root-ca.crt?dryRun=All",
            [{"op": "add", "path": "/metadata/finalizers", "value": []}]
            + [{"op": "add", "path": "/metadata/finalizers/0", "value": "x.io/f"}] * 7_000,
            JSON_PATCH,
        ),
        200,
    ),
    "JSON patch that grows": (
        lambda a: _patched_config_map(a, [{"op": "copy", "from": "/data", "path": "/data/x"}] * 9_000, JSON_PATCH),
        422,
    ),
    "long JSON pointer": (
        lambda a: _patched_config_map(a, [{"op": "add", "path": _DEEP_POINTER, "value": 1}], JSON_PATCH),
        422,
    ),
    "tests in a JSON patch": (
        lambda a: _patched_config_map(a, [{"op": "test", "path": "/data", "value": {"a": "b"}}] * 9_999, JSON_PATCH),
        200,
    ),
    "apply of a built-in kind": (
        lambda a: a.send(
            "PATCH",
            f"{_CORE}/configmaps/applied?fieldManager=m&dryRun=All",
            {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": "applied"},
                "data": {f"k{n}": "v" for n in range(60_000)},
            },
            APPLY,
        ),
        201,
    ),
    "apply of a pod": (
        lambda a: a.send(
            "PATCH",
            f"{_PODS}/applied?fieldManager=m&dryRun=All",
            {
                "apiVersion": "v1",
                "kind": "Pod",
                **_pod(containers=_numbered(14_500, image="i")),
                "metadata": {"name": "applied"},
            },
            APPLY,
        ),
        201,
    ),
    "selector of a list": (lambda a: a.send("GET", f"{_CORE}/configmaps?labelSelector={_SELECTOR}"), 200),
    "set in a selector": (lambda a: a.send("GET", f"{_CORE}/configmaps?labelSelector={_SET_SELECTOR}"), 200),
    "selector of a watch": (
        lambda a: a.send("GET", f"{_CORE}/configmaps?watch=1&timeoutSeconds=1&labelSelector={_SELECTOR}"),
        200,
    ),
    "selector of a bulk delete": (lambda a: a.send("DELETE", f"{_CORE}/secrets?labelSelector={_SELECTOR}"), 200),
    "field selector of a watch": (
        lambda a: a.send(
            "GET",
            f"{_CORE}/events?watch=1&timeoutSeconds=1&fieldSelector=" + ",".join(["reason!=x"] * 15_000),
        ),
        200,
    ),
    "bulk delete with finalizers": (_delete_with_finalizers, 200),
    "namespace": (_namespace, 200),
    "query parameters": (
        lambda a: a.send("GET", f"{_CORE}/configmaps?" + "&".join(f"p{n}=v" for n in range(20_000))),
        200,
    ),
    "path segments": (lambda a: a.send("GET", "/apis" + "/x" * 100_000), 404),
    "headers": (lambda a: a.send("GET", _CORE, **{f"x{n}": "v" for n in range(99)}, Cookie="x" * 60_000), 200),
    "group to impersonate": (
        lambda a: a.send("GET", _CORE, Impersonate_User="x", Impersonate_Group="g" * 50_000),
        403,
    ),
    "access review": (
        lambda a: a.send(
            "POST",
            _ACCESS,
            {
                "spec": {
                    "user": "u",
                    "groups": [f"g{n}" for n in range(100_000)],
                    "extra": {f"k{n}": ["v"] for n in range(50_000)},
                    "resourceAttributes": {"verb": "get", "resource": "pods"},
                }
            },
        ),
        201,
    ),
    "token review": (
        lambda a: a.send(
            "POST", "/apis/authentication.k8s.io/v1/tokenreviews", {"spec": {"token": "a." + "x" * SIZE + ".b"}}
        ),
        201,
    ),
    "certificate request": (
        lambda a: a.send(
            "POST",
            "/apis/certificates.k8s.io/v1/certificatesigningrequests?dryRun=All",
            {
                "metadata": {"name": "c"},
                "spec": {"signerName": "x.io/y", "usages": ["digital signature"], "request": "QUJD" * (SIZE // 4)},
            },
        ),
        422,
    ),
    "stored label selector": (
        _post(
            _DEPLOYMENTS,
            {
                "metadata": {"name": "d"},
                "spec": {
                    "selector": {"matchLabels": {f"l{n}": "v" for n in range(30_000)}},
                    "template": {
                        "metadata": {"labels": {f"l{n}": "v" for n in range(30_000)}},
                        "spec": {"containers": [{"name": "c", "image": "i"}]},
                    },
                },
            },
        ),
        201,
    ),
    "names in a body of the wrong kind": (
        lambda a: a.send("POST", f"{_PODS}?{_DRY}", json.dumps([1] * 900_000).encode()),
        400,
    ),
}
