"""Validation of admission policies, their bindings and the status of validating policies."""

from __future__ import annotations

import re

from polykind.apis.admissionregistration import types
from polykind.apis.admissionregistration.cel_environment import MUTATIONS, Environment, composed_type
from polykind.apis.admissionregistration.expression_validation import (
    compilation_field_error,
    validate_expression,
    validate_match_expressions,
)
from polykind.apis.admissionregistration.validation import (
    FAILURE_POLICIES,
    MATCH_POLICIES,
    REINVOCATION_POLICIES,
    validate_named_rule,
)
from polykind.apis.meta.validation import validate_conditions
from polykind.cel import CompilationError
from polykind.cel.cel_types import DYN, NULL, STRING, Type
from polykind.cel.library.strings import trim
from polykind.codec.jsonpath import JsonPath, JsonPathError
from polykind.contract import JsonObject
from polykind.errors import FieldError, duplicate, forbidden, invalid, not_supported, required
from polykind.golang.utf8 import byte_length
from polykind.names import dns1035_label, dns1123_subdomain, path_segment, qualified_name, subdomain_name
from polykind.selectors.selector_objects import validate_label_selector

_REASONS = ("Forbidden", "Invalid", "RequestEntityTooLarge")
_ACTIONS = ("Audit", "Deny", "Warn")
_NOT_FOUND_ACTIONS = ("Deny", "Allow")
_MUTATED_OPERATIONS = ("*", "CONNECT", "CREATE", "UPDATE")
_MAX_ANNOTATIONS = 20
_MAX_VALUE_EXPRESSION = 5 * 1024
_NO_VALIDATIONS = "validations or auditAnnotations must contain at least one item"
_DENY_AND_WARN = (
    "must not contain both Deny and Warn (repeating the same validation failure information in the API response and "
    "headers serves no purpose)"
)
_EXCLUSIVE = "name and selector are mutually exclusive"
_KEYWORDS = (
    "true false null in as break const continue else for function if import let loop package namespace return var "
    "void while"
)
_RESERVED = frozenset(_KEYWORDS.split())
_identifier = re.compile(r"[_a-zA-Z][_a-zA-Z0-9]*").fullmatch


def validate_policy(policy: JsonObject, old: JsonObject | None = None) -> list[FieldError]:
    """Validate the spec of a ValidatingAdmissionPolicy. `old` is the stored object of an update, None for a create."""
    return _PolicyValidation(policy).spec_errors(policy["spec"], old["spec"] if old is not None else None)


