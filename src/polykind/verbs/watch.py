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
from polykind.http.framing import Framing, stream_framing
from polykind.http.messages import Response, Sink, Stream
from polykind.http.websocket import WebSocketStream, is_websocket, refusal
from polykind.verbs.context import RequestContext
from polykind.verbs.metadata import parse_resource_version
from polykind.verbs.respond import GZIP_HEADERS, load_table
from polykind.verbs.selection import RequestSelection, read_selection
from polykind.verbs.watch_encoding import JsonEncoder, encoder_for
from polykind.workers import INLINE_BYTES

_SLICE = 500
_MIN_TIMEOUT, _TIMEOUT_JITTER = 1800.0, 1800.0


async def watch(ctx: RequestContext) -> Response | Stream:
    accept = ctx.request.header(b"accept")
    if ctx.version.is_builtin:
        negotiation.check_names_media_type(accept, streams=True)
    negotiation.negotiate(accept, offers=ctx.version.media)
    options, selection = await read_selection(ctx, watch=True)
    field_selector = options.field_selector
    if ctx.name and not field_selector.empty and field_selector.name != ctx.name:
        raise errors.BadRequestError("fieldSelector metadata.name doesn't match requested name")
    revision = parse_resource_version(options.resource_version, for_list=False)
    # The second negotiation excludes YAML: a list can be sent in YAML, but a stream cannot.
    response_format = negotiation.negotiate_watch(accept, offers=ctx.version.media)
    if response_format.as_kind == "Table":
        await load_table(ctx)
    encoder = encoder_for(ctx, response_format)
    if is_websocket(ctx.request) and (refused := refusal(ctx.request)) is not None:
        return refused
    cache, backend = ctx.resource.cache, ctx.backend
    await backend.cache.wait_until_fresh(cache, ctx.revision_read)
    await selection.prepare_indexes()
    initial = options.send_initial_events
    if initial is None:
        initial = options.resource_version in ("", "0")
    try:
        if initial and revision > backend.cache.revision:
            await backend.cache.wait_for_revision(revision)
    except errors.RequestTimeoutError as error:
        return _complete(ctx, encoder, [encoder.error(error)])
    if not revision:
        revision = max(cache.revision, backend.cache.revision)
    timeout = float(options.timeout_seconds or 0) or _MIN_TIMEOUT + random.random() * _TIMEOUT_JITTER  # noqa: S311
    past: list[ObjectChange] = []
    if not initial:
        try:
            if revision < ctx.resource.watchable_since:
                raise errors.ExpiredError(f"too old resource version: {revision} ({ctx.resource.watchable_since})")
            past = await backend.cache.changes_since(cache, revision)
        except errors.ExpiredError as error:
            return _complete(ctx, encoder, [encoder.error(error)])
    # There is no await between reading the past changes and joining the channel, so no change is missed.
    streams_list = bool(options.send_initial_events and options.allow_watch_bookmarks)
    framing = _framing(ctx, encoder, streams_list=streams_list)
    channel = _join_channel(ctx, selection, encoder, framing)
    watcher = Watcher(channel, 0, options.allow_watch_bookmarks, timeout, backend.bookmark_interval, ctx.user.name)
    channel.join(watcher)
    if encoder.key is None:
        # Only the first event has the column headers, so later changes wait until the first events are encoded.
        channel.pause()
    sent: list[bytes] = []
    try:
        if initial:
            await _start_with_state(ctx, watcher, channel, selection, sent, end_bookmark=streams_list)
        else:
            await _start_with_past(ctx, watcher, channel, past, revision)
    except errors.APIError as error:
        # kube-apiserver has already sent the head of its response, so it sends the error as an event of the stream.
        channel.leave(watcher)
        return _complete(ctx, encoder, [*sent, encoder.error(error)])
    except BaseException:
        channel.leave(watcher)
        raise
    if watcher.has_initial_events() and encoder.unsupported:
        channel.leave(watcher)
        return _complete(ctx, encoder, [])
    channel.resume()
    if is_websocket(ctx.request):
        return WebSocketStream(ctx.request, watcher.start, watcher.on_end)
    headers = GZIP_HEADERS if framing.compresses else ()
    return Stream(watcher.start, watcher.on_end, encoder.content_type, headers)


