"""The values of the CEL variables request, namespaceObject and authorizer."""

from __future__ import annotations

from functools import partial
from typing import Any

from polykind.admission.attributes import Attributes
from polykind.admission.evaluation_deadline import run_on_event_loop
from polykind.auth.authorizer import Access
from polykind.auth.user import User, service_account_groups, service_account_name
from polykind.cel.library.authz import AuthorizationAttributes, AuthorizationResult, Authorizer, ResourceCheck
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


def request_value(attributes: Attributes, kind_version: str = "", resource_version: str = "") -> JsonObject:
    """Return the variable `request`, an AdmissionRequest without its empty fields.

    `kind_version` is the apiVersion of the converted objects, `resource_version` the apiVersion of the resource that a
    rule matched. Both default to those of the request.
    """
    resource = attributes.resource
    request_kind = _kind(resource.kind_version, resource.kind)
    request_resource = _resource(attributes, resource.api_version)
    request: JsonObject = {
        "uid": "",
        "kind": _kind(kind_version, resource.kind) if kind_version else request_kind,
        "resource": _resource(attributes, resource_version) if resource_version else request_resource,
        "subResource": resource.subresource,
        "requestKind": request_kind,
        "requestResource": request_resource,
        "requestSubResource": resource.subresource,
        "name": attributes.name,
        "namespace": attributes.namespace,
        "operation": attributes.operation,
        "userInfo": attributes.user.info(),
        "object": None,
        "oldObject": None,
        "dryRun": attributes.dry_run,
        "options": attributes.options,
    }
    for name in ("subResource", "requestSubResource", "name", "namespace"):
        if not request[name]:
            del request[name]
    return request


def _kind(api_version: str, kind: str) -> dict[str, str]:
    group, _, version = api_version.rpartition("/")
    return {"group": group, "version": version, "kind": kind}


def _resource(attributes: Attributes, api_version: str) -> dict[str, str]:
    group, _, version = api_version.rpartition("/")
    return {"group": group, "version": version, "resource": attributes.resource.plural}


def namespace_value(namespace: JsonObject | None) -> JsonObject | None:
    """Return the variable `namespaceObject`: the fields of a namespace that expressions may use."""
    if namespace is None:
        return None
    meta: dict[str, Any] = namespace.get("metadata") or {}
    metadata = {name: meta[name] for name in _NAMESPACE_META if meta.get(name) is not None}
    return {"metadata": metadata, "spec": namespace.get("spec") or {}, "status": namespace.get("status") or {}}


def authorizer_values(attributes: Attributes) -> dict[str, Any]:
    """Return the variables `authorizer` and `authorizer.requestResource`."""
    decide = partial(_decide, attributes)
    resource = attributes.resource
    request_resource = AuthorizationAttributes(
        group=resource.group,
        resource=resource.plural,
        subresource=resource.subresource,
        namespace=attributes.namespace,
        name=attributes.name,
    )
    return {
        "authorizer": Authorizer(decide, AuthorizationAttributes()),
        "authorizer.requestResource": ResourceCheck(decide, request_resource),
    }


def _decide(attributes: Attributes, check: AuthorizationAttributes) -> AuthorizationResult:
    result = attributes.authorization_results.get(check)
    if result is None:
        access = _access(attributes.user, check)
        decision = run_on_event_loop(attributes.authorizer.decide(access))
        result = AuthorizationResult(decision.allowed, decision.reason, decision.error)
        attributes.authorization_results[check] = result
    return result


def _access(user: User, check: AuthorizationAttributes) -> Access:
    if check.service_account is not None:
        namespace, name = check.service_account
        user = User(service_account_name(namespace, name), "", service_account_groups(namespace))
    if check.path is not None:
        return Access(user, check.verb, path=check.path)
    return Access(user, check.verb, check.group, "*", check.resource, check.subresource, check.namespace, check.name)
