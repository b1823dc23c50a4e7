"""CompositeResourceDefinitions (XRDs) of Crossplane, as the CRDs that Crossplane generates from them.

Crossplane adds fields of its own to the schema of each version. The referenceable version is stored.
"""

from __future__ import annotations

from typing import Any

from polykind.contract import JsonObject, copy_json

KIND = "CompositeResourceDefinition"
API_VERSIONS = ("apiextensions.crossplane.io/v1", "apiextensions.crossplane.io/v2")

_TEXT: JsonObject = {"type": "string"}
_REFERENCE: JsonObject = {"type": "object", "required": ["name"], "properties": {"name": _TEXT}}
_SELECTOR: JsonObject = {
    "type": "object",
    "required": ["matchLabels"],
    "properties": {"matchLabels": {"type": "object", "additionalProperties": _TEXT}},
}
_POLICY: JsonObject = {"type": "string", "enum": ["Automatic", "Manual"]}
_OBJECT_REFERENCE: JsonObject = {
    "type": "object",
    "required": ["apiVersion", "kind"],
    "properties": {"apiVersion": _TEXT, "kind": _TEXT, "name": _TEXT, "namespace": _TEXT},
}
_COMPOSITION: JsonObject = {
    "compositionRef": _REFERENCE,
    "compositionSelector": _SELECTOR,
    "compositionRevisionRef": _REFERENCE,
    "compositionRevisionSelector": _SELECTOR,
    "compositionUpdatePolicy": _POLICY,
}
_RESOURCE_REFERENCES: JsonObject = {"type": "array", "items": _OBJECT_REFERENCE, "x-kubernetes-list-type": "atomic"}
_SECRET: JsonObject = {
    "type": "object",
    "required": ["name", "namespace"],
    "properties": {"name": _TEXT, "namespace": _TEXT},
}
_LEGACY_SPEC: JsonObject = {
    **_COMPOSITION,
    "claimRef": {
        "type": "object",
        "required": ["apiVersion", "kind", "namespace", "name"],
        "properties": {"apiVersion": _TEXT, "kind": _TEXT, "namespace": _TEXT, "name": _TEXT},
    },
    "resourceRefs": _RESOURCE_REFERENCES,
    "writeConnectionSecretToRef": _SECRET,
}
_CLAIM_SPEC: JsonObject = {
    **_COMPOSITION,
    "compositeDeletePolicy": {"type": "string", "enum": ["Background", "Foreground"], "default": "Background"},
    "resourceRef": {
        "type": "object",
        "required": ["apiVersion", "kind", "name"],
        "properties": {"apiVersion": _TEXT, "kind": _TEXT, "name": _TEXT},
    },
    "writeConnectionSecretToRef": _REFERENCE,
}
_CONDITIONS: JsonObject = {
    "type": "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["type"],
    "items": {
        "type": "object",
        "required": ["lastTransitionTime", "reason", "status", "type"],
        "properties": {
            "lastTransitionTime": {"type": "string", "format": "date-time"},
            "message": _TEXT,
            "observedGeneration": {"type": "integer", "format": "int64"},
            "reason": _TEXT,
            "status": _TEXT,
            "type": _TEXT,
        },
    },
}
_CONNECTION_DETAILS: JsonObject = {
    "type": "object",
    "properties": {"lastPublishedTime": {"type": "string", "format": "date-time"}},
}


def is_xrd(manifest: Any) -> bool:
    """True if a manifest is a CompositeResourceDefinition."""
    return isinstance(manifest, dict) and manifest.get("kind") == KIND and manifest.get("apiVersion") in API_VERSIONS


def generated_crds(xrd: JsonObject) -> list[JsonObject]:
    """Return the CRDs of the composite resource and, if the XRD names one, of the claim.

    Raise ValueError if the XRD is invalid.
    """
    spec = xrd.get("spec")
    if not isinstance(spec, dict) or not isinstance(spec.get("names"), dict) or not spec.get("versions"):
        raise ValueError("the CompositeResourceDefinition has no group, names and versions")
    if sum(version.get("referenceable") is True for version in spec["versions"]) != 1:
        raise ValueError("exactly one version of a CompositeResourceDefinition must be referenceable")
    # An XRD of v1 always describes a legacy composite resource, which is cluster-scoped and may have a claim.
    default_scope = "LegacyCluster" if xrd["apiVersion"].endswith("/v1") else "Namespaced"
    scope = str(spec.get("scope") or default_scope)
    legacy = scope == "LegacyCluster"
    own: JsonObject = _LEGACY_SPEC if legacy else {"crossplane": {"type": "object", "properties": _modern_spec()}}
    out = [_crd(spec, spec["names"], "Namespaced" if scope == "Namespaced" else "Cluster", own, legacy=legacy)]
    if legacy and isinstance(spec.get("claimNames"), dict):
        out.append(_crd(spec, spec["claimNames"], "Namespaced", _CLAIM_SPEC, legacy=True))
    return out


def _modern_spec() -> JsonObject:
    return {**_COMPOSITION, "resourceRefs": _RESOURCE_REFERENCES}


def _crd(spec: JsonObject, names: JsonObject, scope: str, own: JsonObject, *, legacy: bool) -> JsonObject:
    out: JsonObject = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{names.get('plural')}.{spec.get('group')}"},
        "spec": {
            "group": spec.get("group"),
            "scope": scope,
            "names": copy_json(names),
            "versions": [_version(version, own, legacy=legacy) for version in spec["versions"]],
        },
    }
    if spec.get("conversion"):
        out["spec"]["conversion"] = copy_json(spec["conversion"])
    return out


def _version(version: JsonObject, own: JsonObject, *, legacy: bool) -> JsonObject:
    schema: JsonObject = copy_json((version.get("schema") or {}).get("openAPIV3Schema") or {})
    schema["type"] = "object"
    properties = schema.setdefault("properties", {})
    schema.setdefault("required", ["spec"])
    status = {"conditions": _CONDITIONS, **({"connectionDetails": _CONNECTION_DETAILS} if legacy else {})}
    for name, added in (("spec", own), ("status", status)):
        section = properties.setdefault(name, {"type": "object"})
        # Fields of Crossplane replace fields of the author with the same name.
        section["properties"] = {**(section.get("properties") or {}), **copy_json(added)}
    return {
        "name": version.get("name"),
        "served": version.get("served", False),
        "storage": version.get("referenceable") is True,
        **({"deprecated": version["deprecated"]} if "deprecated" in version else {}),
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}},
    }
