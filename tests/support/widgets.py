"""A small custom resource for tests: versions v1 (stored) and v2, a status subresource, conversion strategy None."""

from __future__ import annotations

from typing import Any

from polykind.contract import JsonObject

GROUP = "test.example.com"
NAME = f"widgets.{GROUP}"
ALL = f"/apis/{GROUP}/v1/widgets"
WIDGETS = f"/apis/{GROUP}/v1/namespaces/default/widgets"
MERGE = "application/merge-patch+json"
JSON = "application/json-patch+json"
APPLY = "application/apply-patch+yaml"


def definition(plural: str = "widgets", kind: str = "Widget", *, scope: str = "Namespaced") -> JsonObject:
    spec = {"type": "object", "properties": {"size": {"type": "integer", "default": 1}, "note": {"type": "string"}}}
    status = {"type": "object", "properties": {"ready": {"type": "boolean"}}}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec, "status": status}}}
    versions = [
        {"name": "v1", "served": True, "storage": True, "schema": schema, "subresources": {"status": {}}},
        {"name": "v2", "served": True, "storage": False, "schema": schema, "subresources": {"status": {}}},
    ]
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{GROUP}"},
        "spec": {"group": GROUP, "scope": scope, "names": {"plural": plural, "kind": kind}, "versions": versions},
    }


def widget(name: str = "", *, kind: str = "Widget", meta: JsonObject | None = None, **spec: Any) -> JsonObject:
    metadata = {**({"name": name} if name else {}), **(meta or {})}
    return {"apiVersion": f"{GROUP}/v1", "kind": kind, "metadata": metadata, "spec": spec}


def namespace(name: str) -> JsonObject:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
