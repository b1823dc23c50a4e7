"""Answers in the form the client asked for: JSON or YAML, whole objects, Tables or metadata only."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace

import orjson

from polykind.contract import JsonObject
from polykind.verbs.call import Call
from polykind.wire import codec, negotiation, partial, yamlcodec
from polykind.wire.negotiation import Accepted
from polykind.wire.options import include_object
from polykind.wire.response import JSON, Response
from polykind.wire.table import TableFormat

_ONE = frozenset(t for t in negotiation.OBJECTS if t[2] != "PartialObjectMetadataList")
_MANY = frozenset(t for t in negotiation.OBJECTS if t[2] != "PartialObjectMetadata")
_YAML = b"application/yaml"
_GZIP = ((b"Content-Encoding", b"gzip"), (b"Vary", b"Accept-Encoding"))
_SLICE = 200
"""Objects handled before others get their turn on the loop."""


def accepted_object(call: Call) -> Accepted:
    """The form that one object is to be answered in."""
    return _pretty(call, negotiation.negotiate(call.request.header(b"accept"), transforms=_ONE))


def accepted_list(call: Call) -> Accepted:
    return _pretty(call, negotiation.negotiate(call.request.header(b"accept"), transforms=_MANY))


def accepted_watch(call: Call) -> Accepted:
    return negotiation.negotiate_watch(call.request.header(b"accept"), transforms=_ONE)


def _pretty(call: Call, accepted: Accepted) -> Accepted:
    if negotiation.is_pretty(call.query, call.request.header(b"user-agent")):
        return replace(accepted, pretty=True)
    return accepted


def plain(accepted: Accepted) -> bool:
    """Whether stored bytes can be sent as they are."""
    return accepted.media == "json" and accepted.as_kind is None and not accepted.pretty


def object_answer(
    call: Call, accepted: Accepted, status: int, data: bytes, table: TableFormat | None = None
) -> Response:
    """One object; as a Table by its resource's columns, or by those of `table`."""
    if plain(accepted):
        body = data + b"\n"
        if len(body) > negotiation.GZIP_ABOVE:
            return compressed(call, Response(status, body))
        return Response(status, body)
    obj = _object(data)
    if accepted.as_kind == "Table":
        include = _include(call)
        obj = (table or call.version.table).table(
            [obj],
            {"resourceVersion": obj["metadata"].get("resourceVersion", "")},
            call.api.clock.now(),
            include=include,
            version=accepted.as_version,
        )
    elif accepted.as_kind == "PartialObjectMetadata":
        obj = partial.partial_object(obj, accepted.as_version)
    return _encoded(call, accepted, status, obj)


def status_answer(call: Call, accepted: Accepted, status: JsonObject) -> Response:
    """A Status: its keys keep the order they are given in."""
    return _encoded(call, accepted, 200, status, orjson.dumps(status))


def _encoded(call: Call, accepted: Accepted, status: int, value: JsonObject, data: bytes | None = None) -> Response:
    if accepted.media == "yaml":
        return compressed(call, Response(status, yamlcodec.encode(value), _YAML))
    encoded = codec.encode(value) if data is None else data
    if accepted.pretty:
        return compressed(call, Response(status, codec.indent(encoded)))
    return compressed(call, Response(status, encoded + b"\n"))


def compressed(call: Call, response: Response) -> Response:
    """Compress a long body for a client that takes gzip."""
    body = response.body if isinstance(response.body, bytes) else b""
    if negotiation.wants_gzip(call.request.header(b"accept-encoding"), len(body)):
        return Response(response.status, gzip.compress(body, 1), response.content_type, response.headers + _GZIP)
    return response


async def list_answer(call: Call, accepted: Accepted, items: Sequence[bytes], metadata: JsonObject) -> Response:
    """A list of objects, as long as it may be, without holding the loop."""
    version = call.version
    if plain(accepted):
        parts = version.list_parts(list(items), metadata)
        size = sum(map(len, parts))
        if negotiation.wants_gzip(call.request.header(b"accept-encoding"), size):
            body = await asyncio.to_thread(lambda: gzip.compress(b"".join(parts), 1))
            return Response(200, body, JSON, _GZIP)
        return Response(200, parts)
    if accepted.as_kind == "Table":
        return _encoded(call, accepted, 200, await _table(call, accepted, items, metadata))
    if accepted.as_kind == "PartialObjectMetadataList":
        objects = [o async for o in _objects(items)]
        return _encoded(call, accepted, 200, partial.partial_list(objects, metadata, accepted.as_version))
    value = {
        "apiVersion": version.api_version,
        "kind": version.kind.list_kind,
        "metadata": metadata,
        "items": [o async for o in _objects(items)],
    }
    return _encoded(call, accepted, 200, value)


async def _objects(items: Sequence[bytes]) -> AsyncIterator[JsonObject]:
    for index, data in enumerate(items):
        if index % _SLICE == _SLICE - 1:
            await asyncio.sleep(0)
        yield _object(data)


async def _table(call: Call, accepted: Accepted, items: Sequence[bytes], metadata: JsonObject) -> JsonObject:
    objects = [o async for o in _objects(items)]
    return call.version.table.table(
        objects, metadata, call.api.clock.now(), include=_include(call), version=accepted.as_version
    )


def _include(call: Call) -> str:
    return include_object(call.query)


def _object(data: bytes) -> JsonObject:
    value = codec.decode(data)
    if not isinstance(value, dict):
        raise AssertionError("an object's bytes hold no object")
    return value
