"""list: the objects of a resource at the requested version, in one response or in pages."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from functools import partial
from itertools import compress, islice
from operator import attrgetter, is_
from time import perf_counter
from typing import NamedTuple

from polykind import errors
from polykind.cache.cached_object import CachedObject, Representation, parse_stored
from polykind.cache.watch_cache import resource_version_too_large
from polykind.contract import CompactedError, FutureRevisionError, JsonObject
from polykind.operations.operation import Operation
from polykind.operations.options import ListOptions
from polykind.operations.responses import LazyItems, Response, Stream
from polykind.verbs import continue_token, respond
from polykind.verbs.metadata import parse_resource_version
from polykind.verbs.selection import RequestSelection, has_long_query, read_selection

_SLICE = 500
_data_of = attrgetter("data")
_UNMATCHED_PER_CONVERSION = 16
"""In a list with a limit, the size of the next batch to convert grows by one for every 16 objects scanned so far."""


class Selected(NamedTuple):
    """The objects of a list, and their representations at the requested version."""

    objects: Sequence[CachedObject]
    representations: Sequence[Representation]
    size: int | None = None
    """The total size of the representations, or None if it is not known."""

    def data(self) -> Sequence[bytes]:
        """Return the JSON of the representations."""
        if self.size is None:
            return list(map(_data_of, self.representations))
        return LazyItems(self.representations, _data_of, self.size)


async def list_(op: Operation) -> Response | Stream:
    response_format = respond.negotiate(op)
    options, selection = await read_selection(op)
    try:
        selected, metadata = await collect(op, options, selection)
    except errors.InternalError as error:
        from polykind.verbs.unreadable import list_error

        raise list_error(op, op.resource.cache.snapshot(selection.namespace)) or error from None
    return await respond.list_response(op, response_format, selected.data(), metadata)


class _Page(NamedTuple):
    """A page of objects."""

    selected: Selected
    last: str = ""
    """The key of the last object on the page, or "" if no more objects follow."""
    remaining: int = 0
    """The number of objects after the page, or 0 if the response does not report the number."""


async def collect(op: Operation, options: ListOptions, selection: RequestSelection) -> tuple[Selected, JsonObject]:
    """Return the selected objects with their representations, and the list's metadata."""
    limit, not_older_than = max(options.limit, 0), 0
    if options.continue_:
        revision, after = continue_token.decode(options.continue_, op, options.resource_version)
    else:
        not_older_than = parse_resource_version(options.resource_version, for_list=True)
        revision, after = 0, ""
        # A limit without resourceVersionMatch means exactly the requested revision, unless only one object can match.
        match = options.resource_version_match
        if not_older_than and (match == "Exact" or (limit and not match and not selection.single)):
            revision = not_older_than
    if options.resource_version == "0":
        limit = 0
    page: _Page | None = None
    await selection.prepare_indexes()
    if revision:
        if await _has_changed_since(op, revision):
            page = await _page_at_revision(op, selection, revision, after, limit)
    else:
        if not_older_than:
            await op.backend.cache.wait_for_revision(not_older_than)
        page = await _page_while_waiting(op, selection, after, limit)
    # Determine the list's revision before the page. A watch from this revision may repeat changes but misses none.
    at = revision or _cache_revision(op)
    if page is None:
        page = await _current_page(op, selection, after, limit)
    token = continue_token.encode(op, at, page.last) if page.last else ""
    return page.selected, op.version.representer.list_metadata(at, token, page.remaining)


def _cache_revision(op: Operation) -> int:
    return max(op.resource.cache.revision, op.backend.cache.revision)


async def _page_while_waiting(op: Operation, selection: RequestSelection, after: str, limit: int) -> _Page | None:
    """Wait until the cache is fresh, and collect the page meanwhile.

    Return None if the resource has changed meanwhile or is not in the cache yet, or if no read of the store's revision
    is needed.
    """
    cache = op.resource.cache
    if op.revision_read is None or not cache.loaded:
        await op.backend.cache.wait_until_fresh(cache, op.revision_read)
        return None
    revision = _cache_revision(op)
    page = await _current_page(op, selection, after, limit)
    await op.backend.cache.wait_until_fresh(cache, op.revision_read)
    return page if cache.last_change <= revision and cache.window_start <= revision else None


