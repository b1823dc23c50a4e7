"""Admission attributes, policies and bindings for tests."""

from __future__ import annotations

from typing import Any

from polykind.admission.attributes import CREATE, DELETE, UPDATE, Attributes, RequestResource
from polykind.auth.user import User
from polykind.contract import JsonObject
from polykind.operations.notes import Notes

NAMESPACE: JsonObject = {
    "apiVersion": "v1",
    "kind": "Namespace",
    "metadata": {"name": "default", "labels": {"env": "test"}, "uid": "u1"},
    "spec": {"finalizers": ["kubernetes"]},
    "status": {"phase": "Active"},
}


async def _convert(obj: JsonObject, api_version: str) -> JsonObject | None:
    return {**obj, "apiVersion": api_version, "converted": True} if api_version == "x.io/v2" else None


class _WarningList(Notes):
    """Notes that append each warning to a list."""

    def __init__(self, texts: list[str]) -> None:
        super().__init__()
        self._texts = texts

    def warn(self, text: str) -> None:
        self._texts.append(text)


def attributes_for(obj: Any = None, old: Any = None, *, warnings: list[str] | None = None, **more: Any) -> Attributes:
    """Return the attributes of a write to a Vat in the namespace `default`."""
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
        "equivalents": ("x.io/v1", "x.io/v2", "x.io/v3"),
    }
    resource |= {name: more.pop(name) for name in list(more) if name in resource}
    fields: dict[str, Any] = {
        "operation": operation,
        "resource": RequestResource(**resource),
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
        "notes": _WarningList(warnings if warnings is not None else []),
    }
    return Attributes(**{**fields, **more})


def policy(*expressions: str, name: str = "p", **spec: Any) -> JsonObject:
    """Return a decoded policy that matches all writes to vats."""
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
    fields: JsonObject = {"failurePolicy": "Fail", "matchConstraints": match, "validations": validations}
    return {"metadata": {"name": name}, "spec": {**fields, **spec}}


def binding(name: str = "b", of: str = "p", *actions: str, **spec: Any) -> JsonObject:
    fields: JsonObject = {"policyName": of, "validationActions": list(actions) or ["Deny"]}
    return {"metadata": {"name": name}, "spec": {**fields, **spec}}