class _PolicyValidation:
    """The validation of one policy. The object holds the CEL environments in which the policy's expressions compile."""

    def __init__(self, policy: JsonObject) -> None:
        spec = policy["spec"]
        self._name: str = policy["metadata"].get("name") or ""
        has_params = spec.get("paramKind") is not None
        variables: dict[str, Type] | None = {} if spec.get("variables") else None
        self._variables = variables if variables is not None else {}
        self._environment = Environment(params=has_params, variables=variables)
        self._message_environment = Environment(params=has_params, authorizer=False, variables=variables)

    def spec_errors(self, spec: JsonObject, old: JsonObject | None) -> list[FieldError]:
        found = _validate_choices(spec) + _validate_match_constraints(spec)
        found += _validate_match_conditions(spec, old)
        found += _validate_variables(spec, self._environment, self._variables)
        validations, annotations = spec.get("validations") or [], spec.get("auditAnnotations") or []
        if not validations and not annotations:
            paths = ("spec.validations", "spec.auditAnnotations")
            return [*found, *(required(path, _NO_VALIDATIONS) for path in paths)]
        for index, validation in enumerate(validations):
            found += self._validation_errors(validation, f"spec.validations[{index}]")
        return found + self._annotations_errors(annotations, "spec.auditAnnotations")

    def _validation_errors(self, validation: JsonObject, at: str) -> list[FieldError]:
        expression, message = validation["expression"], validation.get("message") or ""
        message_expression = validation.get("messageExpression") or ""
        if trim(expression):
            found = validate_expression(self._environment, expression, f"{at}.expression")
        else:
            found = [required(f"{at}.expression", "expression is not specified")]
        if trim(message_expression):
            path = f"{at}.messageExpression"
            found += validate_expression(self._message_environment, message_expression, path, (STRING,))
        elif message_expression:
            found.append(invalid(f"{at}.messageExpression", message_expression, "must be non-empty if specified"))
        if message and not trim(message):
            found.append(invalid(f"{at}.message", message, "must be non-empty if specified"))
        elif any(char in trim(message) for char in "\n\r"):
            found.append(invalid(f"{at}.message", message, "must not contain line breaks"))
        reason = validation.get("reason")
        if reason is not None and reason not in _REASONS:
            found.append(not_supported(f"{at}.reason", reason, _REASONS))
        return found

    def _annotations_errors(self, annotations: list[JsonObject], at: str) -> list[FieldError]:
        found: list[FieldError] = []
        keys: set[str] = set()
        if len(annotations) > _MAX_ANNOTATIONS:
            # kube-apiserver's error shows its internal Go type, whose fields have other names than those of the API.
            internal = [{"Key": one["key"], "ValueExpression": one["valueExpression"]} for one in annotations]
            found.append(invalid(at, internal, f"must not have more than {_MAX_ANNOTATIONS} auditAnnotations"))
        for index, annotation in enumerate(annotations):
            found += self._annotation_errors(annotation, f"{at}[{index}]")
            if annotation["key"] in keys:
                found.append(duplicate(f"{at}[{index}].key", annotation["key"]))
            keys.add(annotation["key"])
        return found

    def _annotation_errors(self, annotation: JsonObject, at: str) -> list[FieldError]:
        key, expression = annotation["key"], annotation["valueExpression"]
        if self._name:
            full_key = f"{self._name}/{key}"
            found = [invalid(f"{at}.key", full_key, reason) for reason in qualified_name(full_key)]
        else:
            found = [invalid(f"{at}.key", key, "requires metadata.name be non-empty")]
        trimmed = trim(expression)
        if not trimmed:
            return [*found, required(f"{at}.valueExpression", "valueExpression is not specified")]
        if byte_length(trimmed) > _MAX_VALUE_EXPRESSION:
            reason = f"must not exceed {_MAX_VALUE_EXPRESSION} bytes in length"
            return [*found, required(f"{at}.valueExpression", reason)]
        try:
            self._environment.compile(trimmed, (STRING, NULL))
        except CompilationError as error:
            found.append(compilation_field_error(f"{at}.valueExpression", expression, error))
        return found


def validate_mutating_policy(policy: JsonObject, old: JsonObject | None = None) -> list[FieldError]:
    """Validate the spec of a MutatingAdmissionPolicy. `old` is the stored object of an update, None for a create."""
    spec = policy["spec"]
    variables: dict[str, Type] = {}
    has_params = spec.get("paramKind") is not None
    found = _validate_choices(spec) + _validate_match_constraints(spec)
    found += _validate_mutated_operations(spec.get("matchConstraints"), "spec.matchConstraints")
    found += _validate_match_conditions(spec, old["spec"] if old is not None else None)
    found += _validate_variables(spec, Environment(params=has_params, variables=variables), variables)
    mutations = spec.get("mutations") or ()
    if not mutations:
        found.append(required("spec.mutations", "mutations must contain at least one item"))
    environment = Environment(params=has_params, variables=variables, patches=True)
    for index, mutation in enumerate(mutations):
        found += _validate_mutation(mutation, f"spec.mutations[{index}]", environment)
    reinvocation = spec.get("reinvocationPolicy") or None
    return found + _validate_choice(reinvocation, REINVOCATION_POLICIES, "spec.reinvocationPolicy")


def _validate_mutated_operations(match: JsonObject | None, at: str) -> list[FieldError]:
    """Validate that no rule matches DELETE, because a deleted object cannot be changed."""
    return [
        not_supported(f"{at}.resourceRules.operations", operation, _MUTATED_OPERATIONS)
        for rule in (match or {}).get("resourceRules") or ()
        for operation in rule.get("operations") or ()
        if operation not in _MUTATED_OPERATIONS
    ]


def _validate_mutation(mutation: JsonObject, at: str, environment: Environment) -> list[FieldError]:
    patch_type = mutation["patchType"]
    if not patch_type:
        return [required(f"{at}.patchType")]
    if patch_type not in MUTATIONS:
        return [not_supported(f"{at}.patchType", patch_type, tuple(MUTATIONS))]
    found: list[FieldError] = []
    field, result_type = MUTATIONS[patch_type]
    if mutation.get(field) is None:
        found.append(required(f"{at}.{field}", f"must be specified when patchType is {patch_type}"))
    else:
        path, expression = f"{at}.{field}.expression", trim(mutation[field].get("expression") or "")
        found += validate_expression(environment, expression, path, (result_type,)) if expression else [required(path)]
    for other, _ in MUTATIONS.values():
        if other != field and mutation.get(other) is not None:
            reason = f"must not be specified when patchType is {patch_type}"
            found.append(invalid(f"{at}.{other}", f"{{{other}}}", reason))
    return found


