"""Builders of small valid CRDs for tests."""

from __future__ import annotations

from typing import Any

from polykind import crd
from polykind.apis.apiextensions import crd_codec
from polykind.contract import JsonObject
from polykind.crd.status import nonstructural_condition, reconcile

NOW = "2026-01-01T00:00:00Z"
LATER = "2026-01-02T00:00:00Z"
OBJECT: JsonObject = {"type": "object"}


def version(name: str = "v1", schema: JsonObject | None = OBJECT, **more: Any) -> JsonObject:
    settings = {} if schema is None else {"schema": {"openAPIV3Schema": schema}}
    return {"name": name, "served": True, "storage": name == "v1", **settings, **more}


def crd_body(*versions: JsonObject, kind: str = "Tool", group: str = "example.com", **spec: Any) -> JsonObject:
    plural = f"{kind.lower()}s"
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": plural, "kind": kind},
            "versions": list(versions) or [version()],
            **spec,
        },
    }


def created_crd(*versions: JsonObject, **spec: Any) -> JsonObject:
    """Return a decoded CRD as a create request prepares it, without validation."""
    return crd.prepare_create(crd_codec.decode(crd_body(*versions, **spec), "v1", False)[0])


def established_crd(*versions: JsonObject, **spec: Any) -> JsonObject:
    """Return an established CRD as it is stored."""
    new = created_crd(*versions, **spec)
    new["metadata"] |= {"uid": "u", "resourceVersion": "1"}
    return {**new, "status": reconciled_status(new)}


def reconciled_status(new: JsonObject, *others: JsonObject, now: str = NOW) -> JsonObject:
    """Return the reconciled status of a CRD beside others."""
    return reconcile(new, others, now, non_structural=nonstructural_condition(new))


def v1beta1_crd(**spec: Any) -> JsonObject:
    """Return an established CRD that was created at v1beta1."""
    asked = {
        "apiVersion": "apiextensions.k8s.io/v1beta1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "tools.example.com", "uid": "u", "resourceVersion": "1", "generation": 1},
        "spec": {"group": "example.com", "version": "v1", "names": {"plural": "tools", "kind": "Tool"}, **spec},
    }
    new, _ = crd_codec.decode(asked, "v1beta1", False)
    return {**new, "status": reconciled_status(new)}


def create_errors(*versions: JsonObject, **spec: Any) -> list[str]:
    """Return the error messages of a create."""
    return [str(error) for error in crd.validate_create(created_crd(*versions, **spec))]


def schema_errors(schema: JsonObject, **more: Any) -> list[str]:
    """Return the error messages of a create about its only schema, with S for the path of the schema."""
    return [
        text.replace("spec.validation.openAPIV3Schema", "S") for text in create_errors(version(schema=schema, **more))
    ]


def update_errors(new: JsonObject, old: JsonObject, request: str = "v1") -> list[str]:
    return [str(error) for error in crd.validate_update(crd.prepare_update(new, old), old, request)]


def with_spec(old: JsonObject, **spec: Any) -> JsonObject:
    """Return a CRD with parts of its spec replaced."""
    return {**old, "metadata": dict(old["metadata"]), "spec": {**old["spec"], **spec}}