def _takes_all(selection: RequestSelection, limit: int) -> bool:
    """True if a page can be read without looking at more objects than it returns, because all objects match."""
    return limit > 0 and selection.everything and selection.name is None


async def _current_page(op: Operation, selection: RequestSelection, after: str, limit: int) -> _Page:
    """Return a page of the objects in the cache."""
    cache = op.resource.cache
    if selection.everything and selection.name is None and not limit:
        if _is_uniform(op):
            if after:
                rest = cache.snapshot(selection.namespace, after)
                return _Page(Selected(rest, rest))
            objects = cache.view(selection.namespace)
            return _Page(Selected(objects, objects, cache.data_size(selection.namespace)))
        changed = cache.last_change
        page = await _matching_page(op, selection, selection.candidates(after), limit, selection.remaining)
        if selection.namespace is None and not after and cache.last_change == changed:
            _note_uniform(op, page.selected)
        return page
    if not _takes_all(selection, limit):
        uniform = cache.schema_generation if _is_uniform(op) else None
        return await _matching_page(op, selection, selection.candidates(after), limit, selection.remaining, uniform)
    objects = cache.snapshot(selection.namespace, after, limit)
    remaining = cache.remaining(selection.namespace, objects[-1].key) if len(objects) == limit else 0
    return await _full_page(op, selection, objects, remaining)


def _is_uniform(op: Operation) -> bool:
    """True if every object of the resource is its own representation at the requested version."""
    cache = op.resource.cache
    return cache.uniform == (op.version.representer.version, cache.schema_generation)


def _note_uniform(op: Operation, selected: Selected) -> None:
    """Remember that every object of the resource is its own representation, so that the next list need not look."""
    cache = op.resource.cache
    if all(map(is_, selected.objects, selected.representations)):
        cache.uniform = op.version.representer.version, cache.schema_generation


async def _page_at_revision(op: Operation, selection: RequestSelection, revision: int, after: str, limit: int) -> _Page:
    """Return a page of the objects in the store at a past revision."""
    if not _takes_all(selection, limit):
        objects, _ = await _objects_at_revision(op, selection, revision, after, 0)
        found = [cached for cached in objects if selection.may_match(cached)]
        scanned = found if selection.single else objects
        return await _matching_page(op, selection, found, limit, partial(_count_after, scanned))
    return await _full_page(op, selection, *await _objects_at_revision(op, selection, revision, after, limit))


async def _has_changed_since(op: Operation, revision: int) -> bool:
    """True if the resource may have changed since `revision`. The caller must then read from the store."""
    cache, backend = op.resource.cache, op.backend
    if revision > backend.cache.revision:
        await backend.cache.wait_until_fresh(cache, op.revision_read)
        if revision > backend.cache.revision:
            # For an exact revision that does not exist yet, kube-apiserver returns an error at once instead of waiting.
            raise resource_version_too_large(revision, backend.cache.revision, retry=False)
    await backend.cache.load(cache)
    if revision < backend.store.oldest_revision:
        # The revision is compacted. kube-apiserver would read it from etcd and fail, so do not use the cache.
        return True
    return cache.last_change > revision or revision < cache.window_start


async def _full_page(
    op: Operation, selection: RequestSelection, objects: Sequence[CachedObject], remaining: int
) -> _Page:
    representations = await _view_many(op, objects)
    page = _Page(Selected(objects, representations))
    return (
        page._replace(last=objects[-1].key, remaining=0 if selection.has_selector else remaining) if remaining else page
    )


async def _view_many(op: Operation, objects: Sequence[CachedObject]) -> list[Representation]:
    representer = op.version.representer
    if op.verb == "deletecollection":
        # Labels from an earlier conversion must not decide which objects a deletecollection removes.
        return await representer.view_many(objects)
    return await representer.view_for_read(objects, op.notes.warn)


