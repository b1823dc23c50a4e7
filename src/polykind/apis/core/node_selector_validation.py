"""Validation of node selectors in pods, persistent volumes and resource slices."""

from __future__ import annotations

from polykind import errors, names
from polykind.contract import JsonObject
from polykind.errors import FieldError
from polykind.selectors.selector_objects import (
    EXISTENCE_OPERATORS,
    SET_OPERATORS,
    validate_label_requirement,
    validate_value_count,
)

_ORDER_OPERATORS = ("Gt", "Lt")
_UNKNOWN_OPERATOR = "not a valid selector operator"


def validate_node_selector(selector: JsonObject, at: str, *, lenient: bool = False) -> list[FieldError]:
    """Validate a NodeSelector. If `lenient` is true, accept values that are not valid label values."""
    terms = selector.get("nodeSelectorTerms") or []
    if not terms:
        return [errors.required(f"{at}.nodeSelectorTerms", "must have at least one node selector term")]
    return [
        error
        for index, term in enumerate(terms)
        for error in validate_node_selector_term(term, f"{at}.nodeSelectorTerms[{index}]", lenient=lenient)
    ]


def validate_node_selector_term(term: JsonObject, at: str, *, lenient: bool = False) -> list[FieldError]:
    """Validate one NodeSelectorTerm. If `lenient` is true, accept values that are not valid label values."""
    found: list[FieldError] = []
    for index, requirement in enumerate(term.get("matchExpressions") or ()):
        found += _validate_label_expression(requirement, f"{at}.matchExpressions[{index}]", lenient)
    for index, requirement in enumerate(term.get("matchFields") or ()):
        found += _validate_field_expression(requirement, f"{at}.matchFields[{index}]")
    return found


def _validate_label_expression(requirement: JsonObject, at: str, lenient: bool) -> list[FieldError]:
    operator, values = requirement.get("operator") or "", requirement.get("values") or []
    if operator in (*SET_OPERATORS, *EXISTENCE_OPERATORS):
        found = validate_value_count(operator, values, at)
    elif operator in _ORDER_OPERATORS:
        reason = "must be specified single value when `operator` is 'Lt' or 'Gt'"
        found = [errors.required(f"{at}.values", reason)] if len(values) != 1 else []
    else:
        found = [errors.invalid(f"{at}.operator", operator, _UNKNOWN_OPERATOR)]
    return found + validate_label_requirement(requirement.get("key") or "", () if lenient else values, at)


def _validate_field_expression(requirement: JsonObject, at: str) -> list[FieldError]:
    operator, key = requirement.get("operator") or "", requirement.get("key") or ""
    values = requirement.get("values") or []
    found = []
    if operator not in SET_OPERATORS:
        found.append(errors.invalid(f"{at}.operator", operator, _UNKNOWN_OPERATOR))
    elif len(values) != 1:
        reason = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
        found.append(errors.required(f"{at}.values", reason))
    if key != "metadata.name":
        return [*found, errors.invalid(f"{at}.key", key, "not a valid field selector key")]
    for index, value in enumerate(values):
        found += [errors.invalid(f"{at}.values[{index}]", value, text) for text in names.subdomain_name(value)]
    return found


def has_invalid_label_values(selector: JsonObject | None) -> bool:
    """True if a value in the expressions of a NodeSelector cannot be the value of a label."""
    return any(
        names.label_value(value)
        for term in (selector or {}).get("nodeSelectorTerms") or ()
        for expression in term.get("matchExpressions") or ()
        for value in expression.get("values") or ()
    )
