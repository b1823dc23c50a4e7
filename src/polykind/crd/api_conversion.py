"""The three shapes of a definition: v1 (the one kept), v1beta1, and the inner one that rules are written for.

The inner spec hoists stanzas that all versions share (`validation`, `subresources`, `additionalPrinterColumns`,
`selectableFields`) and spells the webhook as v1beta1 does; the paths in error texts are paths in it.
"""

from __future__ import annotations

from typing import Any

from polykind.contract import JsonObject
from polykind.crd.equality import equal_settings

V1 = "apiextensions.k8s.io/v1"
V1BETA1 = "apiextensions.k8s.io/v1beta1"

VERSION_SETTINGS = {
    "schema": "validation",
    "subresources": "subresources",
    "additionalPrinterColumns": "additionalPrinterColumns",
    "selectableFields": "selectableFields",
}
"""A version's stanza, and where the inner spec hoists it to."""

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
    """The inner spec of a v1 spec. What is not moved is shared, not copied."""
    versions = spec["versions"]
    inner: JsonObject = {
        "group": spec["group"],
        "names": spec["names"],
        "scope": spec["scope"],
        "versions": versions,
        "preserveUnknownFields": spec.get("preserveUnknownFields", False),
    }
    conversion = spec.get("conversion")
    if conversion is not None:
        inner["conversion"] = _inner_conversion(conversion)
    if not versions:
        return inner
    inner["version"] = versions[0]["name"]
    hoisted = set()
    for stanza, top in VERSION_SETTINGS.items():
        first = versions[0].get(stanza)
        if all(equal_settings(version.get(stanza), first) for version in versions):
            hoisted.add(stanza)
            if first is not None:
                inner[top] = first
    inner["versions"] = [{k: v for k, v in version.items() if k not in hoisted} for version in versions]
    return inner


def internal_to_v1(inner: JsonObject) -> JsonObject:
    """The v1 spec of an inner spec: hoisted stanzas go to every version."""
    lowered = {stanza: inner[top] for stanza, top in VERSION_SETTINGS.items() if inner.get(top) is not None}
    versions = inner.get("versions")
    spec: JsonObject = {
        "group": inner["group"],
        "names": inner["names"],
        "scope": inner["scope"],
        "versions": [_ordered({**version, **lowered}) for version in versions] if versions is not None else None,
    }
    conversion = inner.get("conversion")
    if conversion is not None:
        spec["conversion"] = _v1_conversion(conversion)
    if inner.get("preserveUnknownFields"):
        spec["preserveUnknownFields"] = True
    return spec


def v1beta1_to_internal(spec: JsonObject) -> JsonObject:
    """The inner spec of a decoded v1beta1 spec, which is its shape but for the name of a column's path."""
    inner = dict(spec)
    inner.setdefault("versions", None)
    if "additionalPrinterColumns" in inner:
        inner["additionalPrinterColumns"] = _columns(inner["additionalPrinterColumns"], "jsonPath")
    if inner["versions"]:
        inner["versions"] = [_version_columns(version, "jsonPath") for version in inner["versions"]]
    return inner


def to_v1beta1(crd: JsonObject) -> JsonObject:
    """A v1 definition as v1beta1 serves it."""
    inner = to_internal(crd["spec"])
    if "additionalPrinterColumns" in inner:
        inner["additionalPrinterColumns"] = _columns(inner["additionalPrinterColumns"], "JSONPath")
    inner["versions"] = [_version_columns(version, "JSONPath") for version in inner["versions"] or ()]
    spec = {key: inner[key] for key in _V1BETA1_ORDER if inner.get(key) not in (None, [])}
    out: JsonObject = {}
    for key, value in crd.items():
        out[key] = V1BETA1 if key == "apiVersion" else spec if key == "spec" else value
    return out


def from_v1beta1(crd: JsonObject) -> JsonObject:
    """A decoded and defaulted v1beta1 definition in v1's shape."""
    spec = internal_to_v1(v1beta1_to_internal(crd["spec"]))
    out: JsonObject = {}
    for key, value in crd.items():
        out[key] = V1 if key == "apiVersion" else spec if key == "spec" else value
    return out


def at_version(crd: JsonObject, api_version: str) -> JsonObject | None:
    """A definition, or part of one, in the shape of another version; None if there is no such version.

    Nothing is defaulted: what it does not state is not stated there.
    """
    if api_version not in (V1, V1BETA1):
        return None
    spec = crd.get("spec")
    if crd.get("apiVersion") == api_version or not isinstance(spec, dict):
        return {**crd, "apiVersion": api_version}
    whole = {**_UNSTATED, **spec}
    if isinstance(whole.get("conversion"), dict):
        whole["conversion"] = {"strategy": None, **whole["conversion"]}
    other = (from_v1beta1 if api_version == V1 else to_v1beta1)({**crd, "spec": whole})
    shown = {key: value for key, value in other["spec"].items() if value is not None}
    if "conversion" in shown:
        shown["conversion"] = {key: value for key, value in shown["conversion"].items() if value is not None}
    return {**other, "apiVersion": api_version, "spec": shown}


_UNSTATED: JsonObject = dict.fromkeys(("group", "names", "scope", "versions"))


def share_version_settings(versions: list[JsonObject]) -> None:
    """Where all versions are alike in a stanza they have that of the first, what it states and leaves empty too."""
    for stanza in VERSION_SETTINGS:
        first = versions[0].get(stanza)
        odd = [version for version in versions if version.get(stanza) != first]
        if odd and all(equal_settings(version.get(stanza), first) for version in odd):
            for version in odd:
                version[stanza] = first
                if first is None:
                    del version[stanza]


def normalize_conversion(conversion: JsonObject) -> JsonObject:
    """A v1 conversion stanza as others than its author see it: a webhook nothing is said of is gone."""
    return _v1_conversion(_inner_conversion(conversion))


def _ordered(version: JsonObject) -> JsonObject:
    return {key: version[key] for key in _VERSION_ORDER if key in version}


def _columns(columns: Any, path: str) -> list[JsonObject]:
    return [{(path if k in ("jsonPath", "JSONPath") else k): v for k, v in column.items()} for column in columns]


def _version_columns(version: JsonObject, path: str) -> JsonObject:
    columns = version.get("additionalPrinterColumns")
    return {**version, "additionalPrinterColumns": _columns(columns, path)} if columns else version


def _inner_conversion(conversion: JsonObject) -> JsonObject:
    inner: JsonObject = {"strategy": conversion["strategy"]}
    webhook = conversion.get("webhook")
    if webhook is not None:
        if webhook.get("clientConfig") is not None:
            inner["webhookClientConfig"] = webhook["clientConfig"]
        if webhook.get("conversionReviewVersions") is not None:
            inner["conversionReviewVersions"] = webhook["conversionReviewVersions"]
    return inner


def _v1_conversion(conversion: JsonObject) -> JsonObject:
    out: JsonObject = {"strategy": conversion["strategy"]}
    client, reviews = conversion.get("webhookClientConfig"), conversion.get("conversionReviewVersions")
    if client is not None or reviews is not None:
        webhook: JsonObject = {} if client is None else {"clientConfig": client}
        webhook["conversionReviewVersions"] = reviews
        out["webhook"] = webhook
    return out
