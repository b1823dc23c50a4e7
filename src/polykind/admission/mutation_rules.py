"""What MutatingAdmissionPolicies and their bindings must obey, in the reference's words and order."""

from __future__ import annotations

from polykind.admission.cel_environment import MUTATIONS, Environment
from polykind.admission.match_conditions import validate_expression
from polykind.admission.policy_binding_rules import bound_problems
from polykind.admission.policy_rules import (
    choice_problems,
    constraint_problems,
    kept_condition_problems,
    variable_problems,
)
from polykind.cel.cel_types import Type
from polykind.cel.library.strings import trim
from polykind.contract import JsonObject
from polykind.errors import FieldError, invalid, not_supported, required

_OPERATIONS = ("*", "CONNECT", "CREATE", "UPDATE")
_REINVOCATIONS = ("IfNeeded", "Never")


def mutating_policy_problems(policy: JsonObject, old: JsonObject | None = None) -> list[FieldError]:
    """What is wrong with the spec of a policy, which was `old` before."""
    spec = policy["spec"]
    composed: dict[str, Type] = {}
    params = spec.get("paramKind") is not None
    found = choice_problems(spec) + constraint_problems(spec)
    found += _operations(spec.get("matchConstraints"), "spec.matchConstraints")
    found += kept_condition_problems(spec, old["spec"] if old is not None else None)
    found += variable_problems(spec, Environment(params=params, variables=composed), composed)
    mutations = spec.get("mutations") or ()
    if not mutations:
        found.append(required("spec.mutations", "mutations must contain at least one item"))
    environment = Environment(params=params, variables=composed, patches=True)
    for index, mutation in enumerate(mutations):
        found += _mutation(mutation, f"spec.mutations[{index}]", environment)
    reinvocation = spec.get("reinvocationPolicy") or ""
    if not reinvocation:
        found.append(required("spec.reinvocationPolicy"))
    elif reinvocation not in _REINVOCATIONS:
        found.append(not_supported("spec.reinvocationPolicy", reinvocation, _REINVOCATIONS))
    return found


def mutating_binding_problems(binding: JsonObject) -> list[FieldError]:
    """What is wrong with the spec of a binding."""
    spec = binding["spec"]
    return bound_problems(spec) + _operations(spec.get("matchResources"), "spec.matchResources")


def _operations(match: JsonObject | None, at: str) -> list[FieldError]:
    """What is deleted cannot be changed."""
    return [
        not_supported(f"{at}.resourceRules.operations", operation, _OPERATIONS)
        for rule in (match or {}).get("resourceRules") or ()
        for operation in rule.get("operations") or ()
        if operation not in _OPERATIONS
    ]


def _mutation(mutation: JsonObject, at: str, environment: Environment) -> list[FieldError]:
    kind = mutation["patchType"]
    if not kind:
        return [required(f"{at}.patchType")]
    if kind not in MUTATIONS:
        return [not_supported(f"{at}.patchType", kind, tuple(MUTATIONS))]
    found: list[FieldError] = []
    field, result = MUTATIONS[kind]
    if mutation.get(field) is None:
        found.append(required(f"{at}.{field}", f"must be specified when patchType is {kind}"))
    else:
        found += _expression(mutation[field].get("expression") or "", f"{at}.{field}.expression", environment, result)
    for other, _ in MUTATIONS.values():
        if other != field and mutation.get(other) is not None:
            why = f"must not be specified when patchType is {kind}"
            found.append(invalid(f"{at}.{other}", f"{{{other}}}", why))
    return found


def _expression(text: str, at: str, environment: Environment, result: Type) -> list[FieldError]:
    trimmed = trim(text)
    return validate_expression(environment, trimmed, at, (result,)) if trimmed else [required(at)]