async def _objects_at_revision(
    op: Operation, selection: RequestSelection, revision: int, after: str, limit: int
) -> tuple[list[CachedObject], int]:
    """Return at most `limit` objects at a revision (0: all objects) and the number of objects that follow."""
    cache = op.resource.cache
    prefix, namespace = cache.prefix, selection.namespace
    scope = f"{prefix}{namespace}/" if namespace is not None and op.resource.namespaced else prefix
    started = perf_counter()
    try:
        page = await op.backend.store.range(scope, after=prefix + after if after else "", limit=limit, at=revision)
    except CompactedError:
        raise continue_token.expired(op, after) from None
    except FutureRevisionError as error:
        raise errors.RequestTimeoutError(str(error)) from None
    seconds = perf_counter() - started
    op.backend.metrics.storage.requested("list", op.resource.group, op.resource.plural, seconds)
    objects = []
    for index, item in enumerate(page.items):
        key = item.key[len(prefix) :]
        cached = cache.get(key)
        # Most objects have not changed since that revision. For these, use the object in the cache.
        if cached is None or cached.revision != item.revision:
            cached = parse_stored(key, item.value, item.revision, False)
        objects.append(cached)
        if index % _SLICE == _SLICE - 1:
            await op.lane.take_turn()
    return objects, page.remaining


async def _matching_page(
    op: Operation,
    selection: RequestSelection,
    candidates: Sequence[CachedObject],
    limit: int,
    count_after: Callable[[CachedObject], int],
    uniform_generation: int | None = None,
) -> _Page:
    """Return a page of the objects that match the selectors, converting no more of them than necessary.

    `count_after` returns the number of objects after one of them, whether or not they match. At the schema generation
    `uniform_generation`, every candidate is its own representation.
    """
    representer = op.version.representer
    objects: list[CachedObject] = []
    shown: list[Representation] = []
    start = 0
    while start < len(candidates):
        if len(candidates) > _SLICE:
            await op.lane.take_turn()
        part = candidates[start : start + _SLICE]
        if limit and (selection.everything or op.version.converts):
            part = part[: max(limit - len(objects), start // _UNMATCHED_PER_CONVERSION)]
        representations: Sequence[Representation] = part
        if uniform_generation != op.resource.cache.schema_generation:
            found = representer.known_many(part)
            representations = [known for known in found if known is not None]
            if len(representations) < len(part):
                representations = await _view_many(op, part)
        room = limit - len(objects) if limit else 0
        found_here = await op.lane.run_long_if(has_long_query(op), _matching, selection, part, representations, room)
        objects += found_here.objects
        shown += found_here.representations
        if limit and len(objects) == limit:
            last = objects[-1]
            # kube-apiserver counts all keys after the page, because it does not know which of these objects match.
            remaining = count_after(last)
            if remaining:
                return _Page(Selected(objects, shown), last.key, 0 if selection.has_selector else remaining)
            break
        start += len(part)
    return _Page(Selected(objects, shown))


def _matching(
    selection: RequestSelection, objects: Sequence[CachedObject], representations: Sequence[Representation], limit: int
) -> Selected:
    """Return at most `limit` objects (0: all) that match the selectors, with their representations."""
    if selection.everything:
        return Selected(objects[:limit], representations[:limit]) if limit else Selected(objects, representations)
    if limit:
        pairs = zip(objects, representations, strict=True)
        matching = list(islice((pair for pair in pairs if selection.matches(pair[1])), limit))
        return Selected([cached for cached, _ in matching], [shown for _, shown in matching])
    matched = selection.match_each(representations)
    if all(matched):
        return Selected(objects, representations)
    return Selected(list(compress(objects, matched)), list(compress(representations, matched)))


def _count_after(objects: Sequence[CachedObject], last: CachedObject) -> int:
    return len(objects) - bisect_right(objects, last.key, key=lambda cached: cached.key)
