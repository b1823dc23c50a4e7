"""Definitions on the wire: decoded into the v1 shape they are kept in, encoded at the version that is asked for."""

from __future__ import annotations

from typing import Literal

from polykind.apis.apiextensions.types import CUSTOM_RESOURCE_DEFINITION_V1, CUSTOM_RESOURCE_DEFINITION_V1BETA1
from polykind.apis.machinery import decode as decode_typed
from polykind.apis.meta.types import OBJECT_META
from polykind.contract import JsonObject
from polykind.crd import api_conversion
from polykind.crd.defaults import default_v1, default_v1beta1
from polykind.crd.equality import equal_specs
from polykind.crd.validation import validate_internal_create
from polykind.errors import InvalidError

Version = Literal["v1", "v1beta1"]

_ORDER = [field.name for field in CUSTOM_RESOURCE_DEFINITION_V1.fields]
_META_ORDER = [field.name for field in OBJECT_META.fields]

GROUP = "apiextensions.k8s.io"
KIND = "CustomResourceDefinition"


def decode(body: object, version: Version, report: bool) -> tuple[JsonObject, list[str]]:
    """A definition as the reference's types read it, with defaults, and the paths of fields that are unknown.

    Raises BadRequest for what does not fit the types. A v1beta1 definition that v1 has no shape for is always against
    the rules; it is refused here with all that is wrong with it.
    """
    if version == "v1":
        crd, unknown = decode_typed(body, CUSTOM_RESOURCE_DEFINITION_V1, report=report)
        default_v1(crd)
        crd["spec"]["conversion"] = api_conversion.normalize_conversion(crd["spec"]["conversion"])
        if crd["spec"]["versions"]:
            api_conversion.share_version_settings(crd["spec"]["versions"])
        return crd, unknown
    crd, unknown = decode_typed(body, CUSTOM_RESOURCE_DEFINITION_V1BETA1, report=report)
    default_v1beta1(crd)
    inner = api_conversion.v1beta1_to_internal(crd["spec"])
    kept = api_conversion.from_v1beta1(crd)
    if not equal_specs(api_conversion.to_internal(kept["spec"]), inner):
        errors = validate_internal_create(
            {**kept, "spec": {**kept["spec"], "versions": inner["versions"]}}, inner, version
        )
        if errors:
            raise InvalidError(KIND, GROUP, kept["metadata"].get("name", ""), errors)
    return kept, unknown


def encode(crd: JsonObject, version: Version) -> JsonObject:
    """A kept definition as a version of the API serves it, keys in the order of its types."""
    shown = crd if version == "v1" else api_conversion.to_v1beta1(crd)
    meta = shown["metadata"]
    out = {key: shown[key] for key in _ORDER if key in shown}
    out["metadata"] = {key: meta[key] for key in _META_ORDER if key in meta}
    return out
