"""CRDs for the tests of checks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from polykind.apis.apiextensions import crd_codec
from polykind.contract import JsonObject, copy_json

Change = Callable[[JsonObject], Any]


def manifest() -> JsonObject:
    """Return the manifest of a CRD with one field of every sort."""
    spec: JsonObject = {
        "type": "object",
        "required": ["schedule"],
        "properties": {
            "schedule": {"type": "string", "maxLength": 100, "pattern": "^[^ ]+( [^ ]+){4}$"},
            "replicas": {"type": "integer", "format": "int32", "minimum": 0, "maximum": 100},
            "mode": {"type": "string", "enum": ["On", "Off", "Auto"], "default": "Auto"},
            "note": {"type": "string", "nullable": True},
            "host": {"type": "string"},
            "port": {"x-kubernetes-int-or-string": True},
            "labels": {"type": "object", "additionalProperties": {"type": "string"}},
            "extra": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
            "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 20, "x-kubernetes-list-type": "set"},
            "jobs": {
                "type": "array",
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["name"],
                "items": {
                    "type": "object",
                    "required": ["name"],
                    "properties": {"name": {"type": "string"}, "command": {"type": "string"}},
                },
            },
        },
        "x-kubernetes-validations": [{"rule": "self.schedule != ''"}],
    }
    status = {
        "type": "object",
        "properties": {"replicas": {"type": "integer"}, "phase": {"type": "string"}, "selector": {"type": "string"}},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "crontabs.stable.example.com"},
        "spec": {
            "group": "stable.example.com",
            "scope": "Namespaced",
            "names": {"plural": "crontabs", "singular": "crontab", "kind": "CronTab", "shortNames": ["ct"]},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec, "status": status}}},
                    "subresources": {
                        "status": {},
                        "scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"},
                    },
                    "selectableFields": [{"jsonPath": ".spec.host"}],
                    "additionalPrinterColumns": [{"name": "Host", "type": "string", "jsonPath": ".spec.host"}],
                }
            ],
        },
    }


def add_version(crd: JsonObject, name: str = "v2", *, storage: bool = False, served: bool = True) -> JsonObject:
    """Add a copy of the first version to a CRD, and return the new version entry."""
    entry: JsonObject = copy_json(crd["spec"]["versions"][0])
    entry |= {"name": name, "served": served, "storage": storage}
    if storage:
        for other in crd["spec"]["versions"]:
            other["storage"] = False
    crd["spec"]["versions"].append(entry)
    return entry


def changed(change: Change, base: JsonObject | None = None) -> JsonObject:
    """Return a copy of a manifest after a change."""
    out: JsonObject = copy_json(base or manifest())
    change(out)
    return out


def decoded(value: JsonObject) -> JsonObject:
    """Return a decoded CRD, as the checks take it."""
    return crd_codec.decode(copy_json(value), "v1", False)[0]


def fields(crd: JsonObject, version: int = 0) -> JsonObject:
    """Return the properties of the spec of a version."""
    out: JsonObject = spec_of(crd, version)["properties"]
    return out


def spec_of(crd: JsonObject, version: int = 0) -> JsonObject:
    out: JsonObject = crd["spec"]["versions"][version]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    return out


def webhook() -> JsonObject:
    client = {"url": "https://localhost:9443/convert"}
    return {"strategy": "Webhook", "webhook": {"clientConfig": client, "conversionReviewVersions": ["v1"]}}
