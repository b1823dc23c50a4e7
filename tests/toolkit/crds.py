"""CRDs with several versions, for the toolkit's tests."""

from __future__ import annotations

from typing import Any

GROUP = "stable.example.com"


def crd_manifest(*schemas: dict[str, Any], **spec: Any) -> dict[str, Any]:
    """Return a CronTab CRD whose versions v1, v2, ... have these schemas of `spec`. The last version is stored."""
    versions = [
        {
            "name": f"v{number}",
            "served": True,
            "storage": number == len(schemas),
            "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object", **schema}}}},
        }
        for number, schema in enumerate(schemas, 1)
    ]
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"crontabs.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {"plural": "crontabs", "kind": "CronTab"},
            "versions": versions,
            **spec,
        },
    }


HOST = {"properties": {"host": {"type": "string"}, "port": {"type": "integer", "default": 80}}}
HOSTS = {
    "properties": {
        "hosts": {"type": "array", "items": {"type": "string"}},
        "port": {"type": "integer", "default": 80, "minimum": 1},
    },
    "x-kubernetes-validations": [{"rule": "!has(self.hosts) || size(self.hosts) > 0", "message": "hosts is empty"}],
}
