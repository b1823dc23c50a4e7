"""The last stage of a request: the response in JSON, YAML or protobuf, with whole objects, Tables or metadata only."""

from __future__ import annotations

import asyncio
import gzip
import logging
import zlib
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from msgspec.structs import replace

from polykind import errors
from polykind.apis.machinery.protobuf_envelope import encode_envelope, encode_object
from polykind.apis.meta.types import PARTIAL_OBJECT_METADATA, STATUS
from polykind.codec import json_codec, negotiation, partial_metadata, yaml_codec
from polykind.codec.json_indent import indent
from polykind.codec.negotiation import ResponseFormat, Transform
from polykind.codec.table import TableFormat
from polykind.contract import JsonObject
from polykind.operations.operation import Operation
from polykind.operations.options import WriteOptions, include_object
from polykind.operations.responses import JSON, Body, BodyStream, Header, Response, Sink, Stream, body_size, total_size
from polykind.resources.protobuf_messages import MetadataMessages, ObjectMessages
from polykind.verbs.protobuf_list import ProtobufList
from polykind.workers import INLINE_BYTES

log = logging.getLogger("polykind.list")

STREAM_ABOVE_BYTES = 1024 * 1024
"""A list whose objects are larger in total is sent while it is encoded, unless it is sent as it is stored."""
PROTOBUF_STREAM_ABOVE_BYTES = 16 * 1024 * 1024
"""A list in protobuf whose objects are larger in total is sent while it is encoded. This takes twice the time."""
_YAML = b"application/yaml"
_PROTOBUF = b"application/vnd.kubernetes.protobuf"
GZIP_HEADERS = ((b"Content-Encoding", b"gzip"), (b"Vary", b"Accept-Encoding"))
_SLICE = 200
_BATCH_BYTES = 32 * 1024
"""The maximum number of bytes that are encoded in one turn on the event loop."""
_YAML_BATCH_BYTES = INLINE_BYTES // 4
"""The same for YAML."""

Encode = Callable[[JsonObject], bytes]


def negotiate(op: Operation, transforms: frozenset[Transform] = negotiation.OBJECT_TRANSFORMS) -> ResponseFormat:
    """Return the format that the Accept header asks for. Raise NotAcceptableError if it is not supported."""
    accept = op.media.accept
    if op.version.is_builtin:
        negotiation.check_names_media_type(accept, streams=op.verb == "list")
    response_format = negotiation.negotiate(accept, offers=op.version.media, transforms=transforms)
    query = op.parameters
    # Do not parse a query that cannot have the parameter `pretty`.
    may_ask = "pretty" in query or "%" in query
    if negotiation.is_pretty(op.query if may_ask else {}, op.media.agent):
        return replace(response_format, pretty=True)
    return response_format


def wants_all_versions(response_format: ResponseFormat, options: WriteOptions) -> bool:
    """True if the client accepts the result at all served versions. Raise NotAcceptableError if it is no dry run."""
    if response_format.as_kind != negotiation.OBJECT_VERSIONS:
        return False
    if not options.dry_run:
        raise errors.NotAcceptableError(f"{negotiation.OBJECT_VERSIONS} is available for reads and dry runs only")
    return True


def _sends_stored_bytes(response_format: ResponseFormat) -> bool:
    """True if the response is the unchanged JSON of the representation."""
    return response_format.media == "json" and response_format.as_kind is None and not response_format.pretty


async def object_response(
    op: Operation, response_format: ResponseFormat, status: int, data: bytes, table: TableFormat | None = None
) -> Response:
    """Return a response with one object. `table` replaces the resource's columns, for example for a Scale."""
    if _sends_stored_bytes(response_format):
        if len(data) < negotiation.GZIP_ABOVE:
            return Response(status, data + b"\n")
        if negotiation.wants_gzip(op.media.accept_encoding, len(data)):
            return await op.lane.run_in_worker(lambda: _compress(op, Response(status, data + b"\n")))
        # Do not copy the object's bytes, so that responses to clients that read slowly share them.
        return Response(status, (data, b"\n"))
    if response_format.media == "protobuf" and response_format.as_kind in (None, PARTIAL_OBJECT_METADATA.kind):
        return await _protobuf_object(op, response_format, status, data)
    table_bytes = (await load_table(op)).row_bytes if response_format.as_kind == "Table" else 0
    return await op.lane.run_on(data, table_bytes, _encode_object, op, response_format, status, data, table)


