"""The last steps of a write: bring the object to the storage version, encode it, store it."""

from __future__ import annotations

from time import perf_counter

import msgspec

from polykind import errors
from polykind.cache.cached_object import CachedObject, Encoded
from polykind.contract import JsonObject, RequestSizeError, RevisionConflictError, UnavailableError
from polykind.operations.operation import Operation
from polykind.resources.resource import ServedVersion
from polykind.verbs.admit import charge_size
from polykind.verbs.write import Learnt, Settled

MODIFIED = "the object has been modified; please apply your changes to the latest version and try again"


class LostRaceError(Exception):
    """Another write changed the stored object between this request's read and its write."""


class Written(msgspec.Struct, frozen=True):
    """The stored object or, after a dry run, the object that a write would have stored."""

    cached: CachedObject
    version: ServedVersion
    """The request's version, as the CRD declares it now."""

    async def data(self) -> bytes:
        """Return the object as the client sees it."""
        representer = self.version.representer
        return (representer.known(self.cached) or await representer.view(self.cached)).data


class _Converted(msgspec.Struct, frozen=True):
    """An object at the storage version, ready to be stored."""

    version: ServedVersion
    """The request's version, as the CRD declares it after the conversion."""
    obj: JsonObject
    encoded: Encoded
    normalized: bool
    """True if the stored bytes are what a read at the storage version returns."""


async def commit(op: Operation, key: str, settled: Settled, *, dry_run: bool = False) -> Written:
    """Store an object at `key`. An update that changes nothing is written only if the stored bytes are stale.

    Raise LostRaceError if the stored object is no longer the one that `settled` replaces.
    """
    if settled.metadata_error and op.version.version != op.resource.storage:
        # A conversion fails on invalid metadata. Without one, reads of the stored object drop the invalid fields.
        raise errors.UnknownReasonError(settled.metadata_error)
    if not dry_run:
        # kube-apiserver drops selfLink in its storage layer, so the response to a dry run still shows the field.
        settled.obj["metadata"].pop("selfLink", None)
    converted = await _convert(op, settled)
    old = None if settled.old is None else settled.old.cached
    if old is not None and converted.encoded.matches(old) and (dry_run or not await _is_stale(op, key)):
        return Written(old, converted.version)
    value = converted.encoded.stored()
    if op.namespace in op.backend.admission.sized_namespaces:
        await charge_size(op, settled, len(value), dry_run=dry_run)
    if dry_run:
        return _unstored(op, key, converted, value, old)
    try:
        return Written(await _store(op, key, converted, value, old), converted.version)
    except RequestSizeError as error:
        if _drop_managers(settled):
            return await commit(op, key, settled)
        raise errors.UnknownReasonError(str(error)) from None


def _drop_managers(settled: Settled) -> bool:
    """Remove managedFields from an object that is too large. Return False if there are none, or if they matter.

    As in kube-apiserver, the object is then stored without managers, unless it is applied.
    """
    if settled.applied or settled.learnt is Learnt.MARKED:
        return False
    return bool(settled.obj["metadata"].pop("managedFields", None))


# ---------------------------------------------------------------------- convert and encode


async def _convert(op: Operation, settled: Settled) -> _Converted:
    """Return the object at the storage version, with its encoding."""
    version = _current_version(op)
    is_pruned = settled.learnt is not Learnt.RAW and not settled.raw_metadata
    unpruned = None if is_pruned else await op.lane.run(_encode_unpruned, op, settled)
    obj = await op.lane.run_async(version.representer.to_storage(settled.obj))
    while (current := _current_version(op)) is not version:
        version = current
        obj = await op.lane.run_async(version.representer.to_storage(settled.obj))
    return await op.lane.run(_encode, op, settled, version, obj, unpruned)


def _encode(
    op: Operation, settled: Settled, version: ServedVersion, obj: JsonObject, unpruned: Encoded | None
) -> _Converted:
    """Encode an object at the storage version, or take `unpruned` if kube-apiserver would store it unpruned."""
    if settled.old is not None and version.strategy.restores_unwritable:
        obj = _restore_unwritable(op, settled, version, obj, settled.old.cached)
    # The object was pruned and defaulted with the schema of `op.version`. Meanwhile the CRD may have another schema.
    same_schema = version is op.version
    encoded = Encoded(obj, integers_only=same_schema and _has_no_floats(settled, version))
    if unpruned is not None and same_schema and not unpruned.same(encoded):
        return _Converted(version, obj, unpruned, False)
    return _Converted(version, obj, encoded, same_schema and version.representer.stores_normalized)


