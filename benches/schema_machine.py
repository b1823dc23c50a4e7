"""The cost of a schema per write, relative to decoding the object.

Run: .venv/bin/python benches/schema_machine.py
"""

from __future__ import annotations

import copy
import platform
import sys
import time
import timeit
from collections.abc import Callable
from typing import Any

import orjson

from polykind.schema import CompiledSchema, metadata_validation, object_meta

Json = dict[str, Any]


def sixty_fields() -> Json:
    """Return a schema like those of real operators:

    60 fields, nested objects, lists, maps, defaults, enums, patterns.
    """
    text: Json = {"type": "string"}
    name: Json = {"type": "string", "minLength": 1, "maxLength": 63, "pattern": "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"}
    whole: Json = {"type": "integer", "format": "int32", "minimum": 0}
    flag: Json = {"type": "boolean"}
    choice: Json = {"type": "string", "enum": ["Always", "IfNotPresent", "Never"]}
    port: Json = {
        "type": "object",
        "required": ["port"],
        "properties": {
            "name": text,
            "port": {"type": "integer", "minimum": 1, "maximum": 65535},
            "protocol": {"type": "string", "default": "TCP"},
            "target": {"x-kubernetes-int-or-string": True},
        },
    }
    probe: Json = {
        "type": "object",
        "properties": {
            "path": text,
            "port": whole,
            "delay": whole,
            "period": whole,
            "timeout": whole,
            "failures": whole,
        },
    }
    resources: Json = {
        "type": "object",
        "properties": {
            "limits": {"type": "object", "additionalProperties": text},
            "requests": {"type": "object", "additionalProperties": text},
        },
    }
    container: Json = {
        "type": "object",
        "required": ["name", "image"],
        "properties": {
            "name": name,
            "image": text,
            "pull": choice,
            "args": {"type": "array", "items": text},
            "env": {"type": "array", "items": {"type": "object", "properties": {"name": text, "value": text}}},
            "ports": {"type": "array", "items": port},
            "liveness": probe,
            "readiness": probe,
            "resources": resources,
        },
    }
    spec: Json = {
        "type": "object",
        "required": ["replicas", "template"],
        "properties": {
            "replicas": whole,
            "paused": flag,
            "strategy": {"type": "string", "enum": ["Rolling", "Recreate"], "default": "Rolling"},
            "revisionLimit": {"type": "integer", "default": 10},
            "serviceName": name,
            "selector": {"type": "object", "additionalProperties": text},
            "schedule": text,
            "timezone": text,
            "priority": whole,
            "suspend": flag,
            "template": {
                "type": "object",
                "properties": {
                    "labels": {"type": "object", "additionalProperties": text},
                    "containers": {"type": "array", "items": container},
                    "serviceAccount": text,
                    "nodeSelector": {"type": "object", "additionalProperties": text},
                    "hostNetwork": flag,
                    "grace": whole,
                },
            },
            "storage": {
                "type": "object",
                "properties": {"size": text, "class": text, "mode": choice, "retain": flag, "snapshots": whole},
            },
        },
    }
    condition: Json = {
        "type": "object",
        "properties": {
            "type": text,
            "status": {"type": "string", "enum": ["True", "False", "Unknown"]},
            "reason": text,
            "message": text,
            "time": {"type": "string", "format": "date-time"},
        },
    }
    status: Json = {
        "type": "object",
        "properties": {
            "ready": whole,
            "observed": whole,
            "phase": text,
            "conditions": {"type": "array", "items": condition},
        },
    }
    return {
        "type": "object",
        "properties": {
            "apiVersion": text,
            "kind": text,
            "metadata": {"type": "object"},
            "spec": spec,
            "status": status,
        },
    }


