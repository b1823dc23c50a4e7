"""Default RBAC roles and bindings, and their reconciliation with the stored objects."""

from __future__ import annotations

from collections.abc import Iterator

from polykind.auth.rbac import default_role_data as data
from polykind.auth.rbac.rule_coverage import Rule, uncovered
from polykind.contract import JsonObject

GROUP = "rbac.authorization.k8s.io"
AUTOUPDATE = "rbac.authorization.kubernetes.io/autoupdate"

_READ = ("get", "list", "watch")
_WRITE = ("create", "delete", "deletecollection", "patch", "update")
_VERBS = {"read": sorted(_READ), "write": sorted(_WRITE), "all": sorted(_READ + _WRITE)}


def default_roles() -> list[JsonObject]:
    """Return all default ClusterRoles and Roles."""
    roles: list[JsonObject] = []
    for line in _lines(data.CLUSTER_ROLES + data.ROLES):
        if line.startswith("  "):
            roles[-1]["rules"] = [*(roles[-1]["rules"] or ()), _rule(*line.split())]
        else:
            roles.append(_role(*line.split()))
    return roles


def default_bindings() -> list[JsonObject]:
    """Return all default ClusterRoleBindings and RoleBindings."""
    lines = [line.split() for line in _lines(data.CLUSTER_ROLE_BINDINGS + data.ROLE_BINDINGS)]
    lines += [[f"system:controller:{name}", f"kube-system/{name}"] for name in data.CONTROLLERS.split()]
    return [_binding(*line) for line in lines]


def _lines(text: str) -> Iterator[str]:
    """Yield the lines of a text. Join a line that ends with a comma with the next one."""
    continued = ""
    for line in text.split("\n"):
        continued += line.strip() if continued else line
        if continued and not continued.endswith(","):
            yield continued
            continued = ""


def _rule(verbs: str, groups_or_paths: str, resources: str = "", names: str = "") -> Rule:
    rule: Rule = {"verbs": list(_VERBS.get(verbs) or verbs.split(","))}
    if not resources:
        return rule | {"nonResourceURLs": groups_or_paths.split(",")}
    groups = ["" if group == "core" else group for group in groups_or_paths.split(",")]
    rule |= {"apiGroups": groups, "resources": resources.split(",")}
    return rule | {"resourceNames": names.split(",")} if names else rule


def _default_object(kind: str, name: str, **labels: str) -> JsonObject:
    """Return a default Role or binding. Without "namespace/" in `name`, it is a ClusterRole or ClusterRoleBinding."""
    namespace, _, name = name.rpartition("/")
    meta: JsonObject = {"name": name}
    if namespace:
        meta["namespace"] = namespace
    meta["labels"] = {"kubernetes.io/bootstrapping": "rbac-defaults", **labels}
    meta["annotations"] = {AUTOUPDATE: "true"}
    kind = kind if namespace else f"Cluster{kind}"
    return {"apiVersion": f"{GROUP}/v1", "kind": kind, "metadata": meta}


def _aggregation_label(role: str) -> dict[str, str]:
    return {f"{GROUP}/aggregate-to-{role}": "true"}


def _role(name: str, *marks: str) -> JsonObject:
    """Return a role without rules.

    The mark ">name" aggregates the role to the role `name`. The mark "<" makes it a role that aggregates other roles.
    """
    labels = {key: value for mark in marks if mark != "<" for key, value in _aggregation_label(mark[1:]).items()}
    role = {**_default_object("Role", name, **labels), "rules": None}
    if "<" in marks:
        role["aggregationRule"] = {"clusterRoleSelectors": [{"matchLabels": _aggregation_label(name)}]}
    return role


def _binding(name: str, subjects: str = "") -> JsonObject:
    name, _, role = name.partition("=")
    binding = _default_object("RoleBinding", name)
    kind = binding["kind"].removesuffix("Binding")
    if subjects:
        binding["subjects"] = [_subject(subject) for subject in subjects.split(",")]
    binding["roleRef"] = {"apiGroup": GROUP, "kind": kind, "name": role or binding["metadata"]["name"]}
    return binding


def _subject(text: str) -> JsonObject:
    kind, _, name = text.partition("=")
    if name:
        return {"kind": kind.capitalize(), "apiGroup": GROUP, "name": name}
    namespace, _, name = text.partition("/")
    return {"kind": "ServiceAccount", "name": name, "namespace": namespace}


def is_protected(existing: JsonObject) -> bool:
    """True if the annotation autoupdate=false protects the object from reconciliation."""
    return (existing["metadata"].get("annotations") or {}).get(AUTOUPDATE) == "false"


def reconcile_role(existing: JsonObject, default: JsonObject) -> JsonObject:
    """Return the stored role with the missing rules and selectors of the default role.

    Remove the aggregationRule if the default role has none.
    """
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
    """Return the stored binding with the missing subjects of the default binding.

    Return None if the roleRef differs, because then the binding must be created again.
    """
    if existing["roleRef"] != default["roleRef"]:
        return None
    binding = _with_default_metadata(existing, default)
    subjects = existing.get("subjects") or []
    missing = [subject for subject in default.get("subjects") or () if subject not in subjects]
    if missing:
        binding["subjects"] = [*subjects, *missing]
    return binding


def _with_default_metadata(existing: JsonObject, default: JsonObject) -> JsonObject:
    """Return the stored object with the missing labels and annotations of the default object."""
    meta = dict(existing["metadata"])
    for name in ("annotations", "labels"):
        meta[name] = {**default["metadata"][name], **(meta.get(name) or {})}
    return {**existing, "metadata": meta}
