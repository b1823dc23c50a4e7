"""Attacks in two steps: store a hostile object, then send a request that the server handles with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.conformance.client import Answer
from tests.robustness.attacker import (
    BOMBS,
    CRDS,
    GROUP,
    MERGE_PATCH,
    OPEN,
    OWN,
    Attacker,
    Attacks,
    JsonObject,
    bomb,
    crd,
)
from tests.support.waiting import eventually

_ACCESS = "/apis/authorization.k8s.io/v1"
_CORE = "/api/v1/namespaces/default"
_RBAC = "/apis/rbac.authorization.k8s.io/v1"
_ADMISSION = "/apis/admissionregistration.k8s.io/v1"
_HUGE = f"huge-{OWN}"
_USER = f"user-{OWN}"
_OWN_NAMESPACE = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": OWN}}}
_TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
_ALL = {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*"]}


def _store(attacker: Attacker, path: str, body: JsonObject) -> None:
    answer = attacker.send("POST", f"{path}?fieldValidation=Ignore", body)
    assert answer.status == 201, answer.body[:500]


def _after(
    path: str,
    body: JsonObject,
    use: Callable[[Attacker], Answer],
    seen: Callable[[Attacker], bool] = lambda attacker: True,
) -> Callable[[Attacker], Answer]:
    """Return an attack that stores an object, uses it when the server has `seen` it, and deletes it."""

    def attack(attacker: Attacker) -> Answer:
        _store(attacker, path, body)
        try:
            eventually(lambda: seen(attacker))
            return use(attacker)
        finally:
            attacker.send("DELETE", f"{path}/{body['metadata']['name']}")

    return attack


def _dry_status(attacker: Attacker, plural: str) -> int:
    """Return the status of a dry run that creates an object with the name `seen`."""
    return attacker.send("POST", f"{_CORE}/{plural}?dryRun=All", {"metadata": {"name": "seen"}}).status


def _config_map(attacker: Attacker) -> Answer:
    return attacker.send("POST", f"{_CORE}/configmaps?dryRun=All", {"metadata": {"name": "x"}, "data": {"a": "b"}})


def _rules(count: int) -> list[JsonObject]:
    return [{"verbs": ["get"], "apiGroups": ["x"], "resources": [f"r{number}"]} for number in range(count)]


def _with_role(use: Callable[[Attacker], Answer]) -> Callable[[Attacker], Answer]:
    """Bind a user to a ClusterRole of 14,500 rules, none of which matches the user's requests."""

    def attack(attacker: Attacker) -> Answer:
        _store(attacker, f"{_RBAC}/clusterroles", {"metadata": {"name": _HUGE}, "rules": _rules(14_500)})
        role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": _HUGE}
        subject = {"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": _USER}
        binding = {"metadata": {"name": _HUGE}, "roleRef": role, "subjects": [subject]}
        _store(attacker, f"{_RBAC}/clusterrolebindings", binding)
        wanted = {"user": _USER, "resourceAttributes": {"verb": "get", "group": "x", "resource": "r14499"}}
        try:
            eventually(lambda: b'"allowed":true' in attacker.send("POST", _REVIEWS, {"spec": wanted}).body)
            return use(attacker)
        finally:
            for plural in ("clusterrolebindings", "clusterroles"):
                attacker.send("DELETE", f"{_RBAC}/{plural}/{_HUGE}")

    return attack


