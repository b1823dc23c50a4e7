"""Node labels that Kubernetes has deprecated, and the warnings about them."""

from __future__ import annotations

from polykind.contract import JsonObject
from polykind.names import label_value

_DEPRECATED = {
    "beta.kubernetes.io/arch": 'deprecated since v1.14; use "kubernetes.io/arch" instead',
    "beta.kubernetes.io/os": 'deprecated since v1.14; use "kubernetes.io/os" instead',
    "failure-domain.beta.kubernetes.io/region": 'deprecated since v1.17; use "topology.kubernetes.io/region" instead',
    "failure-domain.beta.kubernetes.io/zone": 'deprecated since v1.17; use "topology.kubernetes.io/zone" instead',
    "beta.kubernetes.io/instance-type": 'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead',
    "app.kubernetes.io/created-by": "deprecated since v1.9",
    "scheduler.alpha.kubernetes.io/preferAvoidPods": "deprecated since v1.22; use Taints and Tolerations instead",
    "node-role.kubernetes.io/master": 'use "node-role.kubernetes.io/control-plane" instead',
}


def deprecated_node_label(key: str) -> str:
    """Return the reason why a node label is deprecated. Return an empty string if it is not deprecated."""
    return _DEPRECATED.get(key, "")


def label_map_warnings(labels: dict[str, str] | None, at: str) -> list[str]:
    """Return a warning for each deprecated node label among the keys of a map."""
    return [f"{at}: {_DEPRECATED[key]}" for key in labels or () if key in _DEPRECATED]


def label_selector_warnings(selector: JsonObject | None, at: str) -> list[str]:
    """Return a warning for each deprecated node label in a label selector."""
    if selector is None:
        return []
    warnings = [
        f"{at}.matchExpressions[{index}].key: {expression['key']} is {_DEPRECATED[expression['key']]}"
        for index, expression in enumerate(selector.get("matchExpressions") or ())
        if expression["key"] in _DEPRECATED
    ]
    labels = selector.get("matchLabels") or ()
    return warnings + [f"{at}.matchLabels.{key}: {_DEPRECATED[key]}" for key in labels if key in _DEPRECATED]


def node_selector_term_warnings(term: JsonObject, at: str, *, check_values: bool = False) -> list[str]:
    """Return warnings about deprecated labels. If `check_values` is true, also warn about invalid label values."""
    found: list[str] = []
    for index, expression in enumerate(term.get("matchExpressions") or ()):
        here, key = f"{at}.matchExpressions[{index}]", expression.get("key") or ""
        if key in _DEPRECATED:
            found.append(f"{here}.key: {key} is {_DEPRECATED[key]}")
        for position, value in enumerate(expression.get("values") or ()) if check_values else ():
            found += [f"{here}.values[{position}]: {value} is invalid, {text}" for text in label_value(value)]
    return found
