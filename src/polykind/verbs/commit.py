"""The end of every write: convert to the storage version, encode, store, and show what a read would show."""

from __future__ import annotations

from polykind import errors
from polykind.cache.entry import Entry, Form, parse
from polykind.contract import Conflict, JsonObject
from polykind.registry.encoding import Encoded
from polykind.verbs.call import Call

MODIFIED = "the object has been modified; please apply your changes to the latest version and try again"


class LostRace(Exception):
    """Someone else wrote the key first."""


async def commit(call: Call, key: str, obj: JsonObject, entry: Entry | None, dry_run: bool) -> Form:
    """Write an object over `entry` (None: where nothing is) and return its form at the request's version.

    What would change nothing is not written. Raises LostRace.
    """
    version, cache = call.version, call.kind.cache
    # What is written is what the body has, what was there before, and what its version adds.
    whole = call.whole and (entry is None or call.was_whole) and version.whole
    encoded = Encoded(await version.to_storage(obj), whole=whole)
    if entry is not None and encoded.served(entry.revision) == entry.raw:
        return await version.view(entry)
    value = encoded.stored()
    if dry_run:
        return await _dry(call, key, encoded, value, entry)
    if version.clean():
        cache.trust(key, value, version.epoch, encoded.entry)
    try:
        revision = await call.api.store.put(cache.prefix + key, value, expect=entry.revision if entry else 0)
    except BaseException as error:
        cache.distrust(key)
        if isinstance(error, Conflict):
            raise LostRace from None
        raise
    written = cache.get(key)
    if written is None or written.revision != revision:
        written = parse(key, value, revision, False)
        written.epoch = cache.epoch
    return version.ready(written) or await version.view(written)


async def _dry(call: Call, key: str, encoded: Encoded, value: bytes, entry: Entry | None) -> Form:
    """What the reply would be: an object that was never stored has no resourceVersion."""
    raw = encoded.served(entry.revision) if entry is not None else value
    shadow = Entry(key, raw, 0, call.kind.storage, None, call.version.clean())
    shadow.epoch = call.kind.cache.epoch
    return await call.version.view(shadow)


async def remove(call: Call, key: str, entry: Entry) -> int:
    """Delete a key as it stands; the revision of the deletion. Raises LostRace."""
    try:
        return await call.api.store.delete(call.kind.cache.prefix + key, expect=entry.revision)
    except Conflict:
        raise LostRace from None


def modified(call: Call, name: str) -> errors.Conflicted:
    return errors.conflict(call.kind.plural, call.kind.group, name, MODIFIED)