def _policy(
    attacker: Attacker, spec: JsonObject, use: Callable[[Attacker], Answer], rejected: str = "configmaps"
) -> Answer:
    """Create a policy and its binding, use it when it rejects objects with the name `seen`, and delete both."""
    path = f"{_ADMISSION}/validatingadmissionpolicies"
    constraints = {"resourceRules": [_ALL], **_OWN_NAMESPACE}
    spec = {"matchConstraints": constraints, **spec, "validations": [*_validations(1, _UNSEEN), *spec["validations"]]}
    _store(attacker, path, {"metadata": {"name": _HUGE}, "spec": spec})
    binding = {"metadata": {"name": _HUGE}, "spec": {"policyName": _HUGE, "validationActions": ["Deny"]}}
    bindings = path.replace("policies", "policybindings")
    _store(attacker, bindings, binding)
    try:
        eventually(lambda: _dry_status(attacker, rejected) == 422)
        return use(attacker)
    finally:
        attacker.send("DELETE", f"{bindings}/{_HUGE}")
        attacker.send("DELETE", f"{path}/{_HUGE}")


def _validations(count: int, expression: str = "object.metadata.name != ''") -> list[JsonObject]:
    return [{"expression": expression} for _ in range(count)]


def with_crd(made: JsonObject, use: Callable[[Attacker, str], Answer]) -> Callable[[Attacker], Answer]:
    """Create a CRD, wait until it is served, use it and delete it. `use` gets the path of its collection."""

    def attack(attacker: Attacker) -> Answer:
        _store(attacker, CRDS, made)
        path = f"/apis/{GROUP}/v1/namespaces/default/{made['spec']['names']['plural']}"
        try:
            eventually(lambda: attacker.has(path))
            return use(attacker, path)
        finally:
            attacker.send("DELETE", f"{CRDS}/{made['metadata']['name']}")

    return attack


def _object(made: JsonObject, spec: Any, name: str = "x", **metadata: Any) -> JsonObject:
    kind = made["spec"]["names"]["kind"]
    return {"apiVersion": f"{GROUP}/v1", "kind": kind, "metadata": {"name": name, **metadata}, "spec": spec}


def _wide(count: int, leaf: JsonObject | None = None) -> JsonObject:
    return {"type": "object", "properties": {f"p{number}": leaf or {"type": "string"} for number in range(count)}}


def _nested(levels: int) -> JsonObject:
    schema: JsonObject = {"type": "string"}
    for _ in range(levels):
        schema = {"type": "object", "properties": {"a": schema}}
    return schema


def _columns(count: int) -> JsonObject:
    made = crd("Column", OPEN)
    column = {"type": "string", "jsonPath": ".spec.a[0].b"}
    columns = [{**column, "name": f"c{number}"} for number in range(count)]
    made["spec"]["versions"][0]["additionalPrinterColumns"] = columns
    return made


def _selectable() -> JsonObject:
    made = crd("Field", _wide(8))
    made["spec"]["versions"][0]["selectableFields"] = [{"jsonPath": f".spec.p{number}"} for number in range(8)]
    return made


def _many_versions(count: int) -> JsonObject:
    made = crd("Version", OPEN)
    version = made["spec"]["versions"][0]
    more = [{**version, "name": f"v{number + 2}", "storage": False} for number in range(count - 1)]
    made["spec"]["versions"] = [version, *more]
    return made


def _listed(made: JsonObject, count: int, path_suffix: str, **headers: str) -> Callable[[Attacker], Answer]:
    """Create objects and list them."""

    def use(attacker: Attacker, path: str) -> Answer:
        for number in range(count):
            spec = {"p0": f"v{number}", "a": [{"b": "c"}]}
            attacker.send("POST", f"{path}?fieldValidation=Ignore", _object(made, spec, f"o{number}"))
        return attacker.send("GET", f"{path}{path_suffix}", **headers)

    return with_crd(made, use)


def _patterns(count: int, pattern: str) -> JsonObject:
    return crd("Match", _wide(count, {"type": "string", "pattern": pattern}))


def _created(made: JsonObject, spec: Any, query: str = "dryRun=All&fieldValidation=Ignore") -> Any:
    return with_crd(made, lambda attacker, path: attacker.send("POST", f"{path}?{query}", _object(made, spec)))


def _pods(count: int, **fields: Any) -> JsonObject:
    containers = [{"name": f"n{number}", "image": "i", **fields} for number in range(count)]
    return {"metadata": {"name": "p"}, "spec": {"containers": containers}}


