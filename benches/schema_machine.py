"""What a schema costs per write, against decoding the object.

Run: .venv/bin/python benches/schema_machine.py
"""

from __future__ import annotations

import copy
import platform
import sys
import timeit
from collections.abc import Callable
from typing import Any

import orjson

from polykind.schema import compile as compile_schema
from polykind.schema import objectmeta

Json = dict[str, Any]


def sixty_fields() -> Json:
    """A schema such as operators have: 60 fields, nested objects, lists, maps, defaults, enums, patterns."""
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
        "image": "registry.example.com/team/web:1.2.3",
        "pull": "IfNotPresent",
        "args": ["--listen=:8080", "--verbose"],
        "env": [{"name": "MODE", "value": "production"}, {"name": "REGION", "value": "eu-west-1"}],
        "ports": [{"name": "http", "port": 8080, "protocol": "TCP", "target": "http"}],
        "liveness": {"path": "/healthz", "port": 8080, "delay": 5, "period": 10, "timeout": 1, "failures": 3},
        "readiness": {"path": "/readyz", "port": 8080, "delay": 1, "period": 5, "timeout": 1, "failures": 3},
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
                "annotations": {"example.com/note": "kept by hand"},
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
                        "message": "every replica answers its probes",
                        "time": "2024-02-29T12:00:00Z",
                    }
                    for kind in ("Ready", "Progressing")
                ],
            },
        }
    )


def large(nodes: int) -> Json:
    """A schema of many nodes: objects of ten fields, nested."""
    if nodes <= 10:
        return {"type": "object", "properties": {f"f{i}": {"type": "string", "maxLength": 10} for i in range(nodes)}}
    return {"type": "object", "properties": {f"o{i}": large(nodes // 10) for i in range(10)}}


def cost(work: Callable[[], object]) -> float:
    """Microseconds, the best of several rounds."""
    timer = timeit.Timer(work)
    count, _ = timer.autorange()
    return min(timer.repeat(5, max(1, count // 5))) / max(1, count // 5) * 1e6


def main() -> None:
    body = two_kilobytes()
    obj = orjson.loads(body)
    schema = compile_schema(sixty_fields())
    schema.warm()
    assert schema.admit(obj, report=True) == []
    assert schema.validate(obj) == []
    print(f"{sys.argv[0]} on {platform.machine()}, Python {platform.python_version()}; object of {len(body)} bytes")
    base = cost(lambda: orjson.loads(body))
    rows = {
        "orjson.loads": base,
        "admit": cost(lambda: schema.admit(obj, report=True)),
        "validate": cost(lambda: schema.validate(obj)),
        "metadata coerce": cost(lambda: objectmeta.coerce(obj["metadata"], strict=True)),
        "metadata validate": cost(lambda: objectmeta.validate(obj["metadata"], namespaced=True)),
        "copy.deepcopy": cost(lambda: copy.deepcopy(obj)),
    }
    rows["admit + validate"] = rows["admit"] + rows["validate"]
    for label, micros in rows.items():
        print(f"{label:20} {micros:8.2f} us  {micros / base:6.2f} x")
    big = large(10_000)
    made = cost(lambda: compile_schema(big))
    warmed = timeit.timeit(lambda: compile_schema(big).warm(), number=1) * 1e3
    small = timeit.timeit(lambda: compile_schema(sixty_fields()).warm(), number=1) * 1e3
    print(f"10,000 nodes: made in {made:.2f} us, warmed in {warmed:.0f} ms; 60 fields warmed in {small:.1f} ms")


if __name__ == "__main__":
    main()
