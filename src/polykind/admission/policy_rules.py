"""What a ValidatingAdmissionPolicy must obey, in the reference's words and order."""

from __future__ import annotations

import re

from polykind.admission.cel_environment import Environment, composed_type
from polykind.admission.match_conditions import compilation_field_error, validate_conditions, validate_expression
from polykind.admission.match_rules import named_rule_problems
from polykind.cel import CompilationError
from polykind.cel.cel_types import DYN, NULL, STRING, Type
from polykind.cel.library.strings import trim
from polykind.contract import JsonObject
from polykind.errors import FieldError, duplicate, invalid, not_supported, required
from polykind.golang.utf8 import byte_length
from polykind.names import dns1035_label, dns1123_subdomain, qualified_name
from polykind.selectors.selector_objects import validate_label_selector

_FAILURE_POLICIES = ("Fail", "Ignore")
_MATCH_POLICIES = ("Equivalent", "Exact")
_REASONS = ("Forbidden", "Invalid", "RequestEntityTooLarge")
_MOST_ANNOTATIONS = 20
_LONGEST_VALUE_EXPRESSION = 5 * 1024
_NOTHING = "validations or auditAnnotations must contain at least one item"
_KEYWORDS = (
    "true false null in as break const continue else for function if import let loop package namespace return var "
    "void while"
)
_RESERVED = frozenset(_KEYWORDS.split())
_identifier = re.compile(r"[_a-zA-Z][_a-zA-Z0-9]*").fullmatch


def policy_problems(policy: JsonObject, old: JsonObject | None = None) -> list[FieldError]:
    """What is wrong with the spec of a policy, which was `old` before."""
    return _Judgement(policy).spec(policy["spec"], old["spec"] if old is not None else None)


class _Judgement:
    def __init__(self, policy: JsonObject) -> None:
        spec = policy["spec"]
        self.name: str = policy["metadata"].get("name") or ""
        self.params = spec.get("paramKind") is not None
        composed: dict[str, Type] | None = {} if spec.get("variables") else None
        self.composed = composed if composed is not None else {}
        self.environment = Environment(params=self.params, variables=composed)
        self.messages = Environment(params=self.params, authorizer=False, variables=composed)

    def spec(self, spec: JsonObject, old: JsonObject | None) -> list[FieldError]:
        found = choice_problems(spec) + constraint_problems(spec)
        found += kept_condition_problems(spec, old)
        found += variable_problems(spec, self.environment, self.composed)
        validations, annotations = spec.get("validations") or [], spec.get("auditAnnotations") or []
        if not validations and not annotations:
            return [*found, required("spec.validations", _NOTHING), required("spec.auditAnnotations", _NOTHING)]
        for index, validation in enumerate(validations):
            found += self._validation(validation, f"spec.validations[{index}]")
        return found + self._annotations(annotations, "spec.auditAnnotations")

    def _validation(self, validation: JsonObject, at: str) -> list[FieldError]:
        text, message = validation["expression"], validation.get("message") or ""
        telling = validation.get("messageExpression") or ""
        if trim(text):
            found = validate_expression(self.environment, text, f"{at}.expression")
        else:
            found = [required(f"{at}.expression", "expression is not specified")]
        if trim(telling):
            found += validate_expression(self.messages, telling, f"{at}.messageExpression", (STRING,))
        elif telling:
            found.append(invalid(f"{at}.messageExpression", telling, "must be non-empty if specified"))
        if message and not trim(message):
            found.append(invalid(f"{at}.message", message, "must be non-empty if specified"))
        elif any(char in trim(message) for char in "\n\r"):
            found.append(invalid(f"{at}.message", message, "must not contain line breaks"))
        reason = validation.get("reason")
        if reason is not None and reason not in _REASONS:
            found.append(not_supported(f"{at}.reason", reason, _REASONS))
        return found

    def _annotations(self, annotations: list[JsonObject], at: str) -> list[FieldError]:
        found: list[FieldError] = []
        keys: set[str] = set()
        if len(annotations) > _MOST_ANNOTATIONS:
            shown = [{"Key": one["key"], "ValueExpression": one["valueExpression"]} for one in annotations]
            found.append(invalid(at, shown, f"must not have more than {_MOST_ANNOTATIONS} auditAnnotations"))
        for index, annotation in enumerate(annotations):
            found += self._annotation(annotation, f"{at}[{index}]")
            if annotation["key"] in keys:
                found.append(duplicate(f"{at}[{index}].key", annotation["key"]))
            keys.add(annotation["key"])
        return found

    def _annotation(self, annotation: JsonObject, at: str) -> list[FieldError]:
        key, text = annotation["key"], annotation["valueExpression"]
        if self.name:
            whole = f"{self.name}/{key}"
            found = [invalid(f"{at}.key", whole, why) for why in qualified_name(whole)]
        else:
            found = [invalid(f"{at}.key", key, "requires metadata.name be non-empty")]
        trimmed = trim(text)
        if not trimmed:
            return [*found, required(f"{at}.valueExpression", "valueExpression is not specified")]
        if byte_length(trimmed) > _LONGEST_VALUE_EXPRESSION:
            why = f"must not exceed {_LONGEST_VALUE_EXPRESSION} bytes in length"
            return [*found, required(f"{at}.valueExpression", why)]
        try:
            self.environment.compile(trimmed, (STRING, NULL))
        except CompilationError as wrong:
            found.append(compilation_field_error(f"{at}.valueExpression", text, wrong))
        return found


