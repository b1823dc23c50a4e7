"""Conversion of CRDs between v1, v1beta1, and kube-apiserver's internal type. v1 is stored, and the internal type is
validated.

The internal spec moves settings that all versions share to its top level (`validation`, `subresources`,
`additionalPrinterColumns`, `selectableFields`). Its webhook fields are those of v1beta1. Error messages use the paths
of the internal spec.
"""

from __future__ import annotations

from typing import Any

from polykind.contract import JsonObject
from polykind.crd.empty_values import equal_settings

V1 = "apiextensions.k8s.io/v1"
V1BETA1 = "apiextensions.k8s.io/v1beta1"

VERSION_SETTINGS = {
    "schema": "validation",
    "subresources": "subresources",
    "additionalPrinterColumns": "additionalPrinterColumns",
    "selectableFields": "selectableFields",
}
"""The settings of an entry of spec.versions, each with its name at the top level of the internal spec."""

_VERSION_ORDER = (
    "name",
    "served",
    "storage",
    "deprecated",
    "deprecationWarning",
    "schema",
    "subresources",
    "additionalPrinterColumns",
    "selectableFields",
)
_V1BETA1_ORDER = (
    "group",
    "version",
    "names",
    "scope",
    "validation",
    "subresources",
    "versions",
    "additionalPrinterColumns",
    "selectableFields",
    "conversion",
    "preserveUnknownFields",
)


def to_internal(spec: JsonObject) -> JsonObject:
    """Convert a v1 spec to the internal type. The result shares all values with the input."""
    versions = spec["versions"]
    internal: JsonObject = {
        "group": spec["group"],
        "names": spec["names"],
        "scope": spec["scope"],
        "versions": versions,
        "preserveUnknownFields": spec.get("preserveUnknownFields", False),
    }
    conversion = spec.get("conversion")
    if conversion is not None:
        internal["conversion"] = _internal_conversion(conversion)
    if not versions:
        return internal
    internal["version"] = versions[0]["name"]
    shared = set()
    for setting, top in VERSION_SETTINGS.items():
        first = versions[0].get(setting)
        if all(equal_settings(version.get(setting), first) for version in versions):
            shared.add(setting)
            if first is not None:
                internal[top] = first
    internal["versions"] = [{k: v for k, v in version.items() if k not in shared} for version in versions]
    return internal


def internal_to_v1(internal: JsonObject) -> JsonObject:
    """Convert an internal spec to v1. Settings at the top level are copied to every version entry."""
    shared_settings = {
        setting: internal[top] for setting, top in VERSION_SETTINGS.items() if internal.get(top) is not None
    }
    versions = internal.get("versions")
    spec: JsonObject = {
        "group": internal["group"],
        "names": internal["names"],
        "scope": internal["scope"],
        "versions": [_in_order({**version, **shared_settings}) for version in versions]
        if versions is not None
        else None,
    }
    conversion = internal.get("conversion")
    if conversion is not None:
        spec["conversion"] = _v1_conversion(conversion)
    if internal.get("preserveUnknownFields"):
        spec["preserveUnknownFields"] = True
    return spec


def v1beta1_to_internal(spec: JsonObject) -> JsonObject:
    """Convert a v1beta1 spec to the internal type. Only the key `JSONPath` of a printer column becomes `jsonPath`."""
    internal = dict(spec)
    internal.setdefault("versions", None)
    if "additionalPrinterColumns" in internal:
        internal["additionalPrinterColumns"] = _columns(internal["additionalPrinterColumns"], "jsonPath")
    if internal["versions"]:
        internal["versions"] = [_version_columns(version, "jsonPath") for version in internal["versions"]]
    return internal