def two_kilobytes() -> bytes:
    container = {
        "name": "web",
        "image": "registry.example.com/team/web@sha256:" + "0123456789abcdef" * 4,
        "pull": "IfNotPresent",
        "args": ["--listen=:8080", "--verbose"],
        "env": [{"name": "MODE", "value": "production"}, {"name": "REGION", "value": "eu-west-1"}],
        "ports": [{"name": "http", "port": 8080, "protocol": "TCP", "target": "http"}],
        "liveness": {"path": "/healthz", "port": 8080, "delay": 5, "period": 10, "timeout": 1, "failures": 3},
        "resources": {"limits": {"cpu": "500m", "memory": "128Mi"}, "requests": {"cpu": "100m", "memory": "64Mi"}},
    }
    return orjson.dumps(
        {
            "apiVersion": "example.com/v1",
            "kind": "Web",
            "metadata": {
                "name": "front",
                "namespace": "default",
                "uid": "0f8fad5b-d9cb-469f-a165-70867728950e",
                "resourceVersion": "12345",
                "generation": 3,
                "creationTimestamp": "2024-02-29T12:00:00Z",
                "labels": {"app": "front", "tier": "web"},
                "annotations": {"example.com/note": "kept by hand; " * 8},
                "finalizers": ["example.com/front"],
            },
            "spec": {
                "replicas": 3,
                "paused": False,
                "strategy": "Rolling",
                "revisionLimit": 10,
                "serviceName": "front",
                "selector": {"app": "front", "tier": "web"},
                "schedule": "0 3 * * *",
                "timezone": "Europe/Berlin",
                "priority": 10,
                "suspend": False,
                "template": {
                    "labels": {"app": "front", "tier": "web"},
                    "containers": [container],
                    "serviceAccount": "front",
                    "nodeSelector": {"disk": "ssd"},
                    "hostNetwork": False,
                    "grace": 30,
                },
                "storage": {"size": "10Gi", "class": "fast", "mode": "Always", "retain": True, "snapshots": 7},
            },
            "status": {
                "ready": 3,
                "observed": 3,
                "phase": "Running",
                "conditions": [
                    {
                        "type": kind,
                        "status": "True",
                        "reason": "AllGood",
                        "message": "every replica answers its probes; " * 8,
                        "time": "2024-02-29T12:00:00Z",
                    }
                    for kind in ("Ready",)
                ],
            },
        }
    )


def large(nodes: int) -> Json:
    """Return a schema of many nodes: nested objects of ten fields."""
    if nodes <= 10:
        return {"type": "object", "properties": {f"f{i}": {"type": "string", "maxLength": 10} for i in range(nodes)}}
    return {"type": "object", "properties": {f"o{i}": large(nodes // 10) for i in range(10)}}


def costs(works: dict[str, Callable[[], object]], rounds: int = 60, times: int = 100) -> dict[str, float]:
    """Return microseconds per function: the best of many short rounds, interleaved so that load affects all alike."""
    best = dict.fromkeys(works, float("inf"))
    for _ in range(rounds):
        for label, work in works.items():
            best[label] = min(best[label], timeit.timeit(work, number=times) / times * 1e6)
    return best


def full(schema: Json) -> Any:
    """Return an object with every field of the schema."""
    return {key: full(below) for key, below in schema["properties"].items()} if "properties" in schema else "text"


def cpu(work: Callable[[], object]) -> float:
    """Return the CPU milliseconds of one call."""
    before = time.process_time()
    work()
    return (time.process_time() - before) * 1e3


def main() -> None:
    body = two_kilobytes()
    obj = orjson.loads(body)
    schema = CompiledSchema(sixty_fields())
    schema.compile_programs()
    assert schema.prune_and_default(obj, report=True) == []
    assert schema.validate(obj) == []
    assert schema.prune_default_and_validate(obj, report=True) == ([], True)
    print(f"{sys.argv[0]} on {platform.machine()}, Python {platform.python_version()}; object of {len(body)} bytes")
    rows = costs(
        {
            "orjson.loads": lambda: orjson.loads(body),
            "admit": lambda: schema.prune_and_default(obj, report=True),
            "validate": lambda: schema.validate(obj),
            "take (both at once)": lambda: schema.prune_default_and_validate(obj, report=True),
            "metadata coerce": lambda: object_meta.coerce(obj["metadata"], strict=True),
            "metadata validate": lambda: metadata_validation.validate_object_meta(obj["metadata"], namespaced=True),
            "copy.deepcopy": lambda: copy.deepcopy(obj),
        }
    )
    base = rows["orjson.loads"]
    rows["admit + validate"] = rows["admit"] + rows["validate"]
    for label, micros in rows.items():
        print(f"{label:20} {micros:8.2f} us  {micros / base:6.2f} x")
    big = large(10_000)
    made = costs({"made": lambda: CompiledSchema(big)})["made"]
    whole = {"spec": full(big)}
    huge = CompiledSchema({"type": "object", "properties": {"spec": big}})
    warmed = cpu(huge.compile_programs)
    first = cpu(lambda: (huge.prune_and_default(whole, report=True), huge.validate(whole)))
    small = cpu(CompiledSchema(sixty_fields()).compile_programs)
    print(
        f"10,000 nodes: compiled in {made:.2f} us, warmed up in {warmed:.0f} ms of CPU; a first object with every field"
    )
    print(f"takes {first:.0f} ms more. 60 fields: warmed up in {small:.1f} ms")


if __name__ == "__main__":
    main()
