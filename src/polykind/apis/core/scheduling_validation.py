"""Validation of the rules that choose a node for a pod: affinity, tolerations, topology spread constraints."""

from __future__ import annotations

from polykind.apis.core.node_selector_validation import validate_node_selector, validate_node_selector_term
from polykind.apis.meta.validation import label_name_errors, positive_errors
from polykind.contract import JsonObject
from polykind.errors import FieldError, duplicate, forbidden, invalid, not_supported, required
from polykind.names import dns1123_label, label_value
from polykind.selectors.selector_objects import validate_label_selector

TAINT_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_WEIGHT_RULE = "must be in the range 1-100"


def validate_affinity(affinity: JsonObject | None, at: str) -> list[FieldError]:
    """Validate the affinity of a pod to nodes and to other pods."""
    found: list[FieldError] = []
    affinity = affinity or {}
    if (node_affinity := affinity.get("nodeAffinity")) is not None:
        found += _validate_node_affinity(node_affinity, f"{at}.nodeAffinity")
    for name in ("podAffinity", "podAntiAffinity"):
        if (pod_affinity := affinity.get(name)) is not None:
            found += _validate_pod_affinity(pod_affinity, f"{at}.{name}")
    return found


def _validate_node_affinity(affinity: JsonObject, at: str) -> list[FieldError]:
    found: list[FieldError] = []
    if (selector := affinity.get(_REQUIRED)) is not None:
        found += validate_node_selector(selector, f"{at}.{_REQUIRED}")
    for index, term in enumerate(affinity.get(_PREFERRED) or ()):
        here = f"{at}.{_PREFERRED}[{index}]"
        found += _weight_errors(term, here)
        found += validate_node_selector_term(term.get("preference") or {}, f"{here}.preference", lenient=True)
    return found


def _validate_pod_affinity(affinity: JsonObject, at: str) -> list[FieldError]:
    found: list[FieldError] = []
    for index, term in enumerate(affinity.get(_REQUIRED) or ()):
        found += _validate_pod_affinity_term(term, f"{at}.{_REQUIRED}[{index}]")
    for index, weighted in enumerate(affinity.get(_PREFERRED) or ()):
        here = f"{at}.{_PREFERRED}[{index}]"
        found += _weight_errors(weighted, here)
        found += _validate_pod_affinity_term(weighted.get("podAffinityTerm") or {}, f"{here}.podAffinityTerm")
    return found


def _weight_errors(term: JsonObject, at: str) -> list[FieldError]:
    weight = term.get("weight") or 0
    return [] if 1 <= weight <= 100 else [invalid(f"{at}.weight", weight, _WEIGHT_RULE)]


def _validate_pod_affinity_term(term: JsonObject, at: str) -> list[FieldError]:
    found = validate_label_selector(term.get("labelSelector"), f"{at}.labelSelector")
    found += validate_label_selector(term.get("namespaceSelector"), f"{at}.namespaceSelector")
    for name in term.get("namespaces") or ():
        found += [invalid(f"{at}.namespace", name, reason) for reason in dns1123_label(name)]
    found += _validate_label_keys(term, at)
    topology_key = term.get("topologyKey") or ""
    if not topology_key:
        found.append(required(f"{at}.topologyKey", "can not be empty"))
    return found + label_name_errors(topology_key, f"{at}.topologyKey")


def _validate_label_keys(term: JsonObject, at: str) -> list[FieldError]:
    """Validate matchLabelKeys and mismatchLabelKeys.

    The server adds the pod's values of these labels to the selector.
    """
    selector = term.get("labelSelector")
    match, mismatch = term.get("matchLabelKeys") or [], term.get("mismatchLabelKeys") or []
    found: list[FieldError] = []
    for field, keys in (("matchLabelKeys", match), ("mismatchLabelKeys", mismatch)):
        if keys and selector is None:
            found.append(forbidden(f"{at}.{field}", "must not be specified when labelSelector is not set"))
            continue
        for index, key in enumerate(keys):
            found += label_name_errors(key, f"{at}.{field}[{index}]")
    found += _validate_keys_are_not_selected(match, selector or {}, at)
    for index, key in enumerate(match):
        if key in mismatch:
            reason = "exists in both matchLabelKeys and mismatchLabelKeys"
            found.append(invalid(f"{at}.matchLabelKeys[{index}]", key, reason))
    return found


