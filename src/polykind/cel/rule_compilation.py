"""Checks of a CRD's validation rules when the CRD is written: each rule must compile and stay within cost limits."""

from __future__ import annotations

from typing import Any, NamedTuple

import orjson

from polykind.cel import cel_types
from polykind.cel.call_cost_estimate import MAX_UINT64
from polykind.cel.cost_estimate import estimate_cost
from polykind.cel.environment import compile_rule
from polykind.cel.schema_types import MAX_REQUEST_SIZE, DeclType, DeclTypeProvider
from polykind.cel.validation_rules import VALIDATIONS, compile_schema
from polykind.contract import JsonObject
from polykind.crd.cel_rules import RuleCheckRequest, RuleLocation
from polykind.errors import FieldError, forbidden, internal, invalid

_RULE_COST_LIMIT = 10_000_000
_TOTAL_COST_LIMIT = 100_000_000
_MAX_REPORTED_RULES = 4
_ADVICE = (
    "(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are "
    "declared)"
)
_FIELDS = (
    ("Rule", "rule", ""),
    ("Message", "message", ""),
    ("MessageExpression", "messageExpression", ""),
    ("Reason", "reason", None),
    ("FieldPath", "fieldPath", ""),
    ("OptionalOldSelf", "optionalOldSelf", None),
)
"""Fields of a rule, each with its Go name, JSON name and default value."""


class RuleCompiler:
    """Checks the validation rules in the schemas of a CRD."""

    def check(self, request: RuleCheckRequest) -> list[FieldError]:
        """Return the errors of all rules of one root schema, in order. The error about the total cost comes last."""
        return _RuleCheck(request).run()

    def check_default(self, schema: JsonObject, value: Any, path: str, *, root: bool) -> list[FieldError]:
        """Return the rules that a default value violates in an update that does not change it, or else in a create."""
        rules = compile_schema(schema, resource=root)
        if rules is None:
            return []
        errors, _ = rules.validate(value, value, root_path=path, ratchet=False)
        return errors or rules.validate(value, None, root_path=path)[0]


class _ExpensiveRule(NamedTuple):
    cost: int
    path: str


