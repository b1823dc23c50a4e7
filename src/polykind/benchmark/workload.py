"""The objects of a benchmark: a CRD with two versions, and objects of about two kilobytes."""

from __future__ import annotations

from polykind.contract import JsonObject

GROUP = "bench.example.com"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def definition(plural: str = "widgets") -> JsonObject:
    """Return a CRD with a schema of 14 fields, served at v1 and v2."""
    strings = {f"field{i}": {"type": "string", "maxLength": 256} for i in range(12)}
    spec = strings | {
        "replicas": {"type": "integer", "minimum": 0, "maximum": 1000, "default": 1},
        "env": {"type": "object", "additionalProperties": {"type": "string"}},
    }
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": spec}}}
    version = {"served": True, "schema": {"openAPIV3Schema": schema}}
    singular = plural.removesuffix("s")
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {"plural": plural, "singular": singular, "kind": singular.capitalize()},
            "versions": [{"name": "v1", "storage": True} | version, {"name": "v2", "storage": False} | version],
        },
    }


def widget(name: str, kind: str = "Widget") -> JsonObject:
    """Return an object of about two kilobytes."""
    spec: JsonObject = {f"field{i}": f"value-{i}-" + "x" * 80 for i in range(12)}
    spec["env"] = {f"KEY_{i}": "v" * 24 for i in range(10)}
    return {"apiVersion": f"{GROUP}/v1", "kind": kind, "metadata": {"name": name}, "spec": spec}