def _complete(ctx: RequestContext, encoder: JsonEncoder, events: list[bytes]) -> Response | Stream:
    """Return the response of a watch that sends these encoded events and then ends."""
    if not is_websocket(ctx.request):
        return Response(200, b"".join(events), encoder.content_type)

    def start(sink: Sink) -> None:
        sink.send(encoder.messages.frame(events))
        sink.finish()

    return WebSocketStream(ctx.request, start, lambda: None)


def _framing(ctx: RequestContext, encoder: JsonEncoder, *, streams_list: bool) -> Framing:
    if is_websocket(ctx.request):
        return encoder.messages
    compressible = streams_list and ctx.backend.compresses_watch_lists
    accepted = compressible and negotiation.accepts_gzip(ctx.request.header(b"accept-encoding"))
    return stream_framing(ctx.request, compressed=accepted)


def _join_channel(
    ctx: RequestContext, selection: RequestSelection, encoder: JsonEncoder, framing: Framing
) -> WatchChannel:
    """Return the channel that all watches with the same version, selection, encoding and framing share."""
    resource, version = ctx.resource, ctx.version
    encoding = encoder.key if encoder.key is not None else id(encoder)
    sent = ctx.backend.metrics.watch_events.of(resource.group, version.version, resource.plural).add
    return resource.watch_channel(
        (version.version, selection.key, encoding, framing),
        lambda on_empty: WatchChannel(
            resource.cache, version.representer, selection, encoder, sent, on_empty, framing, selection.watch_query()
        ),
    )


async def _start_with_state(
    ctx: RequestContext,
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
    cache, representer = ctx.resource.cache, ctx.version.representer
    objects = selection.candidates()
    watcher.after = max(cache.revision, ctx.backend.cache.revision)
    try:
        representations = await representer.view_for_read(objects, ctx.request.notes.warn)
    except errors.APIError:
        for cached in objects:
            representation = await representer.view(cached)
            if selection.everything or selection.matches(representation):
                sent.append(channel.projection.event("ADDED", channel.encode_object(representation, 0)))
        raise
    selected = representations if selection.everything else []
    if not selection.everything:
        for start in range(0, len(representations), _SLICE):
            matching = partial(_matching, selection, representations[start : start + _SLICE])
            if start:
                await ctx.take_turn()
            selected += await ctx.compute(matching) if selection.expensive else matching()

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
    ctx: RequestContext, watcher: Watcher, channel: WatchChannel, past: list[ObjectChange], revision: int
) -> None:
    """Start the watch with the events of all changes since the client's revision."""
    watcher.after = max(revision, past[-1].revision if past else 0)
    objects = list(dict.fromkeys(cached for change in past for cached in channel.states_to_represent(change)))
    representations = await ctx.version.representer.view_many(objects)
    by_object = dict(zip(objects, representations, strict=True))

    def encode(change: ObjectChange) -> bytes | None:
        event = channel.event(change, by_object)
        if event is None:
            return None
        kind, representation, stamp = event
        return channel.projection.event(kind, channel.encode_object(representation, stamp))

    first, changes = None, iter(past)
    for index, change in enumerate(changes, 1):
        first = await ctx.compute(partial(encode, change)) if channel.needs_worker(change) else encode(change)
        if first is not None:
            break
        if index % _SLICE == 0:
            await ctx.take_turn()

    def events() -> Iterator[bytes | Callable[[], bytes | None]]:
        """Encode each event when the client has read the events before it, so that few of them are in memory."""
        if first is not None:
            yield first
        for change in changes:
            yield partial(encode, change) if channel.needs_worker(change) else encode(change) or b""

    watcher.initial_events = events()


def _matching(selection: RequestSelection, representations: list[Representation]) -> list[Representation]:
    return [representation for representation in representations if selection.matches(representation)]