async def _protobuf_object(op: Operation, response_format: ResponseFormat, status: int, data: bytes) -> Response:
    """Return a response with one object, or with its metadata, in protobuf."""
    messages: ObjectMessages | MetadataMessages
    if response_format.as_kind is None:
        op.notes.record_response(data)
        messages = ObjectMessages(op.version.codec)
        api_version, kind = op.version.api_version, op.resource.kind
    else:
        if op.notes.records_responses:
            partial_object = partial_metadata.partial_object(_decode(data), response_format.as_version)
            op.notes.record_response(json_codec.encode_ordered(partial_object))
        messages = MetadataMessages()
        api_version = f"{response_format.as_group}/{response_format.as_version}"
        kind = PARTIAL_OBJECT_METADATA.kind
    message = messages.known(data)
    if message is None:
        message = await op.lane.run_sized(len(data), messages.encode, data)
    return _protobuf_response(op, encode_envelope(api_version, kind, message), status)


async def load_table(op: Operation) -> TableFormat:
    """Return the printer columns of the request's version. Compile many columns in a worker thread."""
    representer = op.version.representer
    return await op.lane.run_long_if(representer.has_many_columns, lambda: representer.table)


def _encode_object(
    op: Operation, response_format: ResponseFormat, status: int, data: bytes, table: TableFormat | None
) -> Response:
    """Return a response with one object in a format that differs from the JSON in `data`, such as YAML or a Table."""
    obj = _decode(data)
    if response_format.as_kind == "Table":
        include = _include_object(op)
        obj = (table or op.version.representer.table).table(
            [obj],
            {"resourceVersion": obj["metadata"].get("resourceVersion", "")},
            op.backend.clock.now(),
            include=include,
            version=response_format.as_version,
        )
        return _encode_response(op, response_format, status, obj, json_codec.encode_ordered)
    if response_format.as_kind == "PartialObjectMetadata":
        obj = partial_metadata.partial_object(obj, response_format.as_version)
        return _encode_response(op, response_format, status, obj, json_codec.encode_ordered)
    if response_format.as_kind == negotiation.OBJECT_VERSIONS:
        return _encode_response(op, response_format, status, obj, json_codec.encode_ordered)
    if response_format.as_kind is not None:
        raise partial_metadata.not_a_list_error("*v1.Scale" if table is not None else op.version.object_type)
    return _encode_response(
        op, response_format, status, obj, json_codec.encode if table is None else json_codec.encode_ordered
    )


def status_response(op: Operation, response_format: ResponseFormat, status: JsonObject, code: int = 200) -> Response:
    """Return a response with a Status. The keys of the Status keep their order."""
    op.notes.record_status(status)
    if response_format.media == "protobuf":
        return _protobuf_response(op, encode_object(status, STATUS), code)
    return _encode_response(op, response_format, code, status, json_codec.encode_ordered)


def _protobuf_response(op: Operation, body: bytes, status: int = 200) -> Response:
    return _compress(op, Response(status, body, _PROTOBUF))


def _encode_response(
    op: Operation,
    response_format: ResponseFormat,
    status: int,
    value: JsonObject,
    encode: Encode = json_codec.encode,
) -> Response:
    if response_format.media == "yaml":
        return _compress(op, Response(status, yaml_codec.encode(value), _YAML))
    encoded = encode(value)
    if response_format.pretty:
        return _compress(op, Response(status, indent(encoded)))
    return _compress(op, Response(status, encoded + b"\n"))


def _compress(op: Operation, response: Response) -> Response:
    """Compress a long body if the client accepts gzip."""
    body = response.body if isinstance(response.body, bytes) else b""
    if negotiation.wants_gzip(op.media.accept_encoding, len(body)):
        return Response(response.status, gzip.compress(body, 1), response.content_type, response.headers + GZIP_HEADERS)
    return response


