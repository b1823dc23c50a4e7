"""The objects of a request, converted to the version that a webhook's or policy's rules match."""

from __future__ import annotations

from typing import Any, NamedTuple

from polykind import errors
from polykind.admission.attributes import Attributes, RequestResource
from polykind.apis import machinery
from polykind.apply import json_patch
from polykind.codec import json_codec
from polykind.contract import JsonObject
from polykind.golang.fmt import go_quote
from polykind.golang.json import json_type_name
from polykind.schema.object_meta import BadObjectMetaError


class VersionedAttributes(NamedTuple):
    """The objects of a request at one version of the resource (admission.VersionedAttributes in Go)."""

    version: str
    """The apiVersion of the resource. Its group differs from the request's if two groups serve the same objects."""
    api_version: str
    """The apiVersion of the objects, which is autoscaling/v1 for a Scale."""
    obj: JsonObject | None
    old: JsonObject | None


def unconverted(attributes: Attributes) -> VersionedAttributes:
    """Return the objects of the request without converting them."""
    return VersionedAttributes(
        attributes.resource.api_version, attributes.resource.kind_version, attributes.obj, attributes.old
    )


async def convert_attributes(attributes: Attributes, version: str) -> VersionedAttributes:
    """Convert the objects of the request to an apiVersion. Raise the converter's APIError if the conversion fails."""
    resource = attributes.resource
    if version == resource.api_version:
        return unconverted(attributes)
    if resource.subresource == "scale":
        # A Scale needs no conversion, because it is the same at every version of its resource.
        return unconverted(attributes)._replace(version=version)
    obj, old = [
        await convert_object(attributes, one, version) if one is not None else None
        for one in (attributes.obj, attributes.old)
    ]
    return VersionedAttributes(version, version, obj, old)


async def convert_object(attributes: Attributes, obj: JsonObject, api_version: str) -> JsonObject:
    """Convert one object. Raise UnknownReasonError if the version is not served."""
    converted = await attributes.convert(obj, api_version)
    if converted is None:
        plural = attributes.resource.plural
        raise errors.UnknownReasonError(f"unable to convert to {api_version}, Resource={plural}: unknown kind")
    return converted


def conversion_error(resource: RequestResource, obj: JsonObject) -> str:
    """Return the reason why a mutated object cannot be converted back to the request's version, or "" if it can."""
    group, _, version = (obj.get("apiVersion") or "").rpartition("/")
    if obj.get("apiVersion") in resource.equivalents:
        return ""
    if group != resource.group:
        kind, api_version = f"{group}/{version}, Kind={obj.get('kind')}", go_quote(resource.kind_version)
        return f"{kind} is unstructured and is not suitable for converting to {api_version}"
    if version not in resource.versions:
        return f"request to convert CR from an invalid group/version: {group}/{version}"
    return ""


def decode_patched(attributes: Attributes, patched: Any) -> JsonObject:
    """Return a copy of a patched object. Raise InternalError if it is not an object or lacks apiVersion or kind."""
    if not isinstance(patched, dict):
        raise errors.InternalError(json_patch.NOT_AN_OBJECT % json_type_name(patched))
    obj: JsonObject = json_codec.decode(json_codec.encode(patched))
    try:
        api_version, kind = json_codec.read_type_meta(obj)
    except errors.BadRequestError as error:
        raise errors.InternalError(error.message) from None
    if attributes.implied_type:
        obj["apiVersion"] = api_version or attributes.resource.kind_version
        obj["kind"] = kind or attributes.resource.kind
    elif not kind:
        raise errors.InternalError(f"Object 'Kind' is missing in '{json_codec.encode(patched).decode()}'")
    return obj


def apply_defaults(attributes: Attributes, obj: JsonObject) -> JsonObject:
    """Set the defaults of a mutated object. Raise InternalError if the object cannot be decoded."""
    try:
        return attributes.default(obj)
    except errors.UnknownReasonError:
        raise
    except (machinery.UndecodableObjectError, BadObjectMetaError) as error:
        raise errors.InternalError(error.detail) from None
    except errors.APIError as error:
        raise errors.InternalError(error.message) from None
