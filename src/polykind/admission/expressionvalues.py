"""What expressions see of a write: the request in the words of an AdmissionRequest, and the namespace."""

from __future__ import annotations

from typing import Any

from polykind.admission.attributes import Attributes
from polykind.contract import JsonObject

_NAMESPACE_META = (
    "name",
    "generateName",
    "namespace",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "labels",
    "annotations",
    "finalizers",
)


def request_value(asked: Attributes, kind_version: str = "", resource_version: str = "") -> JsonObject:
    """The variable `request`: what is empty is not there.

    `kind_version` is the apiVersion that objects are told at, `resource_version` the version of the resource that a
    rule was matched at; those of the request where they are not given.
    """
    resource = asked.resource
    request_kind = _kind(resource.kind_version, resource.kind)
    request_resource = _resource(asked, resource.version)
    told: JsonObject = {
        "uid": "",
        "kind": _kind(kind_version, resource.kind) if kind_version else request_kind,
        "resource": _resource(asked, resource_version) if resource_version else request_resource,
        "subResource": resource.subresource,
        "requestKind": request_kind,
        "requestResource": request_resource,
        "requestSubResource": resource.subresource,
        "name": asked.name,
        "namespace": asked.namespace,
        "operation": asked.operation,
        "userInfo": asked.user.info(),
        "object": None,
        "oldObject": None,
        "dryRun": asked.dry_run,
        "options": asked.options,
    }
    for name in ("subResource", "requestSubResource", "name", "namespace"):
        if not told[name]:
            del told[name]
    return told


def namespace_value(namespace: JsonObject | None) -> JsonObject | None:
    """The variable `namespaceObject`: what expressions may know of a namespace."""
    if namespace is None:
        return None
    meta: dict[str, Any] = namespace.get("metadata") or {}
    known = {name: meta[name] for name in _NAMESPACE_META if meta.get(name) is not None}
    return {"metadata": known, "spec": namespace.get("spec") or {}, "status": namespace.get("status") or {}}


def _kind(api_version: str, kind: str) -> dict[str, str]:
    group, _, version = api_version.rpartition("/")
    return {"group": group, "version": version, "kind": kind}


def _resource(asked: Attributes, version: str) -> dict[str, str]:
    return {"group": asked.resource.group, "version": version, "resource": asked.resource.plural}
