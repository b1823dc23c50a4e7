"""A write told at the versions of its resource that webhooks want to be told at."""

from __future__ import annotations

from polykind import errors
from polykind.admission.admission_review import Shown
from polykind.admission.attributes import Attributes, Resource
from polykind.contract import JsonObject
from polykind.golang.fmt import go_quote


def own(asked: Attributes) -> Shown:
    """A write at the version of the request."""
    return Shown(asked.resource.version, asked.resource.kind_version, asked.obj, asked.old)


async def told_at(asked: Attributes, version: str) -> Shown:
    """A write at a version of its resource. Raises what a converter has to say, where objects cannot be converted."""
    resource = asked.resource
    if version == resource.version:
        return own(asked)
    if resource.subresource == "scale":
        # A Scale is the same for every version of what it scales.
        return own(asked)._replace(version=version)
    wanted = f"{resource.group}/{version}" if resource.group else version
    obj, old = [await converted(asked, one, wanted) if one is not None else None for one in (asked.obj, asked.old)]
    return Shown(version, wanted, obj, old)


def inconvertible(resource: Resource, obj: JsonObject) -> str:
    """Why an object cannot go back to the version of the request from the one that it states, "" if it can."""
    group, _, version = (obj.get("apiVersion") or "").rpartition("/")
    if group != resource.group:
        kind, wanted = f"{group}/{version}, Kind={obj.get('kind')}", go_quote(resource.kind_version)
        return f"{kind} is unstructured and is not suitable for converting to {wanted}"
    if version not in resource.versions:
        return f"request to convert CR from an invalid group/version: {group}/{version}"
    return ""


async def converted(asked: Attributes, obj: JsonObject, api_version: str) -> JsonObject:
    made = await asked.convert(obj, api_version)
    if made is None:
        resource = asked.resource
        raise errors.UnknownReasonError(f"unable to convert to {api_version}, Resource={resource.plural}: unknown kind")
    return made
