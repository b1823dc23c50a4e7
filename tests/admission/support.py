"""Writes as admission is asked about them."""

from __future__ import annotations

from typing import Any

from polykind.admission.attributes import CREATE, DELETE, UPDATE, Attributes, Resource
from polykind.auth.user import User
from polykind.contract import JsonObject

NAMESPACE: JsonObject = {
    "apiVersion": "v1",
    "kind": "Namespace",
    "metadata": {"name": "default", "labels": {"env": "test"}, "uid": "u1"},
    "spec": {"finalizers": ["kubernetes"]},
    "status": {"phase": "Active"},
}


async def _convert(obj: JsonObject, api_version: str) -> JsonObject | None:
    return {**obj, "apiVersion": api_version, "converted": True} if api_version == "x.io/v2" else None


def asked(obj: Any = None, old: Any = None, *, warnings: list[str] | None = None, **more: Any) -> Attributes:
    """A write of a Vat in the namespace `default`."""
    operation = CREATE if old is None else UPDATE if obj is not None else DELETE
    resource: dict[str, Any] = {
        "group": "x.io",
        "version": "v1",
        "plural": "vats",
        "subresource": "",
        "kind": "Vat",
        "kind_version": "x.io/v1",
        "namespaced": True,
        "versions": ("v1", "v2", "v3"),
        "equivalents": ("v1", "v2", "v3"),
    }
    resource |= {name: more.pop(name) for name in list(more) if name in resource}
    given: dict[str, Any] = {
        "operation": operation,
        "resource": Resource(**resource),
        "namespace": "default",
        "name": ((obj or old or {}).get("metadata") or {}).get("name", ""),
        "obj": obj,
        "old": old,
        "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"},
        "dry_run": False,
        "user": User("ann", "u-1", ("makers", "system:authenticated")),
        "convert": _convert,
        "default": lambda one: one,
        "namespace_object": lambda: NAMESPACE,
        "warn": (warnings if warnings is not None else []).append,
    }
    return Attributes(**{**given, **more})


def policy(*expressions: str, name: str = "p", **spec: Any) -> JsonObject:
    """A policy about all writes of vats, as it is decoded."""
    match = {
        "resourceRules": [
            {
                "apiGroups": ["x.io"],
                "apiVersions": ["v1"],
                "operations": ["*"],
                "resources": ["vats", "vats/scale"],
                "scope": "*",
            }
        ],
        "matchPolicy": "Equivalent",
        "namespaceSelector": {},
        "objectSelector": {},
    }
    validations = [{"expression": expression} for expression in expressions]
    given: JsonObject = {"failurePolicy": "Fail", "matchConstraints": match, "validations": validations}
    return {"metadata": {"name": name}, "spec": {**given, **spec}}


def binding(name: str = "b", of: str = "p", *actions: str, **spec: Any) -> JsonObject:
    given: JsonObject = {"policyName": of, "validationActions": list(actions) or ["Deny"]}
    return {"metadata": {"name": name}, "spec": {**given, **spec}}
