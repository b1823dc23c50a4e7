"""Validation of roles and role bindings."""

from __future__ import annotations

from polykind import errors, names
from polykind.apis.rbac.types import GROUP
from polykind.contract import JsonObject
from polykind.errors import FieldError
from polykind.selectors.selector_objects import validate_label_selector


def validate_role(role: JsonObject, *, namespaced: bool) -> list[FieldError]:
    """Validate the rules of a Role or ClusterRole."""
    found = []
    for index, rule in enumerate(role["rules"] or ()):
        at, paths = f"rules[{index}]", rule.get("nonResourceURLs")
        if not rule["verbs"]:
            found.append(errors.required(f"{at}.verbs", "verbs must contain at least one value"))
        if paths:
            if namespaced:
                reason = "namespaced rules cannot apply to non-resource URLs"
                found.append(errors.invalid(f"{at}.nonResourceURLs", paths, reason))
            if any(rule.get(name) for name in ("apiGroups", "resources", "resourceNames")):
                reason = "rules cannot apply to both regular resources and non-resource URLs"
                found.append(errors.invalid(f"{at}.nonResourceURLs", paths, reason))
            continue
        if not rule.get("apiGroups"):
            found.append(errors.required(f"{at}.apiGroups", "resource rules must supply at least one api group"))
        if not rule.get("resources"):
            found.append(errors.required(f"{at}.resources", "resource rules must supply at least one resource"))
    return found


def validate_aggregation_rule(role: JsonObject, old: JsonObject | None) -> list[FieldError]:
    """Validate the aggregation rule of a ClusterRole."""
    aggregation = role.get("aggregationRule")
    if aggregation is None:
        return []
    found = []
    at = "aggregationRule.clusterRoleSelectors"
    selectors = aggregation.get("clusterRoleSelectors") or ()
    if not selectors:
        reason = "at least one clusterRoleSelector required if aggregationRule is non-nil"
        found.append(errors.required(at, reason))
    # Like kube-apiserver, accept invalid label values in an update if the stored object has an invalid selector.
    old_selectors = ((old or {}).get("aggregationRule") or {}).get("clusterRoleSelectors") or ()
    lenient = any(validate_label_selector(selector, "") for selector in old_selectors)
    for index, selector in enumerate(selectors):
        found += validate_label_selector(selector, f"{at}[{index}]", lenient=lenient)
        if validate_label_selector(selector, ""):
            found.append(errors.invalid(f"{at}[{index}]", None, "invalid label selector."))
    return found


def validate_binding(binding: JsonObject, *, namespaced: bool) -> list[FieldError]:
    """Validate the role reference and the subjects of a RoleBinding or ClusterRoleBinding."""
    found, ref = [], binding["roleRef"]
    supported = ("Role", "ClusterRole") if namespaced else ("ClusterRole",)
    if ref["apiGroup"] != GROUP:
        found.append(errors.not_supported("roleRef.apiGroup", ref["apiGroup"], (GROUP,)))
    if ref["kind"] not in supported:
        found.append(errors.not_supported("roleRef.kind", ref["kind"], supported))
    if not ref["name"]:
        found.append(errors.required("roleRef.name"))
    found += [errors.invalid("roleRef.name", ref["name"], reason) for reason in names.path_segment(ref["name"])]
    for index, subject in enumerate(binding.get("subjects") or ()):
        found += _validate_subject(subject, f"subjects[{index}]", namespaced=namespaced)
    return found


def _validate_subject(subject: JsonObject, at: str, *, namespaced: bool) -> list[FieldError]:
    kind, name, group = subject["kind"], subject["name"], subject.get("apiGroup", "")
    found = [] if name else [errors.required(f"{at}.name")]
    if kind == "ServiceAccount":
        if name:
            found += [errors.invalid(f"{at}.name", name, reason) for reason in names.subdomain_name(name)]
        if group:
            found.append(errors.not_supported(f"{at}.apiGroup", group, ("",)))
        if not namespaced and not subject.get("namespace"):
            found.append(errors.required(f"{at}.namespace"))
    elif kind in ("User", "Group"):
        if group != GROUP:
            found.append(errors.not_supported(f"{at}.apiGroup", group, (GROUP,)))
    else:
        found.append(errors.not_supported(f"{at}.kind", kind, ("ServiceAccount", "User", "Group")))
    return found


def validate_binding_update(new: JsonObject, old: JsonObject) -> list[FieldError]:
    """Validate that an update does not change the role reference of a binding."""
    ref = new["roleRef"]
    if old["roleRef"] == ref:
        return []
    # kube-apiserver's error shows its internal Go type, whose fields have other names than those of the API.
    internal = {"APIGroup": ref["apiGroup"], "Kind": ref["kind"], "Name": ref["name"]}
    return [errors.invalid("roleRef", internal, "cannot change roleRef")]