def choice_problems(spec: JsonObject) -> list[FieldError]:
    """What is wrong with the failurePolicy and the paramKind of a policy."""
    found = _failure_policy(spec.get("failurePolicy"))
    return found + _param_kind(spec["paramKind"]) if spec.get("paramKind") is not None else found


def constraint_problems(spec: JsonObject) -> list[FieldError]:
    """What is wrong with the matchConstraints of a policy."""
    constraints = spec.get("matchConstraints")
    if constraints is None:
        return [required("spec.matchConstraints")]
    found = match_problems(constraints, "spec.matchConstraints")
    if not constraints.get("resourceRules"):
        found.append(required("spec.matchConstraints.resourceRules"))
    return found


def kept_condition_problems(spec: JsonObject, old: JsonObject | None) -> list[FieldError]:
    """What is wrong with the matchConditions of a policy, unless they were so before."""
    if old is not None and all(spec.get(part) == old.get(part) for part in ("paramKind", "matchConditions")):
        return []
    params = spec.get("paramKind") is not None
    return validate_conditions(spec.get("matchConditions") or (), "spec.matchConditions", params=params)


def variable_problems(spec: JsonObject, environment: Environment, composed: dict[str, Type]) -> list[FieldError]:
    """What is wrong with the variables of a policy; each is known, as `composed`, to those after it."""
    found: list[FieldError] = []
    for index, variable in enumerate(spec.get("variables") or ()):
        found += _variable(variable, f"spec.variables[{index}]", environment, composed)
    return found


def _variable(variable: JsonObject, at: str, environment: Environment, composed: dict[str, Type]) -> list[FieldError]:
    name, text = variable["name"], variable["expression"]
    found: list[FieldError] = []
    if not trim(name):
        found.append(required(f"{at}.name", "name is not specified"))
    elif not _identifier(name) or name in _RESERVED:
        found.append(invalid(f"{at}.name", name, "must be a valid CEL identifier"))
    if not trim(text):
        found.append(required(f"{at}.expression", "expression is not specified"))
        return found
    try:
        composed[name] = composed_type(environment.compile(text, ()).type)
    except CompilationError as wrong:
        composed[name] = DYN
        found.append(compilation_field_error(f"{at}.expression", text, wrong))
    return found


def _failure_policy(value: str | None) -> list[FieldError]:
    if value is None:
        return [required("spec.failurePolicy")]
    if value in _FAILURE_POLICIES:
        return []
    return [not_supported("spec.failurePolicy", value, _FAILURE_POLICIES)]


def _param_kind(kind: JsonObject) -> list[FieldError]:
    at = "spec.paramKind"
    found: list[FieldError] = []
    api_version, name = kind.get("apiVersion") or "", kind.get("kind") or ""
    if not api_version:
        found.append(required(f"{at}.apiVersion"))
    elif api_version.count("/") > 1:
        why = f"unexpected GroupVersion string: {api_version}"
        found.append(invalid(f"{at}.apiVersion", api_version, why))
    else:
        group, _, version = api_version.rpartition("/")
        if group and (wrong := dns1123_subdomain(group)):
            found.append(invalid(f"{at}.apiVersion", group, ",".join(wrong)))
        if not version:
            found.append(invalid(f"{at}.apiVersion", api_version, "version must be specified"))
        elif wrong := dns1035_label(version):
            found.append(invalid(f"{at}.apiVersion", version, ",".join(wrong)))
    if not name:
        found.append(required(f"{at}.kind"))
    elif wrong := dns1035_label(name.lower()):
        why = f"may have mixed case, but should otherwise match: {','.join(wrong)}"
        found.append(invalid(f"{at}.kind", name, why))
    return found


def match_problems(match: JsonObject, at: str) -> list[FieldError]:
    """What is wrong with the MatchResources of a policy or of a binding."""
    found: list[FieldError] = []
    policy = match.get("matchPolicy")
    if policy is None:
        found.append(required(f"{at}.matchPolicy"))
    elif policy not in _MATCH_POLICIES:
        found.append(not_supported(f"{at}.matchPolicy", policy, _MATCH_POLICIES))
    for name in ("namespaceSelector", "objectSelector"):
        if match.get(name) is None:
            found.append(required(f"{at}.{name}"))
        else:
            found += validate_label_selector(match[name], f"{at}.{name}")
    for name in ("resourceRules", "excludeResourceRules"):
        for index, rule in enumerate(match.get(name) or ()):
            found += named_rule_problems(rule, f"{at}.{name}[{index}]")
    return found
