"""The end of every write: convert to the storage version, encode, store, and show what a read would show."""

from __future__ import annotations

from polykind import errors
from polykind.cache.cached_object import CachedObject, Representation, parse_stored
from polykind.contract import JsonObject, RevisionConflictError
from polykind.resources.encoding import Encoded
from polykind.resources.resource import ServedVersion
from polykind.verbs.context import RequestContext

MODIFIED = "the object has been modified; please apply your changes to the latest version and try again"


class LostRace(Exception):
    """Someone else wrote the key first."""


async def commit(
    call: RequestContext, key: str, obj: JsonObject, entry: CachedObject | None, dry_run: bool, *, made: bool = False
) -> Representation:
    """Write an object over `entry` (None: where nothing is) and return its form at the request's version.

    What would change nothing is not written. `made`: the object was made here, by an apply or a scale, or changed by
    others, and no schema has pruned it. Raises LostRace.
    """
    cache, version = call.resource.cache, _current(call)
    if call.misfit and version.version != call.resource.storage:
        # A conversion reads the metadata; without one, whoever reads the object drops what does not fit.
        raise errors.UnknownReasonError(call.misfit)
    if not dry_run:
        # It is the store that knows no links: what is not stored still has the one it was given.
        obj["metadata"].pop("selfLink", None)
    unpruned = _unpruned(call, obj) if made else None
    stored = await version.representer.to_storage(obj)
    while (now := _current(call)) is not version:
        version = now
        stored = await version.representer.to_storage(obj)
    # Only the schema that the request began with has seen the object.
    seen = version is call.version
    clean = seen and version.representer.stores_normalized
    # What is written is what the body has, what was there before, and what its version adds.
    whole = seen and call.whole and (entry is None or call.was_whole) and version.representer.adds_no_floats
    encoded = Encoded(stored, whole=whole)
    if unpruned is not None and seen and not unpruned.same(encoded):
        encoded, clean = unpruned, False
    if entry is not None and encoded.served(entry.revision) == entry.raw:
        return await version.representer.view(entry)
    value = encoded.stored()
    if dry_run:
        return await _dry(version, key, encoded, value, entry, clean=clean)
    if clean:
        cache.expect_write(key, value, version.schema_generation, encoded.entry)
    try:
        revision = await call.backend.store.put(cache.prefix + key, value, expect=entry.revision if entry else 0)
    except BaseException as error:
        cache.cancel_expected_write(key)
        if isinstance(error, RevisionConflictError):
            raise LostRace from None
        raise
    written = cache.get(key)
    if written is None or written.revision != revision:
        written = parse_stored(key, value, revision, False)
        written.schema_generation = cache.schema_generation
    return version.representer.ready(written) or await version.representer.view(written)


def _unpruned(call: RequestContext, obj: JsonObject) -> Encoded | None:
    """The object as the reference stores it, that is as it is, where no conversion prunes it; then it is pruned."""
    version = call.version
    kept = not version.is_builtin and version.version == call.resource.storage
    found = Encoded(as_given(call, obj)) if kept else None
    version.codec.normalize(obj)
    return found


def as_given(call: RequestContext, obj: JsonObject) -> JsonObject:
    """The object with its metadata as it was applied, but for what the server has set since."""
    meta = obj["metadata"]
    given = {k: v for k, v in call.unread.items() if k not in meta or k in ("labels", "annotations")}
    return {**obj, "metadata": {**meta, **given}}


def _current(call: RequestContext) -> ServedVersion:
    """The version of the request as its definition stands now.

    It may have changed while others were asked: what is stored at a version that was the storage version when the
    request began would be missed by a migration that has passed since.
    """
    version = call.version
    if version.schema_generation == version.cache.schema_generation:
        return version
    return call.backend.registry.find(call.resource.group, version.version, call.resource.plural) or version


async def _dry(
    version: ServedVersion, key: str, encoded: Encoded, value: bytes, entry: CachedObject | None, *, clean: bool
) -> Representation:
    """What the reply would be: an object that was never stored has no resourceVersion."""
    raw = encoded.served(entry.revision) if entry is not None else value
    shadow = CachedObject(key, raw, 0, version.resource.storage, None, clean)
    shadow.schema_generation = version.cache.schema_generation
    return await version.representer.view(shadow)


async def remove(call: RequestContext, key: str, entry: CachedObject) -> int:
    """Delete a key as it stands; the revision of the deletion. Raises LostRace."""
    try:
        return await call.backend.store.delete(call.resource.cache.prefix + key, expect=entry.revision)
    except RevisionConflictError:
        raise LostRace from None


def modified(call: RequestContext, name: str) -> errors.ConflictError:
    return errors.conflict(call.resource.plural, call.resource.group, name, MODIFIED)
