"""Definitions for tests: small, valid, and decoded."""

from __future__ import annotations

from typing import Any

from polykind import crd
from polykind.contract import JsonObject
from polykind.crd.status import nonstructural_condition, reconcile

NOW = "2026-01-01T00:00:00Z"
LATER = "2026-01-02T00:00:00Z"
OBJECT: JsonObject = {"type": "object"}


def version(name: str = "v1", schema: JsonObject | None = OBJECT, **more: Any) -> JsonObject:
    stanza = {} if schema is None else {"schema": {"openAPIV3Schema": schema}}
    return {"name": name, "served": True, "storage": name == "v1", **stanza, **more}


def body(*versions: JsonObject, kind: str = "Tool", group: str = "example.com", **spec: Any) -> JsonObject:
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


def made(*versions: JsonObject, **spec: Any) -> JsonObject:
    """A definition as a create makes it, not judged."""
    return crd.prepare_create(crd.decode(body(*versions, **spec), "v1", False)[0])


def settled(*versions: JsonObject, **spec: Any) -> JsonObject:
    """A definition that is established and stored."""
    new = made(*versions, **spec)
    new["metadata"] |= {"uid": "u", "resourceVersion": "1"}
    return {**new, "status": at_rest(new)}


def at_rest(new: JsonObject, *others: JsonObject, now: str = NOW) -> JsonObject:
    """The status a definition comes to rest at beside others."""
    return reconcile(new, others, now, non_structural=nonstructural_condition(new))


def beta(**spec: Any) -> JsonObject:
    """A decoded and settled definition that was written at v1beta1."""
    asked = {
        "apiVersion": "apiextensions.k8s.io/v1beta1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "tools.example.com", "uid": "u", "resourceVersion": "1", "generation": 1},
        "spec": {"group": "example.com", "version": "v1", "names": {"plural": "tools", "kind": "Tool"}, **spec},
    }
    new, _ = crd.decode(asked, "v1beta1", False)
    return {**new, "status": at_rest(new)}


def problems(*versions: JsonObject, **spec: Any) -> list[str]:
    """What a create is told."""
    return [str(error) for error in crd.validate_create(made(*versions, **spec))]


def schema_problems(schema: JsonObject, **more: Any) -> list[str]:
    """What a create is told of its one schema, with S for the path of it."""
    return [text.replace("spec.validation.openAPIV3Schema", "S") for text in problems(version(schema=schema, **more))]


def update_problems(new: JsonObject, old: JsonObject, request: str = "v1") -> list[str]:
    return [str(error) for error in crd.validate_update(crd.prepare_update(new, old), old, request)]


def changed(old: JsonObject, **spec: Any) -> JsonObject:
    """A definition with parts of its spec replaced."""
    return {**old, "metadata": dict(old["metadata"]), "spec": {**old["spec"], **spec}}