async def list_response(
    op: Operation, response_format: ResponseFormat, items: Sequence[bytes], metadata: JsonObject
) -> Response | Stream:
    """Return a response with a list of objects. A long list is encoded in slices, to not block the event loop."""
    version = op.version
    if _sends_stored_bytes(response_format):
        return await _parts_response(op, version.representer.list_parts(items, metadata))
    if response_format.as_kind == "PartialObjectMetadata":
        raise partial_metadata.is_a_list_error(version.list_type)
    if response_format.media == "protobuf":
        if op.notes.records_responses and response_format.as_kind is None:
            op.notes.record_response(b"".join(version.representer.list_parts(items, metadata)))
        return await _protobuf_list(op, response_format, items, metadata)
    if response_format.as_kind == "Table":
        table, now, include = await load_table(op), op.backend.clock.now(), _include_object(op)
        value = table.table([], metadata, now, include=include, version=response_format.as_version)
        rows = _Members(
            partial(table.row, now=now, include=include, version=response_format.as_version),
            partial(table.encode_row, now=now, include=include, version=response_format.as_version),
            json_codec.encode_ordered,
            table.row_bytes,
        )
        return await _long_list(op, response_format, value, "rows", items, rows)
    if response_format.as_kind is not None:
        value = partial_metadata.partial_list([], metadata, response_format.as_version)
        parts = _Members(
            partial(partial_metadata.partial_object, version=response_format.as_version),
            partial(_encode_partial, version=response_format.as_version),
            json_codec.encode_ordered,
        )
        return await _long_list(op, response_format, value, "items", items, parts)
    value = {"apiVersion": version.api_version, "kind": version.resource.list_kind, "metadata": metadata, "items": []}
    objects = _Members(version.representer.as_item, version.representer.encode_item, json_codec.encode)
    return await _long_list(op, response_format, value, "items", items, objects)


class _Members(NamedTuple):
    """The members of a list in a response: how each of them is computed from the JSON of an object."""

    member: Callable[[JsonObject], JsonObject]
    """Returns the member for a decoded object."""
    encode_member: Callable[[bytes], bytes]
    """Returns the member for the JSON of an object, in JSON."""
    encode_document: Encode
    """Encodes the document without its members."""
    extra_bytes: int = 0
    """The work for a member in addition to its object, as the number of bytes that take as long to encode."""


def _encode_partial(data: bytes, version: str) -> bytes:
    """Return an object as PartialObjectMetadata, in JSON."""
    encoded = partial_metadata.encode_partial(data, version)
    return encoded or json_codec.encode_ordered(partial_metadata.partial_object(_decode(data), version))


async def _long_list(
    op: Operation,
    response_format: ResponseFormat,
    value: JsonObject,
    key: str,
    items: Sequence[bytes],
    members: _Members,
) -> Response | Stream:
    """Return a response with a document whose field `key` is a long list with one member for each item."""
    if response_format.media == "yaml":
        parts, content_type = _yaml_list(op, value, key, items, members.member), _YAML
    else:
        parts, content_type = _json_list(op, value, key, items, members, pretty=response_format.pretty), JSON
    if total_size(items) <= STREAM_ABOVE_BYTES:
        return await _parts_response(op, [part async for part in parts], content_type)
    if negotiation.accepts_gzip(op.media.accept_encoding):
        return _streamed(_compressed(parts), content_type, GZIP_HEADERS)
    return _streamed(parts, content_type)


async def _json_list(
    op: Operation,
    value: JsonObject,
    key: str,
    items: Sequence[bytes],
    members: _Members,
    *,
    pretty: bool,
) -> AsyncIterator[bytes]:
    """Yield the parts of a list in JSON. Take a turn on the event loop for each part."""
    ending = b"" if pretty else b"\n"
    if items:
        value[key] = []
    document = members.encode_document(value)
    if pretty:
        document = indent(document)
    if not items:
        yield document + ending
        return
    empty = b'"%b": []' % key.encode() if pretty else b'"%b":[]' % key.encode()
    head, found, tail = document.partition(empty)
    opening, separator, closing = (b"[\n    ", b",\n    ", b"\n  ]") if pretty else (b"[", b",", b"]")
    yield head + found.removesuffix(b"[]") + opening
    before = b""
    for batch in _batches(items, members.extra_bytes):
        if before:
            await op.lane.take_turn()
        size = len(batch[0]) + members.extra_bytes if len(batch) == 1 else 0
        encoded = await op.lane.run_sized(size, _encode_batch, batch, members.encode_member, separator, pretty)
        yield before + encoded
        before = separator
    yield closing + tail + ending


async def _yaml_list(
    op: Operation,
    value: JsonObject,
    key: str,
    items: Sequence[bytes],
    member: Callable[[JsonObject], JsonObject],
) -> AsyncIterator[bytes]:
    """Yield the parts of a list in YAML, member by member. The keys of the document are sorted."""
    if not items:
        yield yaml_codec.encode(value)
        return
    before = {name: value[name] for name in value if name < key}
    after = {name: value[name] for name in value if name > key}
    yield (yaml_codec.encode(before) if before else b"") + b"%b:\n" % key.encode()
    part, batch_bytes = bytearray(), 0
    for data in items:
        if batch_bytes >= _YAML_BATCH_BYTES:
            await op.lane.take_turn()
            batch_bytes = 0
        batch_bytes += len(data)
        part += await op.lane.run_long_if(len(data) > _YAML_BATCH_BYTES, _encode_yaml_member, data, member)
        if len(part) >= _BATCH_BYTES:
            yield bytes(part)
            part.clear()
    yield bytes(part) + (yaml_codec.encode(after) if after else b"")


