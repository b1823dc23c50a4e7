"""list: the objects of a resource at the version asked for, whole or page by page."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import NamedTuple

from polykind import errors
from polykind.cache.cached_object import CachedObject, Representation, parse_stored
from polykind.cache.watch_cache import resource_version_too_large
from polykind.contract import CompactedError, FutureRevisionError, JsonObject
from polykind.http.messages import Response
from polykind.http.options import ListOptions
from polykind.verbs import answer, continuation, revisions
from polykind.verbs.context import RequestContext
from polykind.verbs.selected import Selected

_SLICE = 500
_IN_VAIN = 16
"""Of so many objects looked at, one more is converted at a time."""


async def list_(call: RequestContext) -> Response:
    accepted = answer.negotiated(call)
    options = ListOptions.from_query(call.query)
    items, metadata = await collect(call, options, Selected(call, options))
    return await answer.list_answer(call, accepted, [form.data for _, form in items], metadata)


class _Page(NamedTuple):
    """Entries with their forms; if more are behind them, the key of the last, and how many that are if it is told."""

    items: list[tuple[CachedObject, Representation]]
    last: str = ""
    remaining: int = 0


async def collect(
    call: RequestContext, options: ListOptions, selected: Selected
) -> tuple[list[tuple[CachedObject, Representation]], JsonObject]:
    """The selected entries with their forms, and the list's metadata."""
    limit, asked = max(options.limit, 0), 0
    if options.continue_:
        revision, after = continuation.decode(options.continue_, call, options.resource_version)
    else:
        asked = revisions.parse(options.resource_version, listing=True)
        revision, after = 0, ""
        # With a limit, a resourceVersion that is not qualified means exactly that one, unless a single object is read.
        match = options.resource_version_match
        if asked and (match == "Exact" or (limit and not match and not selected.single)):
            revision = asked
    if options.resource_version == "0":
        limit = 0
    page: _Page | None = None
    if revision:
        if await _past(call, revision):
            page = await _past_page(call, selected, revision, after, limit)
    else:
        if asked:
            await call.backend.cache.wait_for_revision(asked)
        page = await _meanwhile(call, selected, after, limit)
    # No more than what was seen when the page was begun, or found unchanged: watches go on from there.
    at = revision or _seen(call)
    if page is None:
        page = await _current(call, selected, after, limit)
    token = continuation.encode(call, at, page.last) if page.last else ""
    return page.items, call.version.representer.list_metadata(at, token, page.remaining)


def _seen(call: RequestContext) -> int:
    return max(call.resource.cache.revision, call.backend.cache.revision)


async def _meanwhile(call: RequestContext, selected: Selected, after: str, limit: int) -> _Page | None:
    """Wait until everything is in the cache that was written before; what there is now is collected meanwhile.

    None if that has changed by then, or if nobody had to be asked.
    """
    cache = call.resource.cache
    if call.asked is None or not cache.loaded:
        await call.backend.cache.wait_until_fresh(cache, call.asked)
        return None
    seen = _seen(call)
    page = await _current(call, selected, after, limit)
    await call.backend.cache.wait_until_fresh(cache, call.asked)
    return page if cache.last_change <= seen and cache.window_start <= seen else None


def _is_short(selected: Selected, limit: int) -> bool:
    """Whether it is a page of everything: no more need be looked at than is shown."""
    return limit > 0 and selected.everything and selected.name is None


async def _current(call: RequestContext, selected: Selected, after: str, limit: int) -> _Page:
    """A page of what the cache holds."""
    cache = call.resource.cache
    if not _is_short(selected, limit):
        return await _page(call, selected, selected.entries(after), limit)
    entries = cache.snapshot(selected.namespace, after, limit)
    behind = cache.remaining(selected.namespace, entries[-1].key) if len(entries) == limit else 0
    return await _short_page(call, selected, entries, behind)


async def _past_page(call: RequestContext, selected: Selected, revision: int, after: str, limit: int) -> _Page:
    """A page of what was there at a revision."""
    if not _is_short(selected, limit):
        entries, _ = await _past_entries(call, selected, revision, after, 0)
        return await _page(call, selected, entries, limit)
    return await _short_page(call, selected, *await _past_entries(call, selected, revision, after, limit))


async def _past(call: RequestContext, revision: int) -> bool:
    """Whether a revision must be read from the store: the resource has changed since."""
    cache, api = call.resource.cache, call.backend
    if revision > api.cache.revision:
        await api.cache.wait_until_fresh(cache, call.asked)
        if revision > api.cache.revision:
            # What shall be read exactly is not waited for.
            raise resource_version_too_large(revision, api.cache.revision, retry=False)
    await api.cache.load(cache)
    return cache.last_change > revision or revision < cache.window_start


async def _short_page(call: RequestContext, selected: Selected, entries: Sequence[CachedObject], behind: int) -> _Page:
    forms = await call.version.representer.view_many(entries)
    items = list(zip(entries, forms, strict=True))
    return _Page(items, entries[-1].key, 0 if selected.narrow else behind) if behind else _Page(items)


async def _past_entries(
    call: RequestContext, selected: Selected, revision: int, after: str, limit: int
) -> tuple[list[CachedObject], int]:
    """What was there at a revision, at most `limit` (0: all), and how many were behind it."""
    cache = call.resource.cache
    prefix = cache.prefix
    space = f"{prefix}{selected.namespace}/" if selected.namespace is not None and call.resource.namespaced else prefix
    try:
        page = await call.backend.store.range(space, after=prefix + after if after else "", limit=limit, at=revision)
    except CompactedError:
        raise continuation.expired(call, after) from None
    except FutureRevisionError as error:
        raise errors.RequestTimeoutError(str(error)) from None
    entries = []
    for index, item in enumerate(page.items):
        key = item.key[len(prefix) :]
        now = cache.get(key)
        # Most objects are still what they were: what has been made of them serves again.
        if now is None or now.revision != item.revision:
            now = parse_stored(key, item.value, item.revision, False)
        entries.append(now)
        if index % _SLICE == _SLICE - 1:
            await asyncio.sleep(0)
    return entries, page.remaining


async def _page(call: RequestContext, selected: Selected, entries: Sequence[CachedObject], limit: int) -> _Page:
    version = call.version
    found: list[tuple[CachedObject, Representation]] = []
    candidates = entries if selected.broad else [e for e in entries if selected.may_match(e)]
    start = 0
    while start < len(candidates):
        part = candidates[start : start + _SLICE]
        if limit and (selected.everything or version.converts):
            # What lies behind the last that is shown need not be had; who has looked at many in vain asks for more.
            part = part[: max(limit - len(found), start // _IN_VAIN)]
        ready = [version.representer.ready(e) for e in part]
        forms = [f for f in ready if f is not None]
        if len(forms) < len(part):
            forms = await version.representer.view_many(part)
        for entry, form in zip(part, forms, strict=True):
            if selected.everything or selected.matches(form):
                found.append((entry, form))
                if limit and len(found) == limit:
                    break
        if limit and len(found) == limit:
            last = found[-1][0]
            # Who reads through a range does not know that nothing behind will match.
            read = candidates if selected.single else entries
            behind = len(read) - 1 - _index(read, last, start)
            if behind:
                return _Page(found, last.key, 0 if selected.narrow else behind)
            break
        start += len(part)
        if len(candidates) > _SLICE:
            await asyncio.sleep(0)
    return _Page(found)


def _index(entries: Sequence[CachedObject], entry: CachedObject, start: int) -> int:
    return next(i for i in range(start, len(entries)) if entries[i] is entry)