def _validate_keys_are_not_selected(keys: list[str], selector: JsonObject, at: str) -> list[FieldError]:
    """Validate that the client has not selected by the keys.

    The server itself has added one expression for each key.
    """
    found = []
    positions = {key: index for index, key in enumerate(keys)}
    selected = set(selector.get("matchLabels") or {})
    for expression in selector.get("matchExpressions") or ():
        key = expression.get("key") or ""
        if key in positions and key in selected:
            reason = "exists in both matchLabelKeys and labelSelector"
            found.append(invalid(f"{at}[{positions[key]}]", key, reason))
        selected.add(key)
    return found


def validate_tolerations(tolerations: list[JsonObject], at: str) -> list[FieldError]:
    """Validate the tolerations of a pod."""
    found: list[FieldError] = []
    for index, toleration in enumerate(tolerations):
        found += _validate_toleration(toleration, f"{at}[{index}]")
    return found


def _validate_toleration(toleration: JsonObject, at: str) -> list[FieldError]:
    key, operator, value, effect = (toleration.get(name) or "" for name in ("key", "operator", "value", "effect"))
    found = label_name_errors(key, f"{at}.key") if key else []
    if not key and operator != "Exists":
        reason = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
        found.append(invalid(f"{at}.operator", operator, reason))
    if toleration.get("tolerationSeconds") is not None and effect != "NoExecute":
        reason = "effect must be 'NoExecute' when `tolerationSeconds` is set"
        found.append(invalid(f"{at}.effect", effect, reason))
    if operator in ("Equal", ""):
        if reasons := label_value(value):
            found.append(invalid(f"{at}.operator", value, ";".join(reasons)))
    elif operator == "Exists":
        if value:
            found.append(invalid(f"{at}.operator", value, "value must be empty when `operator` is 'Exists'"))
    else:
        supported = ("Equal", "Exists", "Lt", "Gt") if operator in ("Lt", "Gt") else ("Equal", "Exists")
        found.append(not_supported(f"{at}.operator", operator, supported))
    if effect and effect not in TAINT_EFFECTS:
        found.append(not_supported(f"{at}.effect", effect, TAINT_EFFECTS))
    return found


def validate_topology_spread_constraints(constraints: list[JsonObject], at: str) -> list[FieldError]:
    """Validate the rules that spread the pods of a workload over zones, nodes or other domains."""
    found: list[FieldError] = []
    pairs = [(item.get("topologyKey") or "", item.get("whenUnsatisfiable") or "") for item in constraints]
    for index, constraint in enumerate(constraints):
        here, (key, action) = f"{at}[{index}]", pairs[index]
        found += positive_errors(constraint.get("maxSkew") or 0, f"{here}.maxSkew")
        if not key:
            found.append(required(f"{here}.topologyKey", "can not be empty"))
        if action not in ("DoNotSchedule", "ScheduleAnyway"):
            supported = ("DoNotSchedule", "ScheduleAnyway")
            found.append(not_supported(f"{here}.whenUnsatisfiable", action, supported))
        if pairs[index] in pairs[index + 1 :]:
            found.append(duplicate(f"{here}.{{topologyKey, whenUnsatisfiable}}", f"{{{key}, {action}}}"))
        found += _validate_min_domains(constraint.get("minDomains"), action, f"{here}.minDomains")
        for field in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
            policy = constraint.get(field)
            if policy is not None and policy not in ("Honor", "Ignore"):
                found.append(not_supported(f"{here}.{field}", policy, ("Honor", "Ignore")))
        found += _validate_label_keys(constraint, here)
        found += validate_label_selector(constraint.get("labelSelector"), f"{here}.labelSelector")
    return found


def _validate_min_domains(domains: int | None, action: str, at: str) -> list[FieldError]:
    if domains is None:
        return []
    found = positive_errors(domains, at)
    if action != "DoNotSchedule":
        reason = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}"
        found.append(invalid(at, domains, reason))
    return found
