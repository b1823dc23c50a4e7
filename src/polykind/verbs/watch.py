"""watch: stream the changes of a resource, as a chunked response or over a WebSocket."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from functools import partial

from polykind import errors
from polykind.cache.cached_object import Representation
from polykind.cache.resource_cache import ObjectChange
from polykind.cache.watch_channel import WatchChannel
from polykind.cache.watcher import Watcher
from polykind.codec import negotiation
from polykind.http.framing import Framing
from polykind.operations.operation import Operation
from polykind.operations.responses import Response, Sink, Stream
from polykind.verbs.metadata import parse_resource_version
from polykind.verbs.respond import GZIP_HEADERS, load_table
from polykind.verbs.selection import RequestSelection, read_selection
from polykind.verbs.watch_encoding import JsonEncoder, encoder_for
from polykind.workers import INLINE_BYTES

_SLICE = 500
_MIN_TIMEOUT, _TIMEOUT_JITTER = 1800.0, 1800.0


async def watch(op: Operation) -> Response | Stream:
    queries, user = op.backend.watch_queries, op.client.name
    length = queries.begin(user, op.parameters)
    try:
        response = await _watch(op)
    except BaseException:
        queries.end(user, length)
        raise
    queries.end_with(response, user, length)
    return response


async def _watch(op: Operation) -> Response | Stream:
    accept = op.media.accept
    if op.version.is_builtin:
        negotiation.check_names_media_type(accept, streams=True)
    negotiation.negotiate(accept, offers=op.version.media)
    options, selection = await read_selection(op, watch=True)
    field_selector = options.field_selector
    if op.name and not field_selector.empty and field_selector.name != op.name:
        raise errors.BadRequestError("fieldSelector metadata.name doesn't match requested name")
    revision = parse_resource_version(options.resource_version, for_list=False)
    # The second negotiation excludes YAML: a list can be sent in YAML, but a stream cannot.
    response_format = negotiation.negotiate_watch(accept, offers=op.version.media)
    if response_format.as_kind == "Table":
        await load_table(op)
    encoder = encoder_for(op, response_format)
    if op.transport.is_websocket and (refused := op.transport.refusal()) is not None:
        return refused
    cache, backend = op.resource.cache, op.backend
    await backend.cache.wait_until_fresh(cache, op.revision_read)
    await selection.prepare_indexes()
    initial = options.send_initial_events
    if initial is None:
        initial = options.resource_version in ("", "0")
    try:
        if initial and revision > backend.cache.revision:
            await backend.cache.wait_for_revision(revision)
    except errors.RequestTimeoutError as error:
        return _complete(op, encoder, [encoder.error(error)])
    if not revision:
        revision = max(cache.revision, backend.cache.revision)
    timeout = float(options.timeout_seconds or 0) or _MIN_TIMEOUT + random.random() * _TIMEOUT_JITTER  # noqa: S311
    past: list[ObjectChange] = []
    if not initial:
        try:
            if revision < op.resource.watchable_since:
                raise errors.ExpiredError(f"too old resource version: {revision} ({op.resource.watchable_since})")
            past = await backend.cache.changes_since(cache, revision)
        except errors.ExpiredError as error:
            return _complete(op, encoder, [encoder.error(error)])
    # There is no await between reading the past changes and joining the channel, so no change is missed.
    streams_list = bool(options.send_initial_events and options.allow_watch_bookmarks)
    framing = _framing(op, encoder, streams_list=streams_list)
    channel = _join_channel(op, selection, encoder, framing)
    watcher = Watcher(channel, 0, options.allow_watch_bookmarks, timeout, backend.bookmark_interval, op.client.name)
    channel.join(watcher)
    if encoder.key is None:
        # Only the first event has the column headers, so later changes wait until the first events are encoded.
        channel.pause()
    sent: list[bytes] = []
    try:
        if initial:
            await _start_with_state(op, watcher, channel, selection, sent, end_bookmark=streams_list)
        else:
            await _start_with_past(op, watcher, channel, past, revision)
    except errors.APIError as error:
        # kube-apiserver has already sent the head of its response, so it sends the error as an event of the stream.
        channel.leave(watcher)
        return _complete(op, encoder, [*sent, encoder.error(error)])
    except BaseException:
        channel.leave(watcher)
        raise
    if watcher.has_initial_events() and encoder.unsupported:
        channel.leave(watcher)
        return _complete(op, encoder, [])
    channel.resume()
    headers = GZIP_HEADERS if framing.compresses else ()
    return op.transport.stream(watcher.start, watcher.on_end, encoder.content_type, headers)


def _complete(op: Operation, encoder: JsonEncoder, events: list[bytes]) -> Response | Stream:
    """Return the response of a watch that sends these encoded events and then ends."""
    if not op.transport.is_websocket:
        return Response(200, b"".join(events), encoder.content_type)

    def start(sink: Sink) -> None:
        sink.send(encoder.messages.frame(events))
        sink.finish()

    return op.transport.stream(start, lambda: None, encoder.content_type)


def _framing(op: Operation, encoder: JsonEncoder, *, streams_list: bool) -> Framing:
    if op.transport.is_websocket:
        return encoder.messages
    compressible = streams_list and op.backend.compresses_watch_lists
    accepted = compressible and negotiation.accepts_gzip(op.media.accept_encoding)
    return op.transport.framing(compressed=accepted)


def _join_channel(op: Operation, selection: RequestSelection, encoder: JsonEncoder, framing: Framing) -> WatchChannel:
    """Return the channel that all watches with the same version, selection, encoding and framing share."""
    resource, version = op.resource, op.version
    encoding = encoder.key if encoder.key is not None else id(encoder)
    sent = op.backend.metrics.watch_events.of(resource.group, version.version, resource.plural).add
    return resource.watch_channel(
        (version.version, selection.key, encoding, framing),
        lambda on_empty: WatchChannel(
            resource.cache, version.representer, selection, encoder, sent, on_empty, framing, selection.watch_query()
        ),
    )


async def _start_with_state(
    op: Operation,
    watcher: Watcher,
    channel: WatchChannel,
    selection: RequestSelection,
    sent: list[bytes],
    *,
    end_bookmark: bool,
) -> None:
    """Start the watch with an ADDED event for every object and, if `end_bookmark` is true, a bookmark after these
    events.

    If an object cannot be converted, raise the error; `sent` then has the events of the objects before it.
    """
    cache, representer = op.resource.cache, op.version.representer
    objects = selection.candidates()
    watcher.after = max(cache.revision, op.backend.cache.revision)
    try:
        representations = await representer.view_for_read(objects, op.notes.warn)
    except errors.APIError:
        for cached in objects:
            representation = await representer.view(cached)
            if selection.everything or selection.matches(representation):
                sent.append(channel.projection.event("ADDED", channel.encode_object(representation, 0)))
        raise
    selected = representations if selection.everything else []
    if not selection.everything:
        for start in range(0, len(representations), _SLICE):
            part = representations[start : start + _SLICE]
            if start:
                await op.lane.take_turn()
            selected += await op.lane.run_long_if(selection.expensive, _matching, selection, part)

    def encode(representation: Representation) -> bytes:
        return channel.projection.event("ADDED", channel.encode_object(representation, 0))

    limit = INLINE_BYTES - channel.projection.member_bytes

    def events() -> Iterator[bytes | Callable[[], bytes]]:
        for representation in selected:
            large = channel.projection.decodes and len(representation.data) > limit
            yield partial(encode, representation) if large else encode(representation)
        if end_bookmark:
            yield channel.projection.event("BOOKMARK", channel.projection.bookmark(watcher.after, True))

    watcher.initial_events = events()


async def _start_with_past(
    op: Operation, watcher: Watcher, channel: WatchChannel, past: list[ObjectChange], revision: int
) -> None:
    """Start the watch with the events of all changes since the client's revision."""
    watcher.after = max(revision, past[-1].revision if past else 0)
    objects = list(dict.fromkeys(cached for change in past for cached in channel.states_to_represent(change)))
    representations = await op.version.representer.view_many(objects)
    by_object = dict(zip(objects, representations, strict=True))

    def encode(change: ObjectChange) -> bytes | None:
        event = channel.event(change, by_object)
        if event is None:
            return None
        kind, representation, stamp = event
        return channel.projection.event(kind, channel.encode_object(representation, stamp))

    first, changes = None, iter(past)
    for index, change in enumerate(changes, 1):
        first = await op.lane.run_long_if(channel.needs_worker(change), encode, change)
        if first is not None:
            break
        if index % _SLICE == 0:
            await op.lane.take_turn()

    def events() -> Iterator[bytes | Callable[[], bytes | None]]:
        """Encode each event when the client has read the events before it, so that few of them are in memory."""
        if first is not None:
            yield first
        for change in changes:
            yield partial(encode, change) if channel.needs_worker(change) else encode(change) or b""

    watcher.initial_events = events()


def _matching(selection: RequestSelection, representations: list[Representation]) -> list[Representation]:
    return [representation for representation in representations if selection.matches(representation)]
