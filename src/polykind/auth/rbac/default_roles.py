"""The roles and bindings that are there from the outset: the reference's, as far as what they are about exists here."""

from __future__ import annotations

from polykind.auth.rbac.coverage import Rule
from polykind.auth.user import ADMIN_GROUP, AUTHENTICATED
from polykind.contract import JsonObject

GROUP = "rbac.authorization.k8s.io"
AUTOUPDATE = "rbac.authorization.kubernetes.io/autoupdate"
_UNAUTHENTICATED = "system:unauthenticated"
_MONITORING = "system:monitoring"
_AGGREGATION = "clusterrole-aggregation-controller"

_READ = ("get", "list", "watch")
_WRITE = ("create", "delete", "deletecollection", "patch", "update")
_ALIVE = ("/healthz", "/livez", "/readyz")
_VERSION = ("/version", "/version/")


def _rule(verbs: tuple[str, ...], group: str, *resources: str) -> Rule:
    return {"verbs": sorted(verbs), "apiGroups": [group], "resources": sorted(resources)}


def _paths(*paths: str) -> Rule:
    return {"verbs": ["get"], "nonResourceURLs": sorted(paths)}


def _named(kind: str, name: str, **labels: str) -> JsonObject:
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": kind,
        "metadata": {
            "name": name,
            "labels": {"kubernetes.io/bootstrapping": "rbac-defaults", **labels},
            "annotations": {AUTOUPDATE: "true"},
        },
    }


def _label(role: str) -> dict[str, str]:
    return {f"{GROUP}/aggregate-to-{role}": "true"}


def _role(name: str, *rules: Rule, to: str = "") -> JsonObject:
    """A role; `to` is the one that it is a part of."""
    return {**_named("ClusterRole", name, **(_label(to) if to else {})), "rules": list(rules)}


def _aggregated(name: str, *, to: str = "") -> JsonObject:
    """A role that is put together of those that say so, as authors of custom resources have theirs do."""
    selectors = [{"matchLabels": _label(name)}]
    return {
        **_named("ClusterRole", name, **(_label(to) if to else {})),
        "rules": None,
        "aggregationRule": {"clusterRoleSelectors": selectors},
    }


def _binding(role: str, *subjects: JsonObject) -> JsonObject:
    ref = {"apiGroup": GROUP, "kind": "ClusterRole", "name": role}
    return {**_named("ClusterRoleBinding", role), "subjects": list(subjects), "roleRef": ref}


def _group(name: str) -> JsonObject:
    return {"kind": "Group", "apiGroup": GROUP, "name": name}


def default_roles() -> list[JsonObject]:
    return [
        _role("cluster-admin", _rule(("*",), "*", "*"), {"verbs": ["*"], "nonResourceURLs": ["*"]}),
        _role(
            "system:discovery",
            _paths(*_ALIVE, *_VERSION, "/openapi", "/openapi/*", "/api", "/api/*", "/apis", "/apis/*"),
        ),
        _role(_MONITORING, _paths(*_ALIVE, *(f"{path}/*" for path in _ALIVE), "/metrics")),
        _role(
            "system:basic-user",
            _rule(("create",), "authorization.k8s.io", "selfsubjectaccessreviews", "selfsubjectrulesreviews"),
            _rule(("create",), "authentication.k8s.io", "selfsubjectreviews"),
        ),
        _role("system:public-info-viewer", _paths(*_ALIVE, *_VERSION)),
        _aggregated("admin"),
        _aggregated("edit", to="admin"),
        _aggregated("view", to="edit"),
        _role(
            "system:aggregate-to-admin",
            _rule(("create",), "authorization.k8s.io", "localsubjectaccessreviews"),
            _rule((*_READ, *_WRITE), GROUP, "roles", "rolebindings"),
            to="admin",
        ),
        _role("system:aggregate-to-edit", _rule(_WRITE, "", "services"), to="edit"),
        _role(
            "system:aggregate-to-view",
            _rule(_READ, "", "services", "services/status"),
            _rule(_READ, "", "namespaces/status"),
            _rule(_READ, "", "namespaces"),
            to="view",
        ),
        _role(
            "system:auth-delegator",
            _rule(("create",), "authentication.k8s.io", "tokenreviews"),
            _rule(("create",), "authorization.k8s.io", "subjectaccessreviews"),
        ),
        _role(
            f"system:controller:{_AGGREGATION}",
            _rule(("escalate", "patch", "update", *_READ), GROUP, "clusterroles"),
        ),
    ]


def default_bindings() -> list[JsonObject]:
    return [
        _binding("cluster-admin", _group(ADMIN_GROUP)),
        _binding(_MONITORING, _group(_MONITORING)),
        _binding("system:discovery", _group(AUTHENTICATED)),
        _binding("system:basic-user", _group(AUTHENTICATED)),
        _binding("system:public-info-viewer", _group(AUTHENTICATED), _group(_UNAUTHENTICATED)),
        _binding(
            f"system:controller:{_AGGREGATION}",
            {"kind": "ServiceAccount", "name": _AGGREGATION, "namespace": "kube-system"},
        ),
    ]