def _restore_unwritable(
    op: Operation, settled: Settled, version: ServedVersion, stored: JsonObject, cached: CachedObject
) -> JsonObject:
    """Return an object at the storage version with the stored fields that its conversion has lost."""
    old = cached.decode()
    if old.get("apiVersion") != stored["apiVersion"]:
        return stored
    if settled.learnt is Learnt.MARKED:
        return {**old, "metadata": stored["metadata"]}
    return version.strategy.restore_unwritable(stored, old, op.subresource)


def _encode_unpruned(op: Operation, settled: Settled) -> Encoded | None:
    """Encode the object as kube-apiserver stores it, then prune and default it in place.

    kube-apiserver stores the result of a merge unpruned. Return None for a built-in type, or if a conversion to the
    storage version follows.
    """
    version = op.version
    kept = not version.is_builtin and version.version == op.resource.storage
    encoded = Encoded(settled.as_applied(), integers_only=_has_no_floats(settled, version)) if kept else None
    version.codec.normalize(settled.obj)
    return encoded


def _has_no_floats(settled: Settled, version: ServedVersion) -> bool:
    """True if the object to store is known to contain no floats."""
    return settled.integers_only and version.representer.adds_no_floats


def _current_version(op: Operation) -> ServedVersion:
    """Return the request's version as the CRD declares it now.

    The CRD may have changed while the request waited for webhooks. A storage migration would miss an object that is
    written at the old storage version.
    """
    version = op.version
    if version.schema_generation == version.cache.schema_generation:
        return version
    return op.backend.registry.find(op.resource.group, version.version, op.resource.plural) or version


# ---------------------------------------------------------------------- store


async def _is_stale(op: Operation, key: str) -> bool:
    """True if the stored object must be rewritten without a change, because it is encrypted with an old key.

    kube-apiserver does the same, so `kubectl get -o json | kubectl replace -f -` rotates the key of an object.
    """
    stale_values = op.backend.stale_values
    return stale_values is not None and await stale_values.is_stale(op.resource.cache.prefix + key)


def _unstored(op: Operation, key: str, converted: _Converted, value: bytes, old: CachedObject | None) -> Written:
    """Return the result of a dry run. A new object has no resourceVersion."""
    raw = converted.encoded.served(old.revision) if old is not None else value
    version = converted.version
    cached = CachedObject(
        raw, None, key=key, revision=0, version=version.resource.storage, normalized=converted.normalized
    )
    cached.schema_generation = version.cache.schema_generation
    return Written(cached, version)


async def _store(
    op: Operation, key: str, converted: _Converted, value: bytes, old: CachedObject | None
) -> CachedObject:
    """Put the bytes into the store, if nothing else has changed the key since `old` was read."""
    cache, store, version = op.resource.cache, op.backend.store, converted.version
    status = None
    if old is None and converted.normalized and op.resource.has_first_status and store.can_put_twice:
        status = await op.resource.first_status(converted.obj, value)
    op.charges.sent()
    started = perf_counter()
    generation = version.schema_generation if converted.normalized else None
    second = None if status is None else status.value
    try:
        with cache.writing(key, value, converted.encoded.cached_object, generation, second) as written:
            if status is not None:
                revision = await status.put(cache.prefix + key, value)
            else:
                revision = await store.put(cache.prefix + key, value, expect=old.revision if old else 0)
    except BaseException as error:
        if isinstance(error, RevisionConflictError | RequestSizeError):
            op.charges.reject()
        raise _failure(op, "update" if old else "create", started, error) from None
    op.charges.confirm()
    _record(op, "update" if old else "create", started)
    if cache.deliveries:
        await op.lane.wait_for(cache.deliveries)
    return written.at(revision)


async def remove(op: Operation, key: str, cached: CachedObject) -> int:
    """Delete a stored object and return the revision of the deletion. Raise LostRaceError if the object has changed."""
    started = perf_counter()
    try:
        revision = await op.backend.store.delete(op.resource.cache.prefix + key, expect=cached.revision)
    except BaseException as error:
        if isinstance(error, RevisionConflictError):
            op.charges.close()
        raise _failure(op, "delete", started, error) from None
    _record(op, "delete", started)
    return revision


def _failure(op: Operation, operation: str, started: float, error: BaseException) -> BaseException:
    """Record a failed request to the store. Return the error to raise."""
    _record(op, operation, started, failed=isinstance(error, UnavailableError))
    return LostRaceError() if isinstance(error, RevisionConflictError) else error


def _record(op: Operation, operation: str, started: float, *, failed: bool = False) -> None:
    """Record a request to the store."""
    storage, resource = op.backend.metrics.storage, op.resource
    storage.requested(operation, resource.group, resource.plural, perf_counter() - started)
    if failed:
        storage.failed(operation, resource.group, resource.plural)


def modified_error(op: Operation, name: str) -> errors.ConflictError:
    return errors.conflict(op.resource.plural, op.resource.group, name, MODIFIED)
