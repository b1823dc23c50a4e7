"""Default RBAC roles and bindings, and their reconciliation with the stored objects.

The defaults are kube-apiserver's, limited to resources that this server has.
"""

from __future__ import annotations

from polykind.auth.rbac.rule_coverage import Rule, uncovered
from polykind.auth.user import ADMIN_GROUP, AUTHENTICATED, UNAUTHENTICATED
from polykind.contract import JsonObject

GROUP = "rbac.authorization.k8s.io"
AUTOUPDATE = "rbac.authorization.kubernetes.io/autoupdate"
_MONITORING = "system:monitoring"
_AGGREGATION = "clusterrole-aggregation-controller"

_READ = ("get", "list", "watch")
_WRITE = ("create", "delete", "deletecollection", "patch", "update")
_HEALTH_PATHS = ("/healthz", "/livez", "/readyz")
_VERSION_PATHS = ("/version", "/version/")


def _rule(verbs: tuple[str, ...], group: str, *resources: str) -> Rule:
    return {"verbs": sorted(verbs), "apiGroups": [group], "resources": sorted(resources)}


def _paths(*paths: str) -> Rule:
    return {"verbs": ["get"], "nonResourceURLs": sorted(paths)}


def _default_object(kind: str, name: str, **labels: str) -> JsonObject:
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": kind,
        "metadata": {
            "name": name,
            "labels": {"kubernetes.io/bootstrapping": "rbac-defaults", **labels},
            "annotations": {AUTOUPDATE: "true"},
        },
    }


def _aggregation_label(role: str) -> dict[str, str]:
    return {f"{GROUP}/aggregate-to-{role}": "true"}


def _role(name: str, *rules: Rule, to: str = "") -> JsonObject:
    """Return a ClusterRole. `to`: the name of the role that aggregates this role."""
    return {**_default_object("ClusterRole", name, **(_aggregation_label(to) if to else {})), "rules": list(rules)}


def _aggregated(name: str, *, to: str = "") -> JsonObject:
    """Return a ClusterRole whose rules are aggregated from the roles with its aggregation label."""
    selectors = [{"matchLabels": _aggregation_label(name)}]
    return {
        **_default_object("ClusterRole", name, **(_aggregation_label(to) if to else {})),
        "rules": None,
        "aggregationRule": {"clusterRoleSelectors": selectors},
    }


def _binding(role: str, *subjects: JsonObject) -> JsonObject:
    ref = {"apiGroup": GROUP, "kind": "ClusterRole", "name": role}
    return {**_default_object("ClusterRoleBinding", role), "subjects": list(subjects), "roleRef": ref}


def _group(name: str) -> JsonObject:
    return {"kind": "Group", "apiGroup": GROUP, "name": name}


def default_roles() -> list[JsonObject]:
    return [
        _role("cluster-admin", _rule(("*",), "*", "*"), {"verbs": ["*"], "nonResourceURLs": ["*"]}),
        _role(
            "system:discovery",
            _paths(*_HEALTH_PATHS, *_VERSION_PATHS, "/openapi", "/openapi/*", "/api", "/api/*", "/apis", "/apis/*"),
        ),
        _role(_MONITORING, _paths(*_HEALTH_PATHS, *(f"{path}/*" for path in _HEALTH_PATHS), "/metrics")),
        _role(
            "system:basic-user",
            _rule(("create",), "authorization.k8s.io", "selfsubjectaccessreviews", "selfsubjectrulesreviews"),
            _rule(("create",), "authentication.k8s.io", "selfsubjectreviews"),
        ),
        _role("system:public-info-viewer", _paths(*_HEALTH_PATHS, *_VERSION_PATHS)),
        _aggregated("admin"),
        _aggregated("edit", to="admin"),
        _aggregated("view", to="edit"),
        _role(
            "system:aggregate-to-admin",
            _rule(("create",), "authorization.k8s.io", "localsubjectaccessreviews"),
            _rule((*_READ, *_WRITE), GROUP, "roles", "rolebindings"),
            to="admin",
        ),
        _role("system:aggregate-to-edit", _rule(_WRITE, "", "configmaps", "services"), to="edit"),
        _role(
            "system:aggregate-to-view",
            _rule(_READ, "", "configmaps", "services", "services/status"),
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
            f"system:controller:{_AGGREGATION}", _rule(("escalate", "patch", "update", *_READ), GROUP, "clusterroles")
        ),
    ]


def default_bindings() -> list[JsonObject]:
    return [
        _binding("cluster-admin", _group(ADMIN_GROUP)),
        _binding(_MONITORING, _group(_MONITORING)),
        _binding("system:discovery", _group(AUTHENTICATED)),
        _binding("system:basic-user", _group(AUTHENTICATED)),
        _binding("system:public-info-viewer", _group(AUTHENTICATED), _group(UNAUTHENTICATED)),
        _binding(
            f"system:controller:{_AGGREGATION}",
            {"kind": "ServiceAccount", "name": _AGGREGATION, "namespace": "kube-system"},
        ),
    ]


def is_protected(existing: JsonObject) -> bool:
    """True if the annotation autoupdate=false protects the object from reconciliation."""
    return (existing["metadata"].get("annotations") or {}).get(AUTOUPDATE) == "false"


def reconcile_role(existing: JsonObject, default: JsonObject) -> JsonObject:
    """Add missing rules to a default role. Drop its aggregationRule if the default role has none."""
    role = _with_default_metadata(existing, default)
    rules = existing.get("rules") or []
    missing = uncovered(rules, default.get("rules") or ())
    if missing:
        role["rules"] = [*rules, *missing]
    aggregation = default.get("aggregationRule")
    if aggregation is None:
        role.pop("aggregationRule", None)
        return role
    selectors = (existing.get("aggregationRule") or {}).get("clusterRoleSelectors") or []
    lacking = [selector for selector in aggregation["clusterRoleSelectors"] if selector not in selectors]
    if lacking:
        role["aggregationRule"] = {"clusterRoleSelectors": [*selectors, *lacking]}
    return role


def reconcile_binding(existing: JsonObject, default: JsonObject) -> JsonObject | None:
    """Add missing subjects to a default binding. Return None if the roleRef differs: it needs a new binding."""
    if existing["roleRef"] != default["roleRef"]:
        return None
    binding = _with_default_metadata(existing, default)
    subjects = existing.get("subjects") or []
    missing = [subject for subject in default["subjects"] if subject not in subjects]
    if missing:
        binding["subjects"] = [*subjects, *missing]
    return binding


def _with_default_metadata(existing: JsonObject, default: JsonObject) -> JsonObject:
    """Add missing labels and annotations. Keep existing values."""
    meta = dict(existing["metadata"])
    for name in ("annotations", "labels"):
        meta[name] = {**default["metadata"][name], **(meta.get(name) or {})}
    return {**existing, "metadata": meta}