def _encode_yaml_member(data: bytes, member: Callable[[JsonObject], JsonObject]) -> bytes:
    return yaml_codec.encode([member(_decode(data))])


def _batches(items: Sequence[bytes], member_bytes: int) -> Iterator[Sequence[bytes]]:
    """Cut a list into batches that take a few milliseconds to encode. A large object is a batch of its own."""
    start, size = 0, 0
    for index, data in enumerate(items):
        if index > start and (size + len(data) + member_bytes > _BATCH_BYTES or index - start >= _SLICE):
            yield items[start:index]
            start, size = index, 0
        size += len(data) + member_bytes
    if start < len(items):
        yield items[start:]


def _encode_batch(
    batch: Sequence[bytes], encode_member: Callable[[bytes], bytes], separator: bytes, pretty: bool
) -> bytes:
    encoded = list(map(encode_member, batch))
    return separator.join([indent(item, 2) for item in encoded] if pretty else encoded)


async def _parts_response(op: Operation, parts: Body, content_type: bytes = JSON) -> Response | Stream:
    """Return a response with a body in parts, compressed if the client accepts gzip."""
    size = body_size(parts)
    if not negotiation.wants_gzip(op.media.accept_encoding, size):
        return Response(200, parts, content_type)
    if size > STREAM_ABOVE_BYTES:
        return _streamed(_compressed(_take_turns(op, parts)), content_type, GZIP_HEADERS)
    return Response(200, await asyncio.to_thread(_compress_parts, parts), content_type, GZIP_HEADERS)


def _compress_parts(parts: Body) -> list[bytes]:
    compressor = zlib.compressobj(1, wbits=31)
    compressed = [compressor.compress(part) for part in parts]
    return [part for part in (*compressed, compressor.flush()) if part]


async def _take_turns(op: Operation, parts: Body) -> AsyncIterator[bytes]:
    for part in parts:
        await op.lane.take_turn()
        yield part


async def _compressed(parts: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Compress a body part by part in a thread, so that neither form of it is in memory as a whole."""
    compressor = zlib.compressobj(1, wbits=31)
    async for part in parts:
        if compressed := await asyncio.to_thread(compressor.compress, part):
            yield compressed
    yield compressor.flush()


def _streamed(parts: AsyncIterator[bytes], content_type: bytes, headers: tuple[Header, ...] = ()) -> BodyStream:
    """Return a stream that sends each part when it is ready and the client has read the parts before it."""
    sending: list[asyncio.Task[None]] = []

    async def send(sink: Sink) -> None:
        try:
            async for part in parts:
                sink.send_part(part)
                await sink.drained()
            sink.finish()
        except ConnectionError:
            pass
        except Exception:
            log.exception("list: cannot encode a part of the response, closing the connection")
            sink.abort()

    def start(sink: Sink) -> None:
        sending.append(asyncio.get_running_loop().create_task(send(sink)))

    def on_end() -> None:
        for task in sending:
            if task is not asyncio.current_task():
                task.cancel()

    return BodyStream(start, on_end, content_type, headers)


async def _protobuf_list(
    op: Operation, response_format: ResponseFormat, items: Sequence[bytes], metadata: JsonObject
) -> Response | Stream:
    """Return a protobuf list of objects or of their metadata."""
    listed = ProtobufList(op, response_format, items, metadata)
    if total_size(items) <= PROTOBUF_STREAM_ABOVE_BYTES:
        return _protobuf_response(op, await listed.encode())
    if negotiation.accepts_gzip(op.media.accept_encoding):
        return _streamed(_compressed(listed.parts()), _PROTOBUF, GZIP_HEADERS)
    return _streamed(listed.parts(), _PROTOBUF)


def _include_object(op: Operation) -> str:
    return include_object(op.query)


def _decode(data: bytes) -> JsonObject:
    value = json_codec.decode(data)
    if not isinstance(value, dict):
        raise AssertionError("a representation is not a JSON object")
    return value
