"""What a ValidatingAdmissionPolicyBinding must obey, in the reference's words and order."""

from __future__ import annotations

from polykind.admission.policy_rules import match_problems
from polykind.contract import JsonObject
from polykind.errors import FieldError, duplicate, forbidden, invalid, not_supported, required
from polykind.names import path_segment, subdomain_name
from polykind.selectors.selector_objects import validate_label_selector

_ACTIONS = ("Audit", "Deny", "Warn")
_NOT_FOUND_ACTIONS = ("Deny", "Allow")
_BOTH = (
    "must not contain both Deny and Warn (repeating the same validation failure information in the API response and "
    "headers serves no purpose)"
)
_EXCLUSIVE = "name and selector are mutually exclusive"


def binding_problems(binding: JsonObject) -> list[FieldError]:
    """What is wrong with the spec of a binding."""
    spec = binding["spec"]
    return bound_problems(spec) + _actions(spec.get("validationActions") or [], "spec.validationActions")


def bound_problems(spec: JsonObject) -> list[FieldError]:
    """What is wrong with the policy, params and matches of a binding of any kind."""
    name = spec.get("policyName") or ""
    at = "spec.policyName"
    found = [invalid(at, name, why) for why in subdomain_name(name)] if name else [required(at)]
    if spec.get("paramRef") is not None:
        found += _param_ref(spec["paramRef"], "spec.paramRef")
    if spec.get("matchResources") is not None:
        found += match_problems(spec["matchResources"], "spec.matchResources")
    return found


def _param_ref(ref: JsonObject, at: str) -> list[FieldError]:
    name, selector = ref.get("name") or "", ref.get("selector")
    found: list[FieldError] = []
    if name:
        found += [invalid(f"{at}.name", name, why) for why in path_segment(name)]
        if selector is not None:
            found.append(forbidden(f"{at}.name", _EXCLUSIVE))
    if selector is not None:
        found += validate_label_selector(selector, f"{at}.selector")
        if name:
            found.append(forbidden(f"{at}.selector", _EXCLUSIVE))
    if not name and selector is None:
        found.append(required(at, "one of name or selector must be specified"))
    action = ref.get("parameterNotFoundAction")
    if not action:
        found.append(required(f"{at}.parameterNotFoundAction"))
    elif action not in _NOT_FOUND_ACTIONS:
        found.append(not_supported(f"{at}.parameterNotFoundAction", action, _NOT_FOUND_ACTIONS))
    return found


def _actions(actions: list[str], at: str) -> list[FieldError]:
    found: list[FieldError] = []
    seen: set[str] = set()
    for index, action in enumerate(actions):
        if action not in _ACTIONS:
            found.append(not_supported(f"{at}[{index}]", action, _ACTIONS))
        if action in seen:
            found.append(duplicate(f"{at}[{index}]", action))
        seen.add(action)
    if {"Deny", "Warn"} <= seen:
        found.append(invalid(at, actions, _BOTH))
    if not actions:
        found.append(required(at, "at least one validation action is required"))
    return found
