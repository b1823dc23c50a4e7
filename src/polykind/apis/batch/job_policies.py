"""Validation of a Job's policies: pod failures, success, and the replacement of pods."""

from __future__ import annotations

from polykind import errors, names
from polykind.apis.batch.job_indexes import IndexesError, count_indexes
from polykind.apis.meta.field_validation import validate_nonnegative
from polykind.contract import JsonObject
from polykind.errors import OMITTED, FieldError
from polykind.golang.utf8 import byte_length

_MAX_RULES = 20
_MAX_EXIT_CODES = 255
_MAX_INDEXES_LENGTH = 64 * 1024
_ACTIONS = ("Count", "FailIndex", "FailJob", "Ignore")
_OPERATORS = ("In", "NotIn")
_STATUSES = ("False", "True", "Unknown")


def validate_pod_failure_policy(spec: JsonObject, at: str) -> list[FieldError]:
    """Validate the pod failure policy: rules that decide how a failed pod affects its Job."""
    rules, at = spec["podFailurePolicy"].get("rules") or (), f"{at}.podFailurePolicy.rules"
    found = [errors.too_many(at, len(rules), _MAX_RULES)] if len(rules) > _MAX_RULES else []
    pod = spec["template"]["spec"]
    containers = {c.get("name", "") for c in (*(pod.get("containers") or ()), *(pod.get("initContainers") or ()))}
    for index, rule in enumerate(rules):
        found += _validate_failure_rule(spec, rule, containers, f"{at}[{index}]")
    return found


def _validate_failure_rule(spec: JsonObject, rule: JsonObject, containers: set[str], at: str) -> list[FieldError]:
    found, action = [], rule.get("action") or ""
    if not action:
        found.append(errors.required(f"{at}.action", _valid_values(_ACTIONS)))
    elif action == "FailIndex":
        if spec.get("backoffLimitPerIndex") is None:
            found.append(errors.invalid(f"{at}.action", action, "requires the backoffLimitPerIndex to be set"))
    elif action not in _ACTIONS:
        found.append(errors.not_supported(f"{at}.action", action, _ACTIONS))
    exit_codes, conditions = rule.get("onExitCodes"), rule.get("onPodConditions")
    if exit_codes is not None:
        found += _validate_exit_codes(exit_codes, containers, f"{at}.onExitCodes")
    if conditions:
        found += _validate_pod_conditions(conditions, f"{at}.onPodConditions")
    if exit_codes is not None and conditions:
        text = "specifying both OnExitCodes and OnPodConditions is not supported"
        found.append(errors.invalid(at, OMITTED, text))
    if exit_codes is None and not conditions:
        text = "specifying one of OnExitCodes and OnPodConditions is required"
        found.append(errors.invalid(at, OMITTED, text))
    return found


def _valid_values(values: tuple[str, ...]) -> str:
    quoted = " ".join(f'"{value}"' for value in values)
    return f"valid values: [{quoted}]"


def _validate_exit_codes(exit_codes: JsonObject, containers: set[str], at: str) -> list[FieldError]:
    found, operator = [], exit_codes.get("operator") or ""
    if not operator:
        found.append(errors.required(f"{at}.operator", _valid_values(_OPERATORS)))
    elif operator not in _OPERATORS:
        found.append(errors.not_supported(f"{at}.operator", operator, _OPERATORS))
    container = exit_codes.get("containerName")
    if container is not None and container not in containers:
        text = "must be one of the container or initContainer names in the pod template"
        found.append(errors.invalid(f"{at}.containerName", container, text))
    values, at = exit_codes.get("values") or [], f"{at}.values"
    if not values:
        found.append(errors.invalid(at, exit_codes.get("values"), "at least one value is required"))
    elif len(values) > _MAX_EXIT_CODES:
        found.append(errors.too_many(at, len(values), _MAX_EXIT_CODES))
    for index, value in enumerate(values):
        if operator == "In" and value == 0:
            found.append(errors.invalid(f"{at}[{index}]", value, "must not be 0 for the In operator"))
        if value in values[:index]:
            found.append(errors.duplicate(f"{at}[{index}]", value))
    if values != sorted(values):
        found.append(errors.invalid(at, values, "must be ordered"))
    return found


def _validate_pod_conditions(patterns: list[JsonObject], at: str) -> list[FieldError]:
    found = [errors.too_many(at, len(patterns), _MAX_RULES)] if len(patterns) > _MAX_RULES else []
    for index, pattern in enumerate(patterns):
        type_, status = pattern.get("type") or "", pattern.get("status") or ""
        found += [errors.invalid(f"{at}[{index}].type", type_, reason) for reason in names.qualified_name(type_)]
        if not status:
            found.append(errors.required(f"{at}[{index}].status", _valid_values(_STATUSES)))
        elif status not in _STATUSES:
            found.append(errors.not_supported(f"{at}[{index}].status", status, _STATUSES))
    return found


def validate_success_policy(spec: JsonObject, at: str) -> list[FieldError]:
    """Validate the success policy: rules that decide when an Indexed Job has succeeded."""
    rules, at = spec["successPolicy"].get("rules") or (), f"{at}.successPolicy.rules"
    found = []
    if not rules:
        found.append(errors.required(at, "at least one rules must be specified when the successPolicy is specified"))
    if len(rules) > _MAX_RULES:
        found.append(errors.too_many(at, len(rules), _MAX_RULES))
    for index, rule in enumerate(rules):
        found += _validate_success_rule(rule, spec.get("completions", 0), f"{at}[{index}]")
    return found


def _validate_success_rule(rule: JsonObject, completions: int, at: str) -> list[FieldError]:
    found, indexes, count = [], rule.get("succeededIndexes"), rule.get("succeededCount")
    if count is None and indexes is None:
        text = "at least one of succeededCount or succeededIndexes must be specified"
        found.append(errors.required(at, text))
    total = 0
    if indexes is not None:
        if byte_length(indexes) > _MAX_INDEXES_LENGTH:
            found.append(errors.too_long(f"{at}.succeededIndexes", _MAX_INDEXES_LENGTH))
        try:
            total = count_indexes(indexes, completions)
        except IndexesError as error:
            text = f"error parsing succeededIndexes: {error}"
            found.append(errors.invalid(f"{at}.succeededIndexes", indexes, text))
    if count is None:
        return found
    at = f"{at}.succeededCount"
    found += validate_nonnegative(count, at)
    if count > completions:
        text = f"must be less than or equal to {completions} (the number of specified completions)"
        found.append(errors.invalid(at, count, text))
    if indexes is not None and count > total:
        text = f"must be less than or equal to {total} (the number of indexes in the specified succeededIndexes field)"
        found.append(errors.invalid(at, count, text))
    return found


def validate_pod_replacement_policy(spec: JsonObject, at: str) -> list[FieldError]:
    """Validate the pod replacement policy. With a pod failure policy, the controller must replace only failed pods."""
    policy, at = spec.get("podReplacementPolicy"), f"{at}.podReplacementPolicy"
    supported = ("Failed",) if "podFailurePolicy" in spec else ("Failed", "TerminatingOrFailed")
    return [] if policy is None or policy in supported else [errors.not_supported(at, policy, supported)]
