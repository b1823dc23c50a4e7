"""Decoding of v1 and v1beta1 CRDs to v1, with the defaults of their own version, and encoding at either version."""

from __future__ import annotations

from typing import Any, Literal

from polykind.apis.apiextensions.types import CUSTOM_RESOURCE_DEFINITION_V1, CUSTOM_RESOURCE_DEFINITION_V1BETA1
from polykind.apis.machinery import decode as decode_typed
from polykind.apis.meta.types import OBJECT_META
from polykind.contract import JsonObject
from polykind.crd import api_conversion
from polykind.crd.empty_values import equal_specs
from polykind.crd.strategy import with_storage_version
from polykind.crd.validation import validate_internal_create
from polykind.errors import InvalidError

Version = Literal["v1", "v1beta1"]

_ORDER = [field.name for field in CUSTOM_RESOURCE_DEFINITION_V1.fields]
_META_ORDER = [field.name for field in OBJECT_META.fields]

GROUP = "apiextensions.k8s.io"
KIND = "CustomResourceDefinition"
WEBHOOK_PORT = 443


def decode(body: object, version: Version, report: bool, *, validate: bool = True) -> tuple[JsonObject, list[str]]:
    """Decode and default a CRD. Return it as v1 and, if `report` is true, the paths of unknown fields.

    Raise BadRequestError if a field has a wrong type. A v1beta1 CRD that v1 cannot represent is always invalid: it is
    validated here, and InvalidError with all its errors is raised. `validate` is False for a stored CRD, which is not
    validated.
    """
    if version == "v1":
        crd, unknown = decode_typed(body, CUSTOM_RESOURCE_DEFINITION_V1, report=report)
        _default_v1(crd)
        crd["spec"]["conversion"] = api_conversion.normalize_conversion(crd["spec"]["conversion"])
        if crd["spec"]["versions"]:
            api_conversion.share_version_settings(crd["spec"]["versions"])
        return crd, unknown
    crd, unknown = decode_typed(body, CUSTOM_RESOURCE_DEFINITION_V1BETA1, report=report)
    _default_v1beta1(crd)
    crd_v1 = api_conversion.from_v1beta1(crd)
    if validate and not _is_lossless(crd, crd_v1):
        internal = api_conversion.v1beta1_to_internal(crd["spec"])
        checked = {**crd_v1, "spec": {**crd_v1["spec"], "versions": internal["versions"]}}
        checked["status"] = with_storage_version(crd_v1["status"], checked)
        errors = validate_internal_create(checked, internal, version)
        if errors:
            raise InvalidError(KIND, GROUP, crd_v1["metadata"].get("name", ""), errors)
    return crd_v1, unknown


def decode_unconverted(body: object, version: Version, report: bool) -> tuple[JsonObject, list[str]]:
    """Decode and default a CRD at its own version. Return it and, if `report` is true, the paths of unknown fields.

    It is not validated. A v1beta1 CRD that v1 cannot represent is returned as it is: its strategy rejects it.
    """
    if version == "v1":
        return decode(body, version, report)
    crd, unknown = decode_typed(body, CUSTOM_RESOURCE_DEFINITION_V1BETA1, report=report)
    _default_v1beta1(crd)
    crd_v1 = api_conversion.from_v1beta1(crd)
    if not _is_lossless(crd, crd_v1):
        return crd, unknown
    return encode(crd_v1, version), unknown


def _is_lossless(crd: JsonObject, crd_v1: JsonObject) -> bool:
    """True if a v1beta1 CRD and its conversion to v1 have the same meaning."""
    internal = api_conversion.v1beta1_to_internal(crd["spec"])
    return equal_specs(api_conversion.to_internal(crd_v1["spec"]), internal)


def encode(crd: JsonObject, version: Version) -> JsonObject:
    """Return a CRD at a version of the API, with its keys in the order of the Go struct."""
    converted = crd if version == "v1" else api_conversion.to_v1beta1(crd)
    meta = converted["metadata"]
    out = {key: converted[key] for key in _ORDER if key in converted}
    out["metadata"] = {key: meta[key] for key in _META_ORDER if key in meta}
    return out


def _default_v1(crd: JsonObject) -> None:
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


def _default_v1beta1(crd: JsonObject) -> None:
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
