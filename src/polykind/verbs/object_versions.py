"""ObjectVersions: one object at all served versions of its resource, for clients that compare versions.

A client asks for it with the media type `application/json;as=ObjectVersions;g=polykind.dev;v=v1`, for a read or for a
dry run of an update or a patch. It needs no permission besides that of the request itself: permissions do not depend on
the version.
"""

from __future__ import annotations

from typing import Final

from polykind.cache.cached_object import CachedObject
from polykind.codec import json_codec
from polykind.contract import JsonObject
from polykind.errors import APIError, RequestTooLargeError
from polykind.resources.resource import Resource, ServedVersion

_MAX_BYTES: Final = 16 * 1024 * 1024
"""The size of all versions together. Versions that would exceed it have an error instead of an object."""
_MAX_VERSIONS: Final = 64
"""The number of versions that one request converts to. Further versions have an error."""


async def encode_versions(resource: Resource, cached: CachedObject) -> bytes:
    """Return the JSON of an object at all served versions. A version that cannot be shown has an error instead."""
    items, size = [], 0
    for number, (name, version) in enumerate(list(resource.versions.items())):
        item = await _item(version, cached, max(0, _MAX_BYTES - size) if number < _MAX_VERSIONS else -1)
        size += len(item)
        items.append(b'{"version":%b,%b}' % (json_codec.encode(name), item))
    head = json_codec.encode({"apiVersion": "polykind.dev/v1", "kind": "ObjectVersions"})
    stored = json_codec.encode(resource.storage or cached.version)
    return b'%b,"storageVersion":%b,"items":[%b]}' % (head[:-1], stored, b",".join(items))


async def _item(version: ServedVersion, cached: CachedObject, room: int) -> bytes:
    try:
        if room < 0:
            raise RequestTooLargeError(f"one request shows at most {_MAX_VERSIONS} versions: read this one by itself")
        if version.unavailable:
            raise version.unavailable()
        data = (await version.representer.view(cached)).data
        if len(data) > room:
            raise RequestTooLargeError(f"all versions together have more than {_MAX_BYTES} bytes")
    except APIError as error:
        status: JsonObject = error.status()
        return b'"error":%b' % json_codec.encode(status)
    return b'"object":%b' % data
