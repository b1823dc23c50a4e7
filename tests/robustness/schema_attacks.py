"""Hostile CRDs, policies and CEL expressions."""

from __future__ import annotations

from typing import Any

from tests.robustness.attacker import CRDS, OPEN, Attacks, JsonObject, crd, list_of

_ADMISSION = "/apis/admissionregistration.k8s.io/v1"
_POLICIES = f"{_ADMISSION}/validatingadmissionpolicies"


def _versions(count: int) -> JsonObject:
    made = crd("Version", OPEN)
    version = made["spec"]["versions"][0]
    more = [{**version, "name": f"v{number + 2}", "storage": False} for number in range(count - 1)]
    made["spec"]["versions"] = [version, *more]
    return made


def _nested(levels: int) -> JsonObject:
    schema: JsonObject = {"type": "string"}
    for _ in range(levels):
        schema = {"type": "object", "properties": {"a": schema}}
    return schema


def _wide(count: int, leaf: JsonObject | None = None) -> JsonObject:
    return {"type": "object", "properties": {f"p{number}": leaf or {"type": "string"} for number in range(count)}}


def _tree(levels: int, width: int) -> JsonObject:
    schema: JsonObject = {"type": "string"}
    for _ in range(levels):
        schema = {"type": "object", "properties": {f"p{number}": schema for number in range(width)}}
    return schema


def _rules(rule: str, count: int = 1, **schema: Any) -> JsonObject:
    rules = [{"rule": rule} for _ in range(count)]
    return {"type": "object", "properties": {"a": {"type": "string"}}, "x-kubernetes-validations": rules, **schema}


def _post_crd(kind: str, spec: JsonObject) -> Any:
    return lambda attacker: attacker.send("POST", f"{CRDS}?dryRun=All", crd(kind, spec))


def _policy(*expressions: str, **spec: Any) -> Any:
    rules = [{"apiGroups": ["x"], "apiVersions": ["v1"], "operations": ["*"], "resources": ["*"]}]
    body = {
        "metadata": {"name": "p"},
        "spec": {
            "matchConstraints": {"resourceRules": rules},
            "validations": [{"expression": expression} for expression in expressions],
            **spec,
        },
    }
    return lambda attacker: attacker.send("POST", f"{_POLICIES}?dryRun=All", body)


def _branches(keyword: str, count: int) -> JsonObject:
    return {"type": "object", "properties": {"a": {"type": "string"}},
            keyword: [{"required": [f"a{number}"]} for number in range(count)]}  # fmt: skip


def _default(count: int) -> JsonObject:
    return {**OPEN, "default": {f"k{number}": {"a": [1, "x"]} for number in range(count)}}


_LONG_SUM = "+".join(["1"] * 30_000) + " > 0"
_LONG_AND = " && ".join(["true"] * 30_000)
_NESTED_LISTS = "[" * 2_000 + "]" * 2_000 + " == []"
_BRACKETS = "(" * 2_000 + "true" + ")" * 2_000
_LITERAL = "'" + "x" * 2_000_000 + "' != ''"
_COMPREHENSIONS = "self.a.all(x, " * 40 + "true" + ")" * 40

