"""watch: what happens to a resource from here on."""

from __future__ import annotations

import random
from collections.abc import Hashable, Iterator

from polykind import errors
from polykind.cache.resource_cache import ObjectChange
from polykind.cache.watch_channel import Projection, WatchChannel
from polykind.cache.watcher import Watcher
from polykind.codec import negotiation
from polykind.http.messages import Response, Stream
from polykind.http.options import ListOptions
from polykind.resources.resource import Resource
from polykind.verbs import revisions
from polykind.verbs.context import RequestContext
from polykind.verbs.projection import projection_for
from polykind.verbs.selected import Selected

_SHORTEST, _SPREAD = 1800.0, 1800.0


async def watch(call: RequestContext) -> Response | Stream:
    accept = call.request.header(b"accept")
    if call.version.is_builtin:
        negotiation.check_names_media_type(accept, streams=True)
    negotiation.negotiate(accept, offers=call.version.media)
    options = ListOptions.from_query(call.query, watch=True)
    selected = Selected(call, options)
    named = options.field_selector
    if call.name and not named.empty and named.name != call.name:
        raise errors.BadRequestError("fieldSelector metadata.name doesn't match requested name")
    revision = revisions.parse(options.resource_version, listing=False)
    # What can be listed cannot always be watched: yaml has no streams.
    projection = projection_for(call, negotiation.negotiate_watch(accept, offers=call.version.media))
    cache, api = call.resource.cache, call.backend
    await api.cache.wait_until_fresh(cache, call.asked)
    initial = options.send_initial_events
    if initial is None:
        initial = options.resource_version in ("", "0")
    try:
        if initial and revision > api.cache.revision:
            await api.cache.wait_for_revision(revision)
    except errors.RequestTimeoutError as error:
        return Response(200, projection.error(error), projection.content_type)
    if not revision:
        revision = max(cache.revision, api.cache.revision)
    timeout = float(options.timeout_seconds or 0) or _SHORTEST + random.random() * _SPREAD  # noqa: S311
    past: list[ObjectChange] = []
    if not initial:
        try:
            if revision < call.resource.watchable_since:
                raise errors.ExpiredError(f"too old resource version: {revision} ({call.resource.watchable_since})")
            past = await api.cache.changes_since(cache, revision)
        except errors.ExpiredError as error:
            return Response(200, projection.error(error), projection.content_type)
    # From here to the first await nothing else happens: no change can fall between the past and the present.
    channel = _channel(call, selected, projection)
    watcher = Watcher(channel, 0, options.allow_watch_bookmarks, timeout, api.bookmark_interval)
    channel.join(watcher)
    if projection.key is None:
        # What it tells once goes with the first event: what happens meanwhile must not take it.
        channel.pause()
    begun: list[bytes] = []
    try:
        if initial:
            told = bool(options.send_initial_events and options.allow_watch_bookmarks)
            await _begin_with_state(call, watcher, channel, selected, begun, told)
        else:
            await _begin_with_past(call, watcher, channel, past, revision)
    except errors.APIError as error:
        # By now the client is told in the stream, after what could be told before.
        channel.leave(watcher)
        return Response(200, b"".join([*begun, projection.error(error)]), projection.content_type)
    except BaseException:
        channel.leave(watcher)
        raise
    if watcher.has_initial_events() and projection.unsupported:
        channel.leave(watcher)
        return Response(200, b"", projection.content_type)
    channel.resume()
    return Stream(watcher.start, watcher.on_end, projection.content_type)


def _channel(call: RequestContext, selected: Selected, projection: Projection) -> WatchChannel:
    """The channel of this question: one for all who ask the same."""
    kind = call.resource
    shared = projection.key if projection.key is not None else id(projection)
    key = (call.version.version, selected.key, shared)
    channel = kind.channels.get(key)
    if channel is None:
        metrics = call.backend.metrics
        sent = metrics.watch_events.of(kind.group, call.version.version, kind.plural).add
        channel = WatchChannel(
            kind.cache, call.version.representer, selected, projection, sent, lambda: _forget(kind, key)
        )
        kind.channels[key] = channel
    return channel


async def _begin_with_state(
    call: RequestContext, watcher: Watcher, channel: WatchChannel, selected: Selected, begun: list[bytes], told: bool
) -> None:
    """ADDED for every object there is; if it is to be `told`, a bookmark for the end of them.

    If one cannot be shown, those before it are in `begun`.
    """
    cache = call.resource.cache
    entries = [e for e in selected.entries() if selected.may_match(e)]
    watcher.after = max(cache.revision, call.backend.cache.revision)
    try:
        forms = await call.version.representer.view_many(entries)
    except errors.APIError:
        for entry in entries:
            form = await call.version.representer.view(entry)
            if selected.everything or selected.matches(form):
                begun.append(channel.projection.event("ADDED", channel.encode_object(form, 0)))
        raise
    chosen = [f for f in forms if selected.everything or selected.matches(f)]

    def added() -> Iterator[bytes]:
        for form in chosen:
            yield channel.projection.event("ADDED", channel.encode_object(form, 0))
        if told:
            yield channel.projection.event("BOOKMARK", channel.projection.bookmark(watcher.after, True))

    watcher.initial_events = added()


async def _begin_with_past(
    call: RequestContext, watcher: Watcher, channel: WatchChannel, past: list[ObjectChange], revision: int
) -> None:
    """What has happened since the revision that the client has seen."""
    watcher.after = max(revision, past[-1].revision if past else 0)
    entries = list(dict.fromkeys(e for o in past for e in channel.states_to_represent(o)))
    made = dict(zip(entries, await call.version.representer.view_many(entries), strict=True))
    events = []
    for occurrence in past:
        event = channel.event(occurrence, made)
        if event is not None:
            kind, form, stamp = event
            events.append(channel.projection.event(kind, channel.encode_object(form, stamp)))
    watcher.initial_events = events


def _forget(kind: Resource, key: Hashable) -> None:
    kind.channels.pop(key, None)
