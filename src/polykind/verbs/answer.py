"""Answers in the form the client asked for: JSON, YAML or protobuf, whole objects, Tables or metadata only."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace

from polykind.apis.machinery.protobuf_writer import encode_message
from polykind.apis.meta.types import PARTIAL_OBJECT_METADATA, STATUS
from polykind.codec import json_codec, negotiation, partial_metadata, yaml_codec
from polykind.codec.negotiation import ResponseFormat, Transform
from polykind.codec.protobuf_envelope import encode_envelope, encode_list, encode_object
from polykind.codec.table import TableFormat
from polykind.contract import JsonObject
from polykind.http.messages import JSON, Response
from polykind.http.options import include_object
from polykind.verbs.context import RequestContext

_YAML = b"application/yaml"
_PROTOBUF = b"application/vnd.kubernetes.protobuf"
_NUMBERS = {"v1": (1, 2), "v1beta1": (2, 1)}
"""The fields of a PartialObjectMetadataList by version: metadata and items."""
_GZIP = ((b"Content-Encoding", b"gzip"), (b"Vary", b"Accept-Encoding"))
_SLICE = 200
"""Objects handled before others get their turn on the loop."""

Encode = Callable[[JsonObject], bytes]


def negotiated(
    call: RequestContext, transforms: frozenset[Transform] = negotiation.OBJECT_TRANSFORMS
) -> ResponseFormat:
    """The form that an object or a list is to be answered in."""
    accept = call.request.header(b"accept")
    if call.version.is_builtin:
        negotiation.check_names_media_type(accept, streams=call.request.method == "GET" and not call.name)
    accepted = negotiation.negotiate(accept, offers=call.version.media, transforms=transforms)
    if negotiation.is_pretty(call.query, call.request.header(b"user-agent")):
        return replace(accepted, pretty=True)
    return accepted


def plain(accepted: ResponseFormat) -> bool:
    """Whether stored bytes can be sent as they are."""
    return accepted.media == "json" and accepted.as_kind is None and not accepted.pretty


def object_answer(
    call: RequestContext, accepted: ResponseFormat, status: int, data: bytes, table: TableFormat | None = None
) -> Response:
    """One object; as a Table by its resource's columns, or by those of `table`, if it is another kind's."""
    if plain(accepted):
        body = data + b"\n"
        if len(body) > negotiation.GZIP_ABOVE:
            return compressed(call, Response(status, body))
        return Response(status, body)
    obj = _object(data)
    if accepted.as_kind == "Table":
        include = _include(call)
        obj = (table or call.version.representer.table).table(
            [obj],
            {"resourceVersion": obj["metadata"].get("resourceVersion", "")},
            call.backend.clock.now(),
            include=include,
            version=accepted.as_version,
        )
        return _encoded(call, accepted, status, obj, json_codec.encode_ordered)
    if accepted.as_kind == "PartialObjectMetadata":
        obj = partial_metadata.partial_object(obj, accepted.as_version)
        if accepted.media == "protobuf":
            return _protobuf(call, encode_object(obj, PARTIAL_OBJECT_METADATA), status)
        return _encoded(call, accepted, status, obj, json_codec.encode_ordered)
    if accepted.as_kind is not None:
        raise partial_metadata.not_a_list_error("*v1.Scale" if table is not None else call.version.object_type)
    if accepted.media == "protobuf":
        version = call.version
        return _protobuf(
            call, encode_envelope(version.api_version, version.resource.kind, version.codec.to_message(obj)), status
        )
    return _encoded(call, accepted, status, obj, json_codec.encode if table is None else json_codec.encode_ordered)


def status_answer(call: RequestContext, accepted: ResponseFormat, status: JsonObject) -> Response:
    """A Status: its keys keep the order they are given in."""
    if accepted.media == "protobuf":
        return _protobuf(call, encode_object(status, STATUS))
    return _encoded(call, accepted, 200, status, json_codec.encode_ordered)


def _protobuf(call: RequestContext, body: bytes, status: int = 200) -> Response:
    return compressed(call, Response(status, body, _PROTOBUF))


def _encoded(
    call: RequestContext,
    accepted: ResponseFormat,
    status: int,
    value: JsonObject,
    encode: Encode = json_codec.encode,
) -> Response:
    if accepted.media == "yaml":
        return compressed(call, Response(status, yaml_codec.encode(value), _YAML))
    encoded = encode(value)
    if accepted.pretty:
        return compressed(call, Response(status, json_codec.indent(encoded)))
    return compressed(call, Response(status, encoded + b"\n"))


def compressed(call: RequestContext, response: Response) -> Response:
    """Compress a long body for a client that takes gzip."""
    body = response.body if isinstance(response.body, bytes) else b""
    if negotiation.wants_gzip(call.request.header(b"accept-encoding"), len(body)):
        return Response(response.status, gzip.compress(body, 1), response.content_type, response.headers + _GZIP)
    return response


async def list_answer(
    call: RequestContext, accepted: ResponseFormat, items: Sequence[bytes], metadata: JsonObject
) -> Response:
    """A list of objects, as long as it may be, without holding the loop."""
    version = call.version
    if plain(accepted):
        return await _in_parts(call, version.representer.list_parts(list(items), metadata))
    if accepted.as_kind == "PartialObjectMetadata":
        raise partial_metadata.is_a_list_error(version.list_type)
    if accepted.media == "protobuf":
        return await _protobuf_list(call, accepted, items, metadata)
    if accepted.as_kind == "Table":
        table, now, include = version.representer.table, call.backend.clock.now(), _include(call)
        value = table.table([], metadata, now, include=include, version=accepted.as_version)
        members = [table.row(o, now, include, accepted.as_version) async for o in _objects(items)]
        return await _long(call, accepted, value, "rows", members, json_codec.encode_ordered)
    if accepted.as_kind is not None:
        value = partial_metadata.partial_list([], metadata, accepted.as_version)
        members = [partial_metadata.partial_object(o, accepted.as_version) async for o in _objects(items)]
        return await _long(call, accepted, value, "items", members, json_codec.encode_ordered)
    value = {"apiVersion": version.api_version, "kind": version.resource.list_kind, "metadata": metadata, "items": []}
    members = [version.representer.as_item(o) async for o in _objects(items)]
    return await _long(call, accepted, value, "items", members, json_codec.encode)


async def _long(
    call: RequestContext,
    accepted: ResponseFormat,
    value: JsonObject,
    key: str,
    members: list[JsonObject],
    encode: Encode,
) -> Response:
    """A document with a list in it that may be long, under a key that the document has nowhere else."""
    if members:
        value[key] = members
    if accepted.media == "yaml":
        body = await asyncio.to_thread(yaml_codec.encode, value)
        return await _in_parts(call, [body], _YAML)
    if members:
        value[key] = []
    empty = b'"%b":[]' % key.encode()
    head, found, tail = encode(value).partition(empty)
    parts = [head + found.removesuffix(b"]")]
    for start in range(0, len(members), _SLICE):
        chunk = b",".join([encode(m) for m in members[start : start + _SLICE]])
        parts.append(b"," + chunk if start else chunk)
        await asyncio.sleep(0)
    parts.append(b"]" + tail if found else tail)
    if accepted.pretty:
        return await _in_parts(call, [await asyncio.to_thread(lambda: json_codec.indent(b"".join(parts)))])
    parts.append(b"\n")
    return await _in_parts(call, parts)


async def _in_parts(call: RequestContext, parts: list[bytes], content_type: bytes = JSON) -> Response:
    """A body in parts, compressed for a client that takes gzip."""
    if negotiation.wants_gzip(call.request.header(b"accept-encoding"), sum(map(len, parts))):
        body = await asyncio.to_thread(lambda: gzip.compress(b"".join(parts), 1))
        return Response(200, body, content_type, _GZIP)
    return Response(200, parts, content_type)


async def _protobuf_list(
    call: RequestContext, accepted: ResponseFormat, items: Sequence[bytes], metadata: JsonObject
) -> Response:
    """A list in protobuf, of whole objects or of their metadata; an object may be large, so each has its turn."""
    version, messages = call.version, []
    for data in items:
        obj = _object(data)
        if accepted.as_kind is None:
            messages.append(version.codec.to_message(obj))
        else:
            messages.append(encode_message(partial_metadata.partial_object(obj), PARTIAL_OBJECT_METADATA))
        await asyncio.sleep(0)
    if accepted.as_kind is None:
        return _protobuf(call, encode_list(version.api_version, version.resource.list_kind, metadata, messages))
    api_version, numbers = f"{accepted.as_group}/{accepted.as_version}", _NUMBERS[accepted.as_version]
    return _protobuf(call, encode_list(api_version, accepted.as_kind, metadata, messages, numbers=numbers))


async def _objects(items: Sequence[bytes]) -> AsyncIterator[JsonObject]:
    for index, data in enumerate(items):
        if index % _SLICE == _SLICE - 1:
            await asyncio.sleep(0)
        yield _object(data)


def _include(call: RequestContext) -> str:
    return include_object(call.query)


def _object(data: bytes) -> JsonObject:
    value = json_codec.decode(data)
    if not isinstance(value, dict):
        raise AssertionError("an object's bytes hold no object")
    return value
