"""LabelSelector objects of the API (matchLabels, matchExpressions): validation and conversion to a LabelSelector."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from polykind import errors
from polykind.contract import JsonObject
from polykind.errors import FieldError
from polykind.golang.fmt import go_quote
from polykind.names import label_value, qualified_name
from polykind.selectors.label_selectors import SELECT_ALL, LabelSelector, Requirement

SET_OPERATORS = ("In", "NotIn")
EXISTENCE_OPERATORS = ("Exists", "DoesNotExist")
_OPERATORS = {"In": "in", "NotIn": "notin", "Exists": "exists", "DoesNotExist": "!"}


def compile_label_selector(value: JsonObject | None) -> LabelSelector:
    """Compile a validated LabelSelector object. None and an empty object select everything."""
    if not value:
        return SELECT_ALL
    for expression in value.get("matchExpressions") or ():
        if expression["operator"] not in _OPERATORS:
            # Validation rejects such an operator, so this selector was not written to the store by this server.
            raise errors.InternalError(f"{go_quote(expression['operator'])} is not a valid label selector operator")
    requirements = [Requirement(key, "=", (label,)) for key, label in (value.get("matchLabels") or {}).items()]
    requirements += [
        Requirement(expression["key"], _OPERATORS[expression["operator"]], tuple(expression.get("values") or ()))
        for expression in value.get("matchExpressions") or ()
    ]
    return LabelSelector(requirements)


def matches_labels(selector: JsonObject | None, labels: Mapping[str, str] | None) -> bool | None:
    """True if a LabelSelector object selects an object with the labels. Return None if the selector is invalid.

    Unlike in `compile_label_selector`, a selector that is None selects nothing, as in the specs of workloads.
    """
    if selector is None:
        return False
    if validate_label_selector(selector, ""):
        return None
    return compile_label_selector(selector).matches(labels)


def labels_of(obj: JsonObject | None) -> dict[str, str]:
    """Return the labels of an object. Return an empty dict if the object is None or has no labels."""
    metadata: Any = (obj or {}).get("metadata") or {}
    labels: dict[str, str] = metadata.get("labels") or {}
    return labels


def validate_label_selector(value: JsonObject | None, path: str, *, lenient: bool = False) -> list[FieldError]:
    """Validate a LabelSelector object. If `lenient` is true, values in matchExpressions need not be valid labels."""
    field_errors: list[FieldError] = []
    if not value:
        return field_errors
    for key, label in (value.get("matchLabels") or {}).items():
        field_errors += [errors.invalid(f"{path}.matchLabels", key, message) for message in qualified_name(key)]
        field_errors += [errors.invalid(f"{path}.matchLabels", label, message) for message in label_value(label)]
    for index, expression in enumerate(value.get("matchExpressions") or ()):
        here, operator = f"{path}.matchExpressions[{index}]", expression["operator"]
        values = expression.get("values") or ()
        field_errors += validate_value_count(operator, values, here)
        if operator not in _OPERATORS:
            field_errors.append(errors.invalid(f"{here}.operator", operator, "not a valid selector operator"))
        field_errors += validate_label_requirement(expression["key"], () if lenient else values, here)
    return field_errors


def validate_value_count(operator: str, values: Sequence[str], path: str) -> list[FieldError]:
    """Check that `In` and `NotIn` have values, and that `Exists` and `DoesNotExist` have none."""
    if operator in SET_OPERATORS and not values:
        return [errors.required(f"{path}.values", "must be specified when `operator` is 'In' or 'NotIn'")]
    if operator in EXISTENCE_OPERATORS and values:
        detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
        return [errors.forbidden(f"{path}.values", detail)]
    return []


def validate_label_requirement(key: str, values: Sequence[str], path: str) -> list[FieldError]:
    """Check the syntax of a requirement's label key and of its values."""
    field_errors = [errors.invalid(f"{path}.key", key, message) for message in qualified_name(key)]
    for index, value in enumerate(values):
        field_errors += [errors.invalid(f"{path}.values[{index}]", value, message) for message in label_value(value)]
    return field_errors