def _pod(count: int, **fields: Any) -> Callable[[Attacker], Answer]:
    return lambda attacker: attacker.send("POST", f"{_CORE}/pods?dryRun=All", _pods(count, **fields))


def _secured(attacker: Attacker) -> Answer:
    """Create a Pod in a namespace with the restricted level of Pod Security."""
    labels = {f"pod-security.kubernetes.io/{mode}": "restricted" for mode in ("enforce", "audit", "warn")}
    attacker.send("POST", "/api/v1/namespaces", {"metadata": {"name": _HUGE, "labels": labels}})
    try:
        return attacker.send("POST", f"/api/v1/namespaces/{_HUGE}/pods?dryRun=All", _pods(14_500))
    finally:
        attacker.send("DELETE", f"/api/v1/namespaces/{_HUGE}")


def _owners(count: int) -> list[JsonObject]:
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "p"}
    return [{**owner, "uid": f"uid-{number}"} for number in range(count)]


def _many_managers(attacker: Attacker) -> Answer:
    """Apply as a new manager to an object that a thousand managers own."""
    entry = {"operation": "Apply", "apiVersion": f"{GROUP}/v1", "fieldsType": "FieldsV1"}
    entry["time"] = "2020-01-01T00:00:00Z"
    managers = [
        {**entry, "manager": f"m{n}", "fieldsV1": {"f:spec": {"f:open": {f"f:k{n}": {}}}}} for n in range(5_000)
    ]
    spec = {"open": {f"k{n}": "v" for n in range(5_000)}}
    attacker.send("POST", BOMBS, bomb("managed", spec, managedFields=managers))
    patch = {"spec": {"open": {"k1": "w"}}}
    return attacker.send("PATCH", f"{BOMBS}/managed?fieldManager=me", patch, MERGE_PATCH)


def _json_list(attacker: Attacker, **headers: str) -> Answer:
    for number in range(30):
        text = {f"k{n}": "v" * 20 for n in range(1_000)}
        body = {"metadata": {"name": f"l{number}", "labels": {"listed": "yes"}}, "data": text}
        attacker.send("POST", f"{_CORE}/configmaps", body)
    return attacker.send("GET", f"{_CORE}/configmaps?labelSelector=listed%3Dyes", **headers)


_WEBHOOK = {
    "name": "a.x.io",
    "clientConfig": {"url": "https://127.0.0.1:1/"},
    "sideEffects": "None",
    "admissionReviewVersions": ["v1"],
    "failurePolicy": "Ignore",
}
_NO_MATCH = [{**_ALL, "apiGroups": ["x"], "resources": [f"r{number}"]} for number in range(10_000)]
_SECRETS = {**_ALL, "apiGroups": [""], "resources": ["secrets"]}
_SEEN = {**_WEBHOOK, **_OWN_NAMESPACE, "name": "seen.x.io", "failurePolicy": "Fail", "rules": [_SECRETS]}
_QUOTA = {"metadata": {"name": "q"}, "spec": {"hard": {f"count/r{n}.x": "1" for n in range(30_000)}}}
_LIMITS = {
    "metadata": {"name": "limits"},
    "spec": {"limits": [{"type": "Container", "default": {f"x.io/r{n}": "1" for n in range(10_000)}}]},
}
_CATALOG = f"/openapi/v3/apis/{GROUP}/v1"
_REVIEWS = f"{_ACCESS}/subjectaccessreviews"
_UNSEEN = "object == null || object.metadata.name != 'seen'"
_RULE = {"rule": "self.all(x, self.all(y, x == y || x != y))"}

