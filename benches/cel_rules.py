"""The cost of CEL rules per write, relative to decoding the object.

Run: .venv/bin/python benches/cel_rules.py
"""

from __future__ import annotations

import platform
import sys
import timeit
from collections.abc import Callable
from typing import Any

import orjson

from polykind.cel import RuleCompiler, compile_schema
from polykind.crd.cel_rules import RuleCheckRequest, RuleLocation, SchemaStep

Json = dict[str, Any]

RULES = (
    "self.minReplicas <= self.replicas",
    "self.items.all(x, x > 0)",
    "self.ports.all(p, p.port > 0 && p.name != '')",
    "self.ports.exists(p, p.name == 'http')",
    "!has(self.name) || self.name.startsWith('a')",
    "self.name.matches('^[a-z]+$')",
    "quantity(self.memory).isLessThan(quantity('64Gi'))",
)


def schema(*rules: str) -> Json:
    whole: Json = {"type": "integer"}
    text: Json = {"type": "string", "maxLength": 63}
    port: Json = {"type": "object", "properties": {"name": text, "port": whole}}
    spec: Json = {
        "type": "object",
        "properties": {
            "minReplicas": whole,
            "replicas": whole,
            "name": text,
            "memory": text,
            "items": {"type": "array", "maxItems": 20, "items": whole},
            "ports": {"type": "array", "maxItems": 20, "items": port},
        },
        "x-kubernetes-validations": [{"rule": rule} for rule in rules],
    }
    return {"type": "object", "properties": {"spec": spec}}


def thing() -> Json:
    ports = [{"name": "http" if at == 9 else f"p{at}", "port": 8000 + at} for at in range(10)]
    spec = {
        "minReplicas": 1,
        "replicas": 3,
        "name": "abc",
        "memory": "2Gi",
        "items": list(range(1, 11)),
        "ports": ports,
    }
    return {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "a", "namespace": "b"}, "spec": spec}


def best(work: Callable[[], object]) -> float:
    """Return the microseconds of the fastest of several runs."""
    number = max(1, int(0.02 / max(timeit.timeit(work, number=20) / 20, 1e-7)))
    return min(timeit.repeat(work, number=number, repeat=7)) / number * 1e6


def main() -> None:
    obj = thing()
    encoded = orjson.dumps(obj)
    decode = best(lambda: orjson.loads(encoded))
    print(f"{platform.machine()}, Python {sys.version.split()[0]}")
    print(f"{decode:7.2f} us  decoding the object ({len(encoded)} B)")
    for rule in RULES:
        rules = compile_schema(schema(rule))
        if rules is None or rules.validate(obj, None) != ([], []):
            raise AssertionError(rule)
        cost = best(lambda judge=rules: judge.validate(obj, None))  # type: ignore[misc]
        print(f"{cost:7.2f} us  {cost / decode:5.2f}x  {rule}")
    together = compile_schema(schema(*RULES))
    if together is not None:
        print(f"{best(lambda: together.validate(obj, None)):7.2f} us  all {len(RULES)}, create")
        print(f"{best(lambda: together.validate(obj, obj)):7.2f} us  all {len(RULES)}, update")
    root = schema(*RULES)
    site = RuleLocation(root["properties"]["spec"], "S", (SchemaStep("properties", "spec", root),), None)
    check = RuleCheckRequest(root, "S", [site], False, frozenset(), frozenset())
    cost = best(lambda: RuleCompiler().check(check)) / len(RULES)
    print(f"{cost:7.0f} us  one rule, compiled and cost-checked when its CRD is written")


if __name__ == "__main__":
    main()
