"""Attacks of readers and editors: texts, patterns and schemas that take long to parse, to compile or to match."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from tests.conformance.client import Answer
from tests.robustness.attacker import (
    APPLY,
    BOMBS,
    CRDS,
    GROUP,
    MERGE_PATCH,
    SIZE,
    Attacker,
    Attacks,
    JsonObject,
    bomb,
    crd,
    list_of,
)
from tests.robustness.stored_attacks import with_crd

_CORE = "/api/v1/namespaces/default"
_REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
_TEXT: JsonObject = {"type": "string"}
_PEM_START = b"-----BEGIN A-----\n"
_LONG_SELECTOR = "a>1," * 59_000


def _created(
    kind: str, properties: JsonObject, spec: Any, times: int = 1, rules: tuple[str, ...] = (), **keywords: Any
) -> Callable[[Attacker], Answer]:
    """Create a CRD, and dry-run the creation of an object several times."""
    validations = {"x-kubernetes-validations": [{"rule": rule} for rule in rules]} if rules else {}
    made = crd(kind, {"type": "object", "properties": properties, **validations, **keywords})
    named = {"apiVersion": f"{GROUP}/v1", "kind": made["spec"]["names"]["kind"], "metadata": {"name": "x"}}

    def use(attacker: Attacker, path: str) -> Answer:
        for _ in range(times):
            answer = attacker.send("POST", f"{path}?dryRun=All", {**named, "spec": spec})
        return answer

    return with_crd(made, use)


def _patterns(kind: str, count: int, pattern: str, text: str) -> Callable[[Attacker], Answer]:
    """Match a text with many patterns. `@` in the pattern makes them different."""
    properties = {f"p{n}": {"type": "string", "pattern": pattern.replace("@", str(n))} for n in range(count)}
    return _created(kind, properties, dict.fromkeys(properties, text))


def _formatted(kind: str, name: str, text: str) -> Callable[[Attacker], Answer]:
    return _created(kind, {"d": {"type": "string", "format": name}}, {"d": text})


def _rule(kind: str, rule: str, value: Any, **schema: Any) -> Callable[[Attacker], Answer]:
    return _created(kind, {"p": {**_TEXT, "maxLength": 2_000, **schema}}, {"p": value}, 3, (rule,))


def _quantity(text: str) -> Callable[[Attacker], Answer]:
    body = {"metadata": {"name": "q"}, "spec": {"hard": {"cpu": text}}}
    return lambda attacker: attacker.send("POST", f"{_CORE}/resourcequotas?dryRun=All", body)


def _ca_bundle(attacker: Attacker) -> Answer:
    config = {"url": "https://a.example.com", "caBundle": b64encode(_PEM_START * 70_000).decode()}
    webhook = {"name": "a.x.io", "clientConfig": config, "sideEffects": "None", "admissionReviewVersions": ["v1"]}
    body = {"metadata": {"name": "w"}, "webhooks": [webhook]}
    path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
    return attacker.send("POST", f"{path}?dryRun=All", body)


def _conversion_ca_bundle(attacker: Attacker) -> Answer:
    made = crd("Authority", {"type": "object"})
    config = {"url": "https://a.example.com", "caBundle": b64encode(_PEM_START * 30_000).decode()}
    webhook = {"conversionReviewVersions": ["v1"], "clientConfig": config}
    made["spec"]["conversion"] = {"strategy": "Webhook", "webhook": webhook}
    return attacker.send("POST", f"{CRDS}?dryRun=All", made)


def _key_pair(attacker: Attacker) -> Answer:
    text = b64encode(_PEM_START * 25_000).decode()
    body = {"metadata": {"name": "k"}, "type": "kubernetes.io/tls", "data": {"tls.crt": text, "tls.key": text}}
    return attacker.send("POST", f"{_CORE}/secrets?dryRun=All", body)


def _review(**attributes: Any) -> Callable[[Attacker], Answer]:
    body = {"spec": {"resourceAttributes": {"verb": "get", "resource": "pods", **attributes}}}
    return lambda attacker: attacker.send("POST", _REVIEWS, body)


def _reviews_of_long_names(attacker: Attacker) -> Answer:
    for number in range(10):
        answer = _review(resource=f"{number}{'x' * SIZE}")(attacker)
    return answer


def _watches(selector: str) -> Callable[[Attacker], Answer]:
    """Open watches until the server refuses one. Then create an object that the others match."""

    def attack(attacker: Attacker) -> Answer:
        with ExitStack() as stack:
            for number in range(30):
                path = f"{_CORE}/configmaps?watch=1&labelSelector=b!=w{number},{selector}"
                answer = attacker.watch(stack, path)
                if answer.status != 200:
                    break
            attacker.send("POST", f"{_CORE}/configmaps?dryRun=All", {"metadata": {"name": "w", "labels": {"a": "2"}}})
        return answer

    return attack


def _many_labels(attacker: Attacker) -> Answer:
    labels = {f"l{number}": "v" for number in range(40_000)}
    attacker.send("POST", BOMBS, bomb("labels", {}, labels=labels))
    for patch in ({"spec": {"open": {"a": 1}}}, {"metadata": {"labels": {"l1": "w"}}}):
        answer = attacker.send("PATCH", f"{BOMBS}/labels", patch, MERGE_PATCH)
    return answer


def _applied_enum(attacker: Attacker, path: str) -> Answer:
    for value in ("x", "value-1", "value-2"):
        body = {"apiVersion": f"{GROUP}/v1", "kind": f"AppliedEnum{attacker.own}", "metadata": {"name": "y"}}
        answer = attacker.send("PATCH", f"{path}/y?fieldManager=m", {**body, "spec": {"d": value}}, APPLY)
    return answer


_ENUM = [f"value-{number}" for number in range(20_000)]
_APPLIED_ENUM = crd("AppliedEnum", {"type": "object", "properties": {"d": {**_TEXT, "enum": _ENUM}}})

TEXT_ATTACKS: Attacks = {
    "40 patterns with \\pL{70}": (_patterns("SlowPattern", 20, r"^\pL{70}x@$", "é" * 50), 422),
    "patterns beyond the memory of RE2": (_patterns("HugePattern", 40, r"^[\pL\pN]{1000}x@$", "é" * 50), 422),
    "pattern that RE2 does not survive": (_patterns("MergedPattern", 1, "a{1000}" * 66, "a"), 422),
    "1,000 small patterns": (_patterns("SmallPattern", 1_000, "^[a-z]{20}x@$", "a" * 20), 422),
    "patterns with many states": (_patterns("StatePattern", 60, "(a|b)*a(a|b){14}x@$", "abba" * 3_000), 422),
    "pattern in an object": (_rule("DataPattern", "'a'.matches(self.p)", r"\pL{1000}"), 422),
    "long pattern in an object": (_rule("LongDataPattern", "'a'.matches(self.p)", r"\pL{1000}" * 50), 422),
    "merged pattern in an object": (_rule("MergedDataPattern", "'a'.matches(self.p)", "a{1000}" * 66), 422),
    "patterns in an object": (
        _created(
            "DataPatterns",
            {"p": list_of({**_TEXT, "maxLength": 20}, maxItems=200)},
            {"p": [rf"\pL{{60}}b{number}" for number in range(60)]},
            rules=("self.p.all(x, 'a'.matches(x))",),
        ),
        422,
    ),
    "patterns of many rules": (
        _created(
            "RulePatterns",
            {"p": {**_TEXT, "maxLength": 10}},
            {"p": "é" * 10},
            rules=tuple(f"self.p.matches('^[\\\\pL]{{60}}x{number}$')" for number in range(40)),
        ),
        422,
    ),
    "number in a rule": (
        _created("RuleNumber", {"p": _TEXT}, {"p": "1" * 1_000_000 + "!"}, rules=("double(self.p) > 0.0",)),
        422,
    ),
    "long duration": (_formatted("LongDuration", "duration", "1h" * 500_000), 201),
    "digits of a duration": (_formatted("DigitDuration", "duration", "1" * 1_000_000), 422),
    "digits of a quantity": (_quantity("1" * 1_000_000 + "!"), 400),
    "enum of 20,000 texts": (_created("TextEnum", {"d": {**_TEXT, "enum": _ENUM}}, {"d": "x"}, 8), 422),
    "enum of 60,000 numbers": (
        _created("NumberEnum", {"d": {"type": "integer", "enum": list(range(60_000))}}, {"d": -1}, 8),
        422,
    ),
    "applied enum": (with_crd(_APPLIED_ENUM, _applied_enum), 200),
    "40,000 required names": (
        _created("RequiredNames", {"d": _TEXT}, {"d": "x"}, 8, required=[f"v{number}" for number in range(40_000)]),
        422,
    ),
    "10,000 properties with defaults": (
        _created("Defaults", {f"d{number}": {**_TEXT, "default": "x"} for number in range(10_000)}, {}, 8),
        201,
    ),
    "unclosed string after a long number": (
        lambda a: a.create_raw("u", b'{"open":[' + b"1" * 400 + b',"' + b'\\"' * 1_000_000),
        400,
    ),
    "CA bundle without an end": (_ca_bundle, 201),
    "CA bundle of a conversion": (_conversion_ca_bundle, 201),
    "key pair without an end": (_key_pair, 201),
    "selector in an access review": (_review(labelSelector={"rawSelector": _LONG_SELECTOR}), 201),
    "huge selector in an access review": (_review(labelSelector={"rawSelector": _LONG_SELECTOR * 12}), 201),
    "long names in access reviews": (_reviews_of_long_names, 201),
    "watches with long selectors": (_watches(_LONG_SELECTOR[:-1]), 429),
    "watches with long sets": (_watches("a%20in%20(" + ",".join(f"v{n}" for n in range(32_000)) + ")"), 429),
    "patches of 40,000 labels": (_many_labels, 200),
    "digits of a resourceVersion": (lambda a: a.send("GET", f"{BOMBS}?resourceVersion={'1' * 200_000}"), 400),
}