def _validate_choices(spec: JsonObject) -> list[FieldError]:
    """Validate the failurePolicy and the paramKind of a policy."""
    found = _validate_choice(spec.get("failurePolicy"), FAILURE_POLICIES, "spec.failurePolicy")
    return found + _validate_param_kind(spec["paramKind"]) if spec.get("paramKind") is not None else found


def _validate_choice(value: str | None, supported: tuple[str, ...], at: str) -> list[FieldError]:
    """Return an error if the value is missing or is not one of the supported values."""
    if value is None:
        return [required(at)]
    return [] if value in supported else [not_supported(at, value, supported)]


def _validate_param_kind(kind: JsonObject) -> list[FieldError]:
    at = "spec.paramKind"
    found: list[FieldError] = []
    api_version, name = kind.get("apiVersion") or "", kind.get("kind") or ""
    if not api_version:
        found.append(required(f"{at}.apiVersion"))
    elif api_version.count("/") > 1:
        reason = f"unexpected GroupVersion string: {api_version}"
        found.append(invalid(f"{at}.apiVersion", api_version, reason))
    else:
        group, _, version = api_version.rpartition("/")
        if group and (reasons := dns1123_subdomain(group)):
            found.append(invalid(f"{at}.apiVersion", group, ",".join(reasons)))
        if not version:
            found.append(invalid(f"{at}.apiVersion", api_version, "version must be specified"))
        elif reasons := dns1035_label(version):
            found.append(invalid(f"{at}.apiVersion", version, ",".join(reasons)))
    if not name:
        found.append(required(f"{at}.kind"))
    elif reasons := dns1035_label(name.lower()):
        reason = f"may have mixed case, but should otherwise match: {','.join(reasons)}"
        found.append(invalid(f"{at}.kind", name, reason))
    return found


def _validate_match_constraints(spec: JsonObject) -> list[FieldError]:
    constraints = spec.get("matchConstraints")
    if constraints is None:
        return [required("spec.matchConstraints")]
    found = _validate_match_resources(constraints, "spec.matchConstraints")
    if not constraints.get("resourceRules"):
        found.append(required("spec.matchConstraints.resourceRules"))
    return found


def _validate_match_resources(match: JsonObject, at: str) -> list[FieldError]:
    """Validate the MatchResources of a policy or a binding."""
    found = _validate_choice(match.get("matchPolicy"), MATCH_POLICIES, f"{at}.matchPolicy")
    for name in ("namespaceSelector", "objectSelector"):
        if match.get(name) is None:
            found.append(required(f"{at}.{name}"))
        else:
            found += validate_label_selector(match[name], f"{at}.{name}")
    for name in ("resourceRules", "excludeResourceRules"):
        for index, rule in enumerate(match.get(name) or ()):
            found += validate_named_rule(rule, f"{at}.{name}[{index}]")
    return found


def _validate_match_conditions(spec: JsonObject, old: JsonObject | None) -> list[FieldError]:
    """Validate the match conditions of a policy. Skip them if an update changes neither them nor the paramKind."""
    if old is not None and all(spec.get(part) == old.get(part) for part in ("paramKind", "matchConditions")):
        return []
    has_params = spec.get("paramKind") is not None
    return validate_match_expressions(spec.get("matchConditions") or (), "spec.matchConditions", params=has_params)


def _validate_variables(spec: JsonObject, environment: Environment, known: dict[str, Type]) -> list[FieldError]:
    """Validate the variables of a policy.

    Add the type of each variable to `known`, so that later expressions can use it.
    """
    found: list[FieldError] = []
    for index, variable in enumerate(spec.get("variables") or ()):
        found += _validate_variable(variable, f"spec.variables[{index}]", environment, known)
    return found


def _validate_variable(
    variable: JsonObject, at: str, environment: Environment, known: dict[str, Type]
) -> list[FieldError]:
    name, expression = variable["name"], variable["expression"]
    found: list[FieldError] = []
    if not trim(name):
        found.append(required(f"{at}.name", "name is not specified"))
    elif not _identifier(name) or name in _RESERVED:
        found.append(invalid(f"{at}.name", name, "must be a valid CEL identifier"))
    if not trim(expression):
        found.append(required(f"{at}.expression", "expression is not specified"))
        return found
    try:
        known[name] = composed_type(environment.compile(expression, ()).type)
    except CompilationError as error:
        known[name] = DYN
        found.append(compilation_field_error(f"{at}.expression", expression, error))
    return found