class _RuleCheck:
    """Collects the errors and the total estimated cost of all rules of one root schema."""

    def __init__(self, request: RuleCheckRequest) -> None:
        self.request = request
        self.errors: list[FieldError] = []
        self.total_cost = 0
        self.most_expensive: list[_ExpensiveRule] = []

    def run(self) -> list[FieldError]:
        for location in self.request.locations:
            self._check_location(location)
        if self.total_cost > _TOTAL_COST_LIMIT:
            for rule in self.most_expensive:
                detail = "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema"
                self.errors.append(forbidden(rule.path, detail))
            name = f"{VALIDATIONS} estimated rule cost total for entire OpenAPIv3 schema"
            detail = _cost_error(name, self.total_cost, _TOTAL_COST_LIMIT)
            self.errors.append(forbidden(self.request.path, detail))
        return self.errors

    def _check_location(self, location: RuleLocation) -> None:
        type_provider = DeclTypeProvider()
        root = not location.steps or bool(location.schema.get("x-kubernetes-embedded-resource"))
        decl_type = type_provider.declare(location.schema, "selfType1", root=root)
        path = f"{location.path}.{VALIDATIONS}"
        if decl_type is None:
            detail = (
                "internal error: failed to construct type information for x-kubernetes-validations rules: "
                "unable to convert structural schema to CEL declarations"
            )
            self.errors.append(internal(path, detail))
            return
        cardinality = _max_cardinality(location)
        if cardinality is None:
            cardinality = MAX_REQUEST_SIZE // (decl_type.min_serialized_size + 1)
        for index, rule in enumerate(location.schema.get(VALIDATIONS) or ()):
            rule_path = f"{path}[{index}]"
            uses_old_self = self._check_rule(rule, rule_path, decl_type, type_provider, cardinality)
            if uses_old_self and location.uncorrelated is not None:
                detail = (
                    f"oldSelf cannot be used on the uncorrelatable portion of the schema within {location.uncorrelated}"
                )
                self.errors.append(invalid(f"{rule_path}.rule", rule.get("rule") or "", detail))
            elif not uses_old_self and rule.get("optionalOldSelf") is not None:
                detail = "may not be set if oldSelf is not used in rule"
                self.errors.append(invalid(f"{rule_path}.optionalOldSelf", rule["optionalOldSelf"], detail))

    def _check_rule(
        self, rule: JsonObject, path: str, decl_type: DeclType, type_provider: DeclTypeProvider, cardinality: int
    ) -> bool:
        """Compile a rule and its message expression and add their costs. Return True if the rule uses oldSelf."""
        optional_old = bool(rule.get("optionalOldSelf"))
        text = rule.get("rule") or ""
        error, cost, uses_old_self = "", 0, False
        if text.strip():
            compiled = compile_rule(text, decl_type, type_provider, optional_old=optional_old)
            if compiled.ast is None:
                error = f"compilation failed: {compiled.errors}"
            elif compiled.ast.type != cel_types.BOOL or isinstance(compiled.ast.type, cel_types.WrapperType):
                error = "cel expression must evaluate to a bool"
            elif (reason := compiled.instantiation_error()) is not None:
                uses_old_self = compiled.uses_old_self
                error = f"program instantiation failed: {reason}"
            else:
                uses_old_self = compiled.uses_old_self
                cost = min(estimate_cost(compiled.ast, decl_type).max * cardinality, MAX_UINT64)
        self._add_cost(f"{path}.rule", "estimated rule cost", cost)
        if error:
            self.errors.append(invalid(f"{path}.rule", _internal_json(rule), error))
        elif text.strip() and rule.get("messageExpression"):
            self._check_message(rule, f"{path}.messageExpression", decl_type, type_provider, optional_old)
        return uses_old_self

    def _check_message(
        self, rule: JsonObject, path: str, decl_type: DeclType, type_provider: DeclTypeProvider, optional_old: bool
    ) -> None:
        compiled = compile_rule(rule["messageExpression"], decl_type, type_provider, optional_old=optional_old)
        if compiled.ast is None:
            error = f"messageExpression compilation failed: {compiled.errors}"
        elif compiled.ast.type != cel_types.STRING:
            error = "messageExpression must evaluate to a string"
        elif (reason := compiled.instantiation_error()) is not None:
            error = f"messageExpression instantiation failed: {reason}"
        else:
            cost = estimate_cost(compiled.ast, decl_type).max
            self._add_cost(path, "estimated messageExpression cost", cost)
            return
        self.errors.append(invalid(path, _internal_json(rule), error))

    def _add_cost(self, path: str, name: str, cost: int) -> None:
        if cost > _RULE_COST_LIMIT and not self.request.schema_unchanged:
            self.errors.append(forbidden(path, _cost_error(name, cost, _RULE_COST_LIMIT)))
        self.total_cost = min(self.total_cost + cost, MAX_UINT64)
        if cost >= _TOTAL_COST_LIMIT // 100:
            self.most_expensive.append(_ExpensiveRule(cost, path))
            self.most_expensive.sort(key=lambda rule: -rule.cost)
            del self.most_expensive[_MAX_REPORTED_RULES:]


def _max_cardinality(location: RuleLocation) -> int | None:
    """Return how often the schema at this location can occur in an object. Return None if there is no bound."""
    product = 1
    for step in location.steps:
        parent = step.parent
        if parent.get("type") == "object":
            if parent.get("additionalProperties") is None:
                continue
            limit = parent.get("maxProperties")
        elif parent.get("type") == "array":
            limit = parent.get("maxItems")
        else:
            continue
        if limit is None:
            return None
        product = min(product * max(limit, 0), MAX_UINT64)
    return product


def _cost_error(name: str, cost: int, limit: int) -> str:
    factor = cost / limit
    if factor > 100:
        text = "more than 100x"
    elif factor < 1.5:
        text = f"{factor:f}x"
    else:
        text = f"{factor:.1f}x"
    return f"{name} exceeds budget by factor of {text} {_ADVICE}"


def _internal_json(rule: JsonObject) -> Any:
    """Return a rule as the JSON of kube-apiserver's internal type. Error messages contain this JSON."""
    return orjson.Fragment(
        "{" + ",".join(f'"{name}":{_json(rule.get(key, default))}' for name, key, default in _FIELDS) + "}"
    )


def _json(value: Any) -> str:
    try:
        return orjson.dumps(value).decode()
    except TypeError:
        return orjson.dumps(str(value).encode("utf-8", "replace").decode()).decode()