# kube-apiserver accepts "nested schema". docs/reference/limits.md has this server's limit.
SCHEMA_ATTACKS: Attacks = {
    "10,000 versions": (lambda a: a.send("POST", f"{CRDS}?dryRun=All", _versions(10_000)), 201),
    "nested schema": (_post_crd("Nest", _nested(300)), 400),
    "wide schema": (_post_crd("Wide", _wide(40_000)), 201),
    "tree of schemas": (_post_crd("Tree", _tree(4, 14)), 201),
    "wide enum": (
        _post_crd("Enum", {"type": "string", "enum": [f"value-{number}" for number in range(100_000)]}),
        201,
    ),
    "enum of objects": (
        _post_crd("Enum", {**OPEN, "enum": [{"a": [number]} for number in range(20_000)]}),
        201,
    ),
    "equal values in an enum": (_post_crd("Enum", {"type": "string", "enum": ["x"] * 100_000}), 201),
    "anyOf": (_post_crd("Any", _branches("anyOf", 30_000)), 201),
    "oneOf": (_post_crd("One", _branches("oneOf", 30_000)), 201),
    "allOf": (_post_crd("All", _branches("allOf", 30_000)), 201),
    "nested anyOf": (
        _post_crd("Any", {"type": "object", "anyOf": [{"anyOf": [{"required": ["a"]}] * 100}] * 200}),
        201,
    ),
    "$ref": (_post_crd("Ref", {"type": "object", "properties": {f"p{n}": {"$ref": "#"} for n in range(20_000)}}), 422),
    "unknown keywords": (_post_crd("Odd", {"type": "object", **{f"k{n}": 1 for n in range(100_000)}}), 201),
    "invalid types": (_post_crd("Odd", _wide(30_000, {"type": "nothing"})), 422),
    "large default": (_post_crd("Default", _default(20_000)), 201),
    "long description": (_post_crd("Text", {"type": "string", "description": "x" * 2_500_000}), 201),
    "required names": (
        _post_crd("Required", {"type": "object", "required": [f"r{number}" for number in range(100_000)]}),
        201,
    ),
    "long pattern": (_post_crd("Pattern", {"type": "string", "pattern": "(a|b)" * 20_000}), 201),
    "nested repetitions": (_post_crd("Pattern", {"type": "string", "pattern": "(" * 900 + "a" + ")*" * 900}), 201),
    "many rules": (_post_crd("Rule", _rules("self.a == 'x'", 5_000)), 201),
    "long sum in a rule": (_post_crd("Rule", _rules(_LONG_SUM)), 422),
    "long conjunction": (_post_crd("Rule", _rules(_LONG_AND)), 422),
    "nested lists in a rule": (_post_crd("Rule", _rules(_NESTED_LISTS)), 422),
    "brackets in a rule": (_post_crd("Rule", _rules(_BRACKETS)), 422),
    "long literal in a rule": (_post_crd("Rule", _rules(_LITERAL)), 422),
    "nested comprehensions": (
        _post_crd(
            "Rule",
            {
                "type": "object",
                "properties": {"a": list_of({"type": "string"})},
                "x-kubernetes-validations": [{"rule": _COMPREHENSIONS}],
            },
        ),
        422,
    ),
    "unbounded lists with rules": (
        _post_crd("Rule", list_of(_rules("self.a == 'x'", 50, description="d"))),
        422,
    ),
    "printer columns": (
        lambda a: a.send("POST", f"{CRDS}?dryRun=All", _with_columns(30_000)),
        201,
    ),
    "long policy": (_policy(_LONG_SUM), 422),
    "many policy expressions": (_policy(*["object.metadata.name != ''"] * 2_000), 201),
    "brackets in a policy": (_policy(_BRACKETS), 422),
    "policy variables": (
        _policy(
            "variables.v0 == 1",
            variables=[{"name": f"v{number}", "expression": "1"} for number in range(1_000)],
        ),
        201,
    ),
    "webhooks": (
        lambda a: a.send(
            "POST",
            f"{_ADMISSION}/validatingwebhookconfigurations?dryRun=All",
            {
                "metadata": {"name": "w"},
                "webhooks": [
                    {
                        "name": f"a{n}.x.io",
                        "clientConfig": {"url": "https://a"},
                        "sideEffects": "None",
                        "admissionReviewVersions": ["v1"],
                    }
                    for n in range(7_000)
                ],
            },
        ),
        201,
    ),
}


def _with_columns(count: int) -> JsonObject:
    made = crd("Column", OPEN)
    column = {"type": "string", "jsonPath": ".spec.a[0].b"}
    made["spec"]["versions"][0]["additionalPrinterColumns"] = [
        {**column, "name": f"c{number}"} for number in range(count)
    ]
    return made
