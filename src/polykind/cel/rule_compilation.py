"""What is wrong with the rules of a schema when its definition is written: they must compile and not cost too much."""

from __future__ import annotations

from typing import Any, NamedTuple

import orjson

from polykind.cel import cel_types, environment
from polykind.cel.call_cost_estimate import MAX_UINT64
from polykind.cel.cost_estimate import estimate_cost
from polykind.cel.schema_types import MAX_REQUEST_SIZE, DeclType, DeclTypeProvider
from polykind.cel.validation_rules import VALIDATIONS, compile_schema
from polykind.contract import JsonObject
from polykind.crd.cel_rules import RuleCheckRequest, RuleLocation
from polykind.errors import FieldError, forbidden, internal, invalid

_MOST_PER_RULE = 10_000_000
_MOST_IN_ALL = 100_000_000
_MOST_NAMED = 4
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


class RuleCompiler:
    """The compiler that the validation of definitions asks about their rules."""

    def check(self, asked: RuleCheckRequest) -> list[FieldError]:
        """What is wrong with the rules of one root schema, in the order of their sites, the cost of all last."""
        return _Check(asked).run()

    def check_default(self, schema: JsonObject, value: Any, path: str, *, root: bool) -> list[FieldError]:
        """A default must fit as an update of itself, and where there was nothing before."""
        rules = compile_schema(schema, resource=root)
        if rules is None:
            return []
        found, _ = rules.validate(value, value, root_path=path, ratchet=False)
        return found or rules.validate(value, None, root_path=path)[0]


class _Cost(NamedTuple):
    cost: int
    path: str


class _Check:
    def __init__(self, check: RuleCheckRequest) -> None:
        self.check = check
        self.errors: list[FieldError] = []
        self.total = 0
        self.dearest: list[_Cost] = []

    def run(self) -> list[FieldError]:
        for site in self.check.sites:
            self._site(site)
        if self.total > _MOST_IN_ALL:
            for dear in self.dearest:
                detail = "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema"
                self.errors.append(forbidden(dear.path, detail))
            name = f"{VALIDATIONS} estimated rule cost total for entire OpenAPIv3 schema"
            self.errors.append(forbidden(self.check.path, _too_dear(name, self.total, _MOST_IN_ALL)))
        return self.errors

    def _site(self, site: RuleLocation) -> None:
        registry = DeclTypeProvider()
        root = not site.steps or bool(site.schema.get("x-kubernetes-embedded-resource"))
        declared = registry.declare(site.schema, "selfType1", root=root)
        at = f"{site.path}.{VALIDATIONS}"
        if declared is None:
            detail = (
                "internal error: failed to construct type information for x-kubernetes-validations rules: "
                "unable to convert structural schema to CEL declarations"
            )
            self.errors.append(internal(at, detail))
            return
        cardinality = _cardinality(site)
        if cardinality is None:
            cardinality = MAX_REQUEST_SIZE // (declared.min_serialized_size + 1)
        for index, rule in enumerate(site.schema.get(VALIDATIONS) or ()):
            self._rule(rule, f"{at}[{index}]", site, declared, registry, cardinality)

    def _rule(
        self,
        rule: JsonObject,
        at: str,
        site: RuleLocation,
        declared: DeclType,
        registry: DeclTypeProvider,
        cardinality: int,
    ) -> None:
        optional = bool(rule.get("optionalOldSelf"))
        text = rule.get("rule") or ""
        problem, cost, uses_old = "", 0, False
        if text.strip():
            checked = environment.compile_rule(text, declared, registry, optional_old=optional)
            if checked.ast is None:
                problem = f"compilation failed: {checked.errors}"
            elif checked.ast.type != cel_types.BOOL or isinstance(checked.ast.type, cel_types.WrapperType):
                problem = "cel expression must evaluate to a bool"
            elif (wrong := checked.instantiation_error()) is not None:
                uses_old = checked.uses_old_self
                problem = f"program instantiation failed: {wrong}"
            else:
                uses_old = checked.uses_old_self
                cost = min(estimate_cost(checked.ast, declared).max * cardinality, MAX_UINT64)
        self._spend(f"{at}.rule", "estimated rule cost", cost)
        if problem:
            self.errors.append(invalid(f"{at}.rule", _shown(rule), problem))
        elif text.strip() and rule.get("messageExpression"):
            self._message(rule, f"{at}.messageExpression", declared, registry, optional)
        if uses_old:
            if site.uncorrelated is not None:
                detail = (
                    f"oldSelf cannot be used on the uncorrelatable portion of the schema within {site.uncorrelated}"
                )
                self.errors.append(invalid(f"{at}.rule", text, detail))
        elif rule.get("optionalOldSelf") is not None:
            detail = "may not be set if oldSelf is not used in rule"
            self.errors.append(invalid(f"{at}.optionalOldSelf", rule["optionalOldSelf"], detail))

    def _message(
        self, rule: JsonObject, at: str, declared: DeclType, registry: DeclTypeProvider, optional: bool
    ) -> None:
        checked = environment.compile_rule(rule["messageExpression"], declared, registry, optional_old=optional)
        if checked.ast is None:
            problem = f"messageExpression compilation failed: {checked.errors}"
        elif checked.ast.type != cel_types.STRING:
            problem = "messageExpression must evaluate to a string"
        elif (wrong := checked.instantiation_error()) is not None:
            problem = f"messageExpression instantiation failed: {wrong}"
        else:
            self._spend(at, "estimated messageExpression cost", estimate_cost(checked.ast, declared).max)
            return
        self.errors.append(invalid(at, _shown(rule), problem))

    def _spend(self, path: str, name: str, cost: int) -> None:
        if cost > _MOST_PER_RULE and not self.check.unchanged:
            self.errors.append(forbidden(path, _too_dear(name, cost, _MOST_PER_RULE)))
        self.total = min(self.total + cost, MAX_UINT64)
        if cost >= _MOST_IN_ALL // 100:
            self.dearest.append(_Cost(cost, path))
            self.dearest.sort(key=lambda dear: -dear.cost)
            del self.dearest[_MOST_NAMED:]


def _cardinality(site: RuleLocation) -> int | None:
    """How often a value of the site's schema can stand in an object; None if nothing bounds that."""
    product = 1
    for step in site.steps:
        parent = step.parent
        if parent.get("type") == "object":
            if parent.get("additionalProperties") is None:
                continue
            most = parent.get("maxProperties")
        elif parent.get("type") == "array":
            most = parent.get("maxItems")
        else:
            continue
        if most is None:
            return None
        product = min(product * max(most, 0), MAX_UINT64)
    return product


def _too_dear(name: str, cost: int, limit: int) -> str:
    factor = cost / limit
    if factor > 100:
        shown = "more than 100x"
    elif factor < 1.5:
        shown = f"{factor:f}x"
    else:
        shown = f"{factor:.1f}x"
    return f"{name} exceeds budget by factor of {shown} {_ADVICE}"


def _shown(rule: JsonObject) -> Any:
    """A rule as the reference's inner form shows it."""
    return orjson.Fragment(
        "{" + ",".join(f'"{name}":{_json(rule.get(key, zero))}' for name, key, zero in _FIELDS) + "}"
    )


def _json(value: Any) -> str:
    try:
        return orjson.dumps(value).decode()
    except TypeError:
        return orjson.dumps(str(value).encode("utf-8", "replace").decode()).decode()