def to_v1beta1(crd: JsonObject) -> JsonObject:
    """Convert a v1 CRD to v1beta1."""
    internal = to_internal(crd["spec"])
    if "additionalPrinterColumns" in internal:
        internal["additionalPrinterColumns"] = _columns(internal["additionalPrinterColumns"], "JSONPath")
    internal["versions"] = [_version_columns(version, "JSONPath") for version in internal["versions"] or ()]
    spec = {key: internal[key] for key in _V1BETA1_ORDER if internal.get(key) not in (None, [])}
    result: JsonObject = {}
    for key, value in crd.items():
        result[key] = V1BETA1 if key == "apiVersion" else spec if key == "spec" else value
    return result


def from_v1beta1(crd: JsonObject) -> JsonObject:
    """Convert a decoded and defaulted v1beta1 CRD to v1."""
    spec = internal_to_v1(v1beta1_to_internal(crd["spec"]))
    result: JsonObject = {}
    for key, value in crd.items():
        result[key] = V1 if key == "apiVersion" else spec if key == "spec" else value
    return result


def at_version(crd: JsonObject, api_version: str) -> JsonObject | None:
    """Convert a CRD to another version without applying defaults. Return None if the version is unknown."""
    if api_version not in (V1, V1BETA1):
        return None
    spec = crd.get("spec")
    if crd.get("apiVersion") == api_version or not isinstance(spec, dict):
        return {**crd, "apiVersion": api_version}
    complete = {**_ABSENT_FIELDS, **spec}
    if isinstance(complete.get("conversion"), dict):
        complete["conversion"] = {"strategy": None, **complete["conversion"]}
    converted = (from_v1beta1 if api_version == V1 else to_v1beta1)({**crd, "spec": complete})
    present = {key: value for key, value in converted["spec"].items() if value is not None}
    if "conversion" in present:
        present["conversion"] = {key: value for key, value in present["conversion"].items() if value is not None}
    return {**converted, "apiVersion": api_version, "spec": present}


_ABSENT_FIELDS: JsonObject = dict.fromkeys(("group", "names", "scope", "versions"))


def share_version_settings(versions: list[JsonObject]) -> None:
    """If a setting of the version entries differs only in empty values, set it to the same value in all, in place.

    In kube-apiserver this results from its internal type, which has such a setting only once, at the top level.
    """
    for setting in VERSION_SETTINGS:
        first = versions[0].get(setting)
        different = [version for version in versions if version.get(setting) != first]
        if different and all(equal_settings(version.get(setting), first) for version in different):
            for version in different:
                version[setting] = first
                if first is None:
                    del version[setting]


def normalize_conversion(conversion: JsonObject) -> JsonObject:
    """Return spec.conversion, converted to the internal type and back. This drops an empty webhook."""
    return _v1_conversion(_internal_conversion(conversion))


def _in_order(version: JsonObject) -> JsonObject:
    return {key: version[key] for key in _VERSION_ORDER if key in version}


def _columns(columns: Any, path: str) -> list[JsonObject]:
    return [{(path if k in ("jsonPath", "JSONPath") else k): v for k, v in column.items()} for column in columns]


def _version_columns(version: JsonObject, path: str) -> JsonObject:
    columns = version.get("additionalPrinterColumns")
    return {**version, "additionalPrinterColumns": _columns(columns, path)} if columns else version


def _internal_conversion(conversion: JsonObject) -> JsonObject:
    internal: JsonObject = {"strategy": conversion["strategy"]}
    webhook = conversion.get("webhook")
    if webhook is not None:
        if webhook.get("clientConfig") is not None:
            internal["webhookClientConfig"] = webhook["clientConfig"]
        if webhook.get("conversionReviewVersions") is not None:
            internal["conversionReviewVersions"] = webhook["conversionReviewVersions"]
    return internal


def _v1_conversion(conversion: JsonObject) -> JsonObject:
    result: JsonObject = {"strategy": conversion["strategy"]}
    client, review_versions = conversion.get("webhookClientConfig"), conversion.get("conversionReviewVersions")
    if client is not None or review_versions is not None:
        webhook: JsonObject = {} if client is None else {"clientConfig": client}
        webhook["conversionReviewVersions"] = review_versions
        result["webhook"] = webhook
    return result
