"""Selectors of webhooks and policies: by the labels of a namespace, and by those of an object."""

from __future__ import annotations

from typing import Any

from polykind import errors
from polykind.admission.attributes import DELETE, Attributes
from polykind.contract import JsonObject
from polykind.errors import FieldError
from polykind.gotext import go_quote
from polykind.schema.names import label_value, qualified_name
from polykind.selection.labels import EVERYTHING, LabelSelector
from polykind.selection.requirement import Requirement

_OPERATORS = {"In": "in", "NotIn": "notin", "Exists": "exists", "DoesNotExist": "!"}


def selector(value: JsonObject | None) -> LabelSelector:
    """A LabelSelector object, already judged, as something that selects; None selects everything."""
    if not value:
        return EVERYTHING
    for term in value.get("matchExpressions") or ():
        if term["operator"] not in _OPERATORS:
            # Only somebody who writes past this server can have stored it.
            raise errors.InternalError(f"{go_quote(term['operator'])} is not a valid label selector operator")
    wanted = [Requirement(key, "=", (label,)) for key, label in (value.get("matchLabels") or {}).items()]
    wanted += [
        Requirement(term["key"], _OPERATORS[term["operator"]], tuple(term.get("values") or ()))
        for term in value.get("matchExpressions") or ()
    ]
    return LabelSelector(wanted)


def selector_problems(value: JsonObject | None, at: str, *, lenient: bool = False) -> list[FieldError]:
    """What is wrong with a LabelSelector object. `lenient`: values in terms may be what no label can have."""
    found: list[FieldError] = []
    if not value:
        return found
    for key, label in (value.get("matchLabels") or {}).items():
        found += [errors.invalid(f"{at}.matchLabels", key, why) for why in qualified_name(key)]
        found += [errors.invalid(f"{at}.matchLabels", label, why) for why in label_value(label)]
    for index, term in enumerate(value.get("matchExpressions") or ()):
        found += _term_problems(term, f"{at}.matchExpressions[{index}]", lenient=lenient)
    return found


def _term_problems(term: JsonObject, at: str, *, lenient: bool) -> list[FieldError]:
    found: list[FieldError] = []
    operator, values = term["operator"], term.get("values") or ()
    if operator in ("In", "NotIn"):
        if not values:
            found.append(errors.required(f"{at}.values", "must be specified when `operator` is 'In' or 'NotIn'"))
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            found.append(errors.forbidden(f"{at}.values", why))
    else:
        found.append(errors.invalid(f"{at}.operator", operator, "not a valid selector operator"))
    found += [errors.invalid(f"{at}.key", term["key"], why) for why in qualified_name(term["key"])]
    if not lenient:
        for index, value in enumerate(values):
            found += [errors.invalid(f"{at}.values[{index}]", value, why) for why in label_value(value)]
    return found


def in_namespace(wanted: LabelSelector, asked: Attributes) -> bool:
    """Whether the namespace of a write is selected; what lies in none always is. NotFound if there is no such one."""
    if wanted.empty or (not asked.namespace and asked.resource.plural != "namespaces"):
        return True
    return wanted.matches(_namespace_labels(asked))


def _namespace_labels(asked: Attributes) -> dict[str, str]:
    resource = asked.resource
    if resource.plural == "namespaces" and not resource.subresource and asked.operation != DELETE:
        return labels_of(asked.obj)
    namespace = asked.old if (resource.group, resource.plural) == ("", "namespaces") else asked.namespace_object()
    if namespace is None:
        raise errors.NotFound("namespaces", "", asked.namespace)
    return labels_of(namespace)


def selects(wanted: LabelSelector, asked: Attributes) -> bool:
    """Whether an object is selected, as it is or as it shall be."""
    return wanted.empty or any(obj is not None and wanted.matches(labels_of(obj)) for obj in (asked.obj, asked.old))


def labels_of(obj: JsonObject | None) -> dict[str, str]:
    metadata: Any = (obj or {}).get("metadata") or {}
    labels: dict[str, str] = metadata.get("labels") or {}
    return labels
