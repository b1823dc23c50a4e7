"""Defaults of CRDs at each version of the API."""

from __future__ import annotations

from typing import Any

from polykind.contract import JsonObject

WEBHOOK_PORT = 443


def default_v1(crd: JsonObject) -> None:
    """Fill in the defaults of a decoded apiextensions.k8s.io/v1 CRD in place."""
    spec = crd["spec"]
    _default_names(spec["names"])
    conversion = spec.get("conversion")
    if conversion is None:
        spec["conversion"] = {"strategy": "None"}
    else:
        webhook = conversion.get("webhook")
        _default_port(webhook.get("clientConfig") if webhook else None)
    _default_stored_versions(crd)


def default_v1beta1(crd: JsonObject) -> None:
    """Fill in the defaults of a decoded apiextensions.k8s.io/v1beta1 CRD in place."""
    spec = crd["spec"]
    spec["scope"] = spec["scope"] or "Namespaced"
    _default_names(spec["names"])
    versions, version = spec.get("versions"), spec.get("version")
    if not versions and version:
        spec["versions"] = [{"name": version, "served": True, "storage": True}]
    if not version and versions:
        spec["version"] = versions[0]["name"]
    conversion = spec.setdefault("conversion", {"strategy": "None"})
    if conversion["strategy"] == "Webhook" and not conversion.get("conversionReviewVersions"):
        conversion["conversionReviewVersions"] = ["v1beta1"]
    _default_port(conversion.get("webhookClientConfig"))
    spec.setdefault("preserveUnknownFields", True)
    _default_stored_versions(crd)


def _default_names(names: JsonObject) -> None:
    if not names.get("singular") and names["kind"]:
        names["singular"] = names["kind"].lower()
    if not names.get("listKind") and names["kind"]:
        names["listKind"] = f"{names['kind']}List"


def _default_port(client: Any) -> None:
    service = client.get("service") if client else None
    if service is not None:
        service.setdefault("port", WEBHOOK_PORT)


def _default_stored_versions(crd: JsonObject) -> None:
    status = crd["status"]
    if status["storedVersions"]:
        return
    for version in crd["spec"].get("versions") or ():
        if version["storage"]:
            status["storedVersions"] = [version["name"]]
            return
