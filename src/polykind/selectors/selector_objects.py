"""Label selectors as objects of the API have them, and the terms that they and others are made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from polykind import errors
from polykind.contract import JsonObject
from polykind.errors import FieldError
from polykind.golang.fmt import go_quote
from polykind.schema.names import label_value, qualified_name
from polykind.selectors.label_selectors import SELECT_ALL, LabelSelector
from polykind.selectors.requirement import Requirement

SET_OPERATORS = ("In", "NotIn")
EXISTENCE_OPERATORS = ("Exists", "DoesNotExist")
_OPERATORS = {"In": "in", "NotIn": "notin", "Exists": "exists", "DoesNotExist": "!"}


def compile_label_selector(value: JsonObject | None) -> LabelSelector:
    """A LabelSelector object, already judged, as something that selects; None selects everything."""
    if not value:
        return SELECT_ALL
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


def labels_of(obj: JsonObject | None) -> dict[str, str]:
    metadata: Any = (obj or {}).get("metadata") or {}
    labels: dict[str, str] = metadata.get("labels") or {}
    return labels


def validate_label_selector(value: JsonObject | None, at: str, *, lenient: bool = False) -> list[FieldError]:
    """What is wrong with a LabelSelector object. `lenient`: values in terms may be what no label can have."""
    found: list[FieldError] = []
    if not value:
        return found
    for key, label in (value.get("matchLabels") or {}).items():
        found += [errors.invalid(f"{at}.matchLabels", key, why) for why in qualified_name(key)]
        found += [errors.invalid(f"{at}.matchLabels", label, why) for why in label_value(label)]
    for index, term in enumerate(value.get("matchExpressions") or ()):
        path, operator, values = f"{at}.matchExpressions[{index}]", term["operator"], term.get("values") or ()
        found += validate_value_count(operator, values, path)
        if operator not in _OPERATORS:
            found.append(errors.invalid(f"{path}.operator", operator, "not a valid selector operator"))
        found += validate_label_requirement(term["key"], () if lenient else values, path)
    return found


def validate_value_count(operator: str, values: Sequence[str], at: str) -> list[FieldError]:
    """Whether a term has values where its operator wants some, and else none. Other operators are left alone."""
    if operator in SET_OPERATORS and not values:
        return [errors.required(f"{at}.values", "must be specified when `operator` is 'In' or 'NotIn'")]
    if operator in EXISTENCE_OPERATORS and values:
        why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
        return [errors.forbidden(f"{at}.values", why)]
    return []


def validate_label_requirement(key: str, values: Sequence[str], at: str) -> list[FieldError]:
    """Whether a term names what can be a label, and values that it can have."""
    found = [errors.invalid(f"{at}.key", key, why) for why in qualified_name(key)]
    for index, value in enumerate(values):
        found += [errors.invalid(f"{at}.values[{index}]", value, why) for why in label_value(value)]
    return found