STORED_ATTACKS: Attacks = {
    "authorization with a large role": (_with_role(lambda a: a.send("GET", _CORE, Impersonate_User=_USER)), 403),
    "access review with a large role": (
        _with_role(
            lambda a: a.send(
                "POST",
                _REVIEWS,
                {"spec": {"user": _USER, "resourceAttributes": {"verb": "get", "resource": "pods"}}},
            )
        ),
        201,
    ),
    "rules review with a large role": (
        _with_role(
            lambda a: a.send(
                "POST",
                f"{_ACCESS}/selfsubjectrulesreviews",
                {"spec": {"namespace": "default"}},
                Impersonate_User=_USER,
                Impersonate_Group="system:authenticated",
            )
        ),
        201,
    ),
    "escalation check of a large role": (
        _with_role(
            lambda a: a.send(
                "POST",
                f"{_RBAC}/clusterroles?dryRun=All",
                {"metadata": {"name": "more"}, "rules": _rules(10_000)},
                Impersonate_User=_USER,
            )
        ),
        403,
    ),
    "aggregated role": (
        _after(
            f"{_RBAC}/clusterroles",
            {
                "metadata": {"name": _HUGE, "labels": {"rbac.authorization.k8s.io/aggregate-to-view": "true"}},
                "rules": _rules(10_000),
            },
            lambda a: a.send("GET", f"{_RBAC}/clusterroles/view"),
            lambda a: b'"r9999"' in a.send("GET", f"{_RBAC}/clusterroles/view").body,
        ),
        200,
    ),
    "policy with 3,000 expressions": (
        lambda a: _policy(a, {"validations": _validations(3_000)}, _config_map),
        201,
    ),
    "policy with 10,000 rules": (
        lambda a: _policy(
            a,
            {"validations": _validations(1), "matchConstraints": {"resourceRules": [*_NO_MATCH, _SECRETS]}},
            _config_map,
            "secrets",
        ),
        201,
    ),
    "policy for a large object": (
        lambda a: _policy(
            a,
            {"validations": _validations(5, "!has(object.data) || object.data.all(k, object.data[k] != 'x')")},
            lambda a: a.send(
                "POST",
                f"{_CORE}/configmaps?dryRun=All",
                {"metadata": {"name": "x"}, "data": {f"k{n}": "v" for n in range(80_000)}},
            ),
        ),
        201,
    ),
    "policy for a deletion of a large object": (
        lambda a: _policy(
            a,
            {"validations": _validations(5, "request.operation != 'DELETE' || oldObject.data.all(k, k != 'x')")},
            lambda a: (
                a.send(
                    "POST",
                    f"{_CORE}/configmaps",
                    {"metadata": {"name": "old"}, "data": {f"k{n}": "v" for n in range(5_000)}},
                ),
                a.send("DELETE", f"{_CORE}/configmaps/old"),
            )[1],
        ),
        200,
    ),
    "webhook with 10,000 rules": (
        _after(
            f"{_ADMISSION}/validatingwebhookconfigurations",
            {"metadata": {"name": _HUGE}, "webhooks": [{**_WEBHOOK, "rules": _NO_MATCH}, _SEEN]},
            _config_map,
            lambda a: _dry_status(a, "secrets") == 500,
        ),
        201,
    ),
    "2,000 webhooks that do not match": (
        _after(
            f"{_ADMISSION}/mutatingwebhookconfigurations",
            {
                "metadata": {"name": _HUGE},
                "webhooks": [
                    *({**_WEBHOOK, "name": f"a{n}.x.io", "rules": _NO_MATCH[:1]} for n in range(2_000)),
                    _SEEN,
                ],
            },
            _config_map,
            lambda a: _dry_status(a, "secrets") == 500,
        ),
        201,
    ),
    "unreachable webhook for a large object": (
        _after(
            f"{_ADMISSION}/mutatingwebhookconfigurations",
            {
                "metadata": {"name": _HUGE},
                "webhooks": [{**_WEBHOOK, **_OWN_NAMESPACE, "rules": [{**_ALL, "resources": ["bombs"]}]}, _SEEN],
            },
            lambda a: a.send("POST", f"{BOMBS}?dryRun=All", bomb("w", {"open": {f"k{n}": [n] for n in range(90_000)}})),
            lambda a: _dry_status(a, "secrets") == 500,
        ),
        201,
    ),
    "wide CRD": (_created(crd("Wide", _wide(25_000)), {f"p{n}": "v" for n in range(25_000)}), 201),
    "OpenAPI of a wide CRD": (with_crd(crd("Wide", _wide(25_000)), lambda a, _: a.send("GET", _CATALOG)), 200),
    "OpenAPI v2 of a wide CRD": (
        with_crd(crd("Wide", _wide(25_000)), lambda a, _: a.send("GET", "/openapi/v2")),
        200,
    ),
    "apply with a wide CRD": (
        with_crd(
            crd("Wide", _wide(25_000)),
            lambda a, path: a.send(
                "PATCH",
                f"{path}/x?fieldManager=m&dryRun=All",
                _object(crd("Wide", OPEN), {f"p{n}": "v" for n in range(25_000)}),
                "application/apply-patch+yaml",
            ),
        ),
        201,
    ),
    "CRD with 100 levels": (_created(crd("Nest", _nested(100)), {"a": {"a": 1}}), 422),
    "1,000 served versions": (with_crd(_many_versions(1_000), lambda a, _: a.send("GET", f"/apis/{GROUP}")), 200),
    "aggregated discovery of 1,000 versions": (
        with_crd(
            _many_versions(1_000),
            lambda a, _: a.send(
                "GET", "/apis", Accept="application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
            ),
        ),
        200,
    ),
    "Table with 10,000 columns": (_listed(_columns(10_000), 20, "", Accept=_TABLE), 200),
    "field selectors of a CRD": (
        _listed(_selectable(), 50, "?fieldSelector=" + ",".join(["spec.p0!=x"] * 12_000)),
        200,
    ),
    "pattern for a long string": (_created(_patterns(1, "^(a|b|ab)*c$"), {"p0": "ab" * 1_200_000}), 422),
    "500 patterns for long strings": (
        _created(_patterns(500, "^(a+)+$"), {f"p{n}": "a" * 5_000 for n in range(500)}),
        201,
    ),
    "rule for a long list": (
        _created(
            crd(
                "Rule",
                {
                    "type": "array",
                    "maxItems": 500,
                    "items": {"type": "integer"},
                    "x-kubernetes-validations": [_RULE],
                },
            ),
            list(range(500)),
        ),
        422,
    ),
    "rule with a pattern": (
        _created(
            crd(
                "Rule",
                {
                    "type": "string",
                    "maxLength": 100_000,
                    "x-kubernetes-validations": [{"rule": "self.matches('(x+x+)+y')"}],
                },
            ),
            "x" * 100_000,
        ),
        422,
    ),
    "quota with 30,000 names": (
        _after(f"{_CORE}/resourcequotas", _QUOTA, _pod(100)),
        201,
    ),
    "limit range with 10,000 names": (
        _after(f"{_CORE}/limitranges", _LIMITS, _pod(50), lambda a: b"limit-ranger" in _pod(1)(a).body),
        422,
    ),
    "Pod security of many containers": (_secured, 403),
    "stored owner references": (
        _after(
            f"{_CORE}/configmaps",
            {"metadata": {"name": "owned", "ownerReferences": _owners(15_000)}},
            lambda a: a.send("DELETE", f"{_CORE}/configmaps/owned", {"propagationPolicy": "Background"}),
        ),
        200,
    ),
    "5,000 field managers": (_many_managers, 200),
    "compressed list": (lambda a: _json_list(a, Accept_Encoding="gzip"), 200),
    "list in protobuf": (lambda a: _json_list(a, Accept="application/vnd.kubernetes.protobuf"), 200),
    "list in YAML": (lambda a: _json_list(a, Accept="application/yaml"), 200),
    "list of metadata": (
        lambda a: _json_list(a, Accept="application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"),
        200,
    ),
}