def validate_binding(binding: JsonObject, _old: JsonObject | None = None) -> list[FieldError]:
    """Validate the spec of a ValidatingAdmissionPolicyBinding."""
    actions = binding["spec"].get("validationActions") or []
    return _validate_binding_spec(binding["spec"]) + _validate_actions(actions, "spec.validationActions")


def validate_mutating_binding(binding: JsonObject, _old: JsonObject | None = None) -> list[FieldError]:
    """Validate the spec of a MutatingAdmissionPolicyBinding."""
    spec = binding["spec"]
    found = _validate_binding_spec(spec)
    return found + _validate_mutated_operations(spec.get("matchResources"), "spec.matchResources")


def _validate_binding_spec(spec: JsonObject) -> list[FieldError]:
    """Validate the fields that ValidatingAdmissionPolicyBindings and MutatingAdmissionPolicyBindings have in common."""
    name = spec.get("policyName") or ""
    at = "spec.policyName"
    found = [invalid(at, name, reason) for reason in subdomain_name(name)] if name else [required(at)]
    if spec.get("paramRef") is not None:
        found += _validate_param_ref(spec["paramRef"], "spec.paramRef")
    if spec.get("matchResources") is not None:
        found += _validate_match_resources(spec["matchResources"], "spec.matchResources")
    return found


def _validate_param_ref(ref: JsonObject, at: str) -> list[FieldError]:
    name, selector = ref.get("name") or "", ref.get("selector")
    found: list[FieldError] = []
    if name:
        found += [invalid(f"{at}.name", name, reason) for reason in path_segment(name)]
        if selector is not None:
            found.append(forbidden(f"{at}.name", _EXCLUSIVE))
    if selector is not None:
        found += validate_label_selector(selector, f"{at}.selector")
        if name:
            found.append(forbidden(f"{at}.selector", _EXCLUSIVE))
    if not name and selector is None:
        found.append(required(at, "one of name or selector must be specified"))
    action = ref.get("parameterNotFoundAction") or None
    return found + _validate_choice(action, _NOT_FOUND_ACTIONS, f"{at}.parameterNotFoundAction")


def _validate_actions(actions: list[str], at: str) -> list[FieldError]:
    found: list[FieldError] = []
    unique: set[str] = set()
    for index, action in enumerate(actions):
        if action not in _ACTIONS:
            found.append(not_supported(f"{at}[{index}]", action, _ACTIONS))
        if action in unique:
            found.append(duplicate(f"{at}[{index}]", action))
        unique.add(action)
    if {"Deny", "Warn"} <= unique:
        found.append(invalid(at, actions, _DENY_AND_WARN))
    if not actions:
        found.append(required(at, "at least one validation action is required"))
    return found


def validate_policy_status(status: JsonObject) -> list[FieldError]:
    """Validate the status of a ValidatingAdmissionPolicy. A controller may write the results of type checking there."""
    found: list[FieldError] = []
    at = "status.typeChecking.expressionWarnings"
    for index, warning in enumerate((status.get("typeChecking") or {}).get("expressionWarnings") or ()):
        found += _validate_expression_warning(warning, f"{at}[{index}]")
    return found + validate_conditions(status.get("conditions") or (), "status.conditions")


def _validate_expression_warning(warning: JsonObject, at: str) -> list[FieldError]:
    found = [] if warning["warning"] else [required(f"{at}.warning")]
    field_ref = trim(warning["fieldRef"])
    if not field_ref:
        return [*found, required(f"{at}.fieldRef")]
    try:
        JsonPath(field_ref)
    except JsonPathError as error:
        found.append(invalid(f"{at}.fieldRef", field_ref, f"invalid JSONPath: {error}"))
    return found


VALIDATION = {
    types.VALIDATING_ADMISSION_POLICY: validate_policy,
    types.VALIDATING_ADMISSION_POLICY_BINDING: validate_binding,
    types.MUTATING_ADMISSION_POLICY: validate_mutating_policy,
    types.MUTATING_ADMISSION_POLICY_BINDING: validate_mutating_binding,
}
"""Functions that validate the spec of an object, by kind. The arguments: the object, and the stored object or None."""
