"""The last stages of a write: validate, convert to the storage version, encode, store, represent the stored object."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from time import perf_counter
from typing import TypeVar

from polykind import errors
from polykind.admission.evaluation_deadline import EvaluationInterruptedError, on_loop_check
from polykind.cache.cached_object import CachedObject, Encoded, Representation, parse_stored
from polykind.contract import InterruptCheck, JsonObject, RequestSizeError, RevisionConflictError, UnavailableError
from polykind.errors import FieldError
from polykind.operations.operation import Operation
from polykind.resources.resource import ServedVersion, Validation
from polykind.verbs.admit import charge_size
from polykind.verbs.write import APPLY, DELETE, Write

T = TypeVar("T")

MODIFIED = "the object has been modified; please apply your changes to the latest version and try again"


class LostRaceError(Exception):
    """Another write changed the stored object between this request's read and its write."""


async def run_validation(
    op: Operation, write: Write, validate: Callable[[InterruptCheck | None], Validation]
) -> Validation:
    """Run `validate` in a worker thread if the object is large or if its CEL rules take long, else on the event loop.

    CEL rules can take long for a small object, so they start on the event loop with a deadline.
    """
    if write.large:
        return await op.lane.run_in_worker(lambda: validate(None))
    if not op.version.strategy.evaluates_rules:
        return validate(None)
    try:
        return validate(on_loop_check())
    except EvaluationInterruptedError:
        return await op.lane.run_in_worker(lambda: validate(None))


async def invalid_error(
    op: Operation, write: Write, kind: str, group: str, name: str, field_errors: list[FieldError]
) -> errors.InvalidError:
    """Return the InvalidError for an object. Build it in a worker thread if the object is large, because a large object
    may have many field errors.
    """
    if not write.large:
        return errors.InvalidError(kind, group, name, field_errors)
    return await op.lane.run_in_worker(lambda: errors.InvalidError(kind, group, name, field_errors))


async def add_warnings(op: Operation, write: Write) -> None:
    """Send the strategy's warnings about the object to the client."""
    strategy, subresource = op.version.strategy, op.subresource
    if subresource and write.old is not None:
        find = partial(strategy.subresource_warnings, subresource, write.obj, write.old)
    else:
        find = partial(strategy.warnings, write.obj, write.old)
    for text in await op.lane.run_in_worker(find) if write.large else find():
        op.notes.warn(text)


async def commit(op: Operation, key: str, write: Write) -> Representation:
    """Store `write.obj` at `key` and return its representation at the request's version.

    An update that changes nothing is written only if the stored bytes are stale.

    Raise LostRaceError if `write.cached` is no longer the stored object.
    """
    cache, version, obj, cached = op.resource.cache, _current_version(op), write.obj, write.cached
    dry_run = write.options.dry_run
    if write.metadata_error and version.version != op.resource.storage:
        # A conversion fails on invalid metadata. Without a conversion, reads of the stored object drop the invalid
        # fields.
        raise errors.UnknownReasonError(write.metadata_error)
    if not dry_run:
        # kube-apiserver drops selfLink in its storage layer, so the response to a dry run still shows the field.
        obj["metadata"].pop("selfLink", None)
    unpruned = None if write.normalized else await _in_worker(op, write, lambda: _encode_unpruned(op, write))
    stored = await _to_storage(op, write, version)
    while (current := _current_version(op)) is not version:
        version = current
        stored = await _to_storage(op, write, version)
    # The object was pruned and defaulted with the schema of `op.version`. Meanwhile the CRD may have another schema.
    same_schema = version is op.version
    normalized = same_schema and version.representer.stores_normalized
    integers_only = same_schema and _has_no_floats(write, version)
    encoded = (
        await op.lane.run_in_worker(lambda: Encoded(stored, integers_only=integers_only))
        if write.large
        else Encoded(stored, integers_only=integers_only)
    )
    if unpruned is not None and same_schema and not unpruned.same(encoded):
        encoded, normalized = unpruned, False
    if cached is not None and encoded.matches(cached) and not await _is_stale(op, key, write):
        return await _represent(write, version, cached)
    value = encoded.stored()
    if op.namespace in op.backend.admission.sized_namespaces:
        await charge_size(op, write, len(value))
    if dry_run:
        raw = encoded.served(cached.revision) if cached is not None else value
        unstored = CachedObject(raw, None, key=key, revision=0, version=version.resource.storage, normalized=normalized)
        unstored.schema_generation = version.cache.schema_generation
        return await _represent(write, version, unstored)
    status = None
    if cached is None and normalized and op.resource.has_first_status and op.backend.store.can_put_twice:
        status = await op.resource.first_status(stored, value)
    if normalized:
        second = status.value if status is not None else None
        cache.expect_write(key, value, version.schema_generation, encoded.cached_object, second)
    op.charges.sent()
    operation, started = "update" if cached else "create", perf_counter()
    try:
        if status is not None:
            revision = await status.put(cache.prefix + key, value)
        else:
            revision = await op.backend.store.put(cache.prefix + key, value, expect=cached.revision if cached else 0)
    except BaseException as error:
        cache.cancel_expected_write(key)
        if isinstance(error, RevisionConflictError | RequestSizeError):
            op.charges.reject()
        _record(op, operation, started, failed=isinstance(error, UnavailableError))
        if isinstance(error, RevisionConflictError):
            raise LostRaceError from None
        if isinstance(error, RequestSizeError):
            if _drop_managers(write):
                return await commit(op, key, write)
            raise errors.UnknownReasonError(str(error)) from None
        raise
    op.charges.confirm()
    _record(op, operation, started)
    if write.large and cache.deliveries:
        await asyncio.wait(list(cache.deliveries))
    written = cache.get(key)
    if written is None or written.revision != revision:
        unchanged = normalized and version.schema_generation == cache.schema_generation
        written = (encoded.cached_object if unchanged else parse_stored)(key, value, revision, unchanged)
        written.schema_generation = cache.schema_generation
    return version.representer.known(written) or await version.representer.view(written)


def _drop_managers(write: Write) -> bool:
    """Remove managedFields from an object that is too large. Return False if there are none, or if they matter.

    As in kube-apiserver, the object is then stored without managers, unless it is applied.
    """
    if write.origin in (APPLY, DELETE):
        return False
    return bool(write.obj["metadata"].pop("managedFields", None))


async def _is_stale(op: Operation, key: str, write: Write) -> bool:
    """True if the stored object must be rewritten without a change, because it is encrypted with an old key.

    kube-apiserver does the same, so `kubectl get -o json | kubectl replace -f -` rotates the key of an object.
    """
    stale_values = op.backend.stale_values
    if stale_values is None or write.options.dry_run:
        return False
    return await stale_values.is_stale(op.resource.cache.prefix + key)


async def _in_worker(op: Operation, write: Write, call: Callable[[], T]) -> T:
    return await op.lane.run_in_worker(call) if write.large else call()


async def _to_storage(op: Operation, write: Write, version: ServedVersion) -> JsonObject:
    """Return `write.obj` at the storage version."""
    converting = version.representer.to_storage(write.obj)
    stored = await (op.lane.run_async_in_worker(converting) if write.large else converting)
    if write.cached is None or not version.strategy.restores_unwritable:
        return stored
    old = write.cached.decode()
    if old.get("apiVersion") != stored["apiVersion"]:
        return stored
    if write.origin is DELETE:
        return {**old, "metadata": stored["metadata"]}
    return version.strategy.restore_unwritable(stored, old, op.subresource)


def _encode_unpruned(op: Operation, write: Write) -> Encoded | None:
    """Encode `write.obj` as kube-apiserver stores it, then prune and default it in place.

    kube-apiserver stores the result of a merge unpruned. Return None for a built-in type, or if a conversion to the
    storage version follows.
    """
    version = op.version
    kept = not version.is_builtin and version.version == op.resource.storage
    encoded = Encoded(write.as_applied(), integers_only=_has_no_floats(write, version)) if kept else None
    version.codec.normalize(write.obj)
    return encoded


def _has_no_floats(write: Write, version: ServedVersion) -> bool:
    """True if the object to store is known to contain no floats."""
    known = write.integers_only and (write.cached is None or write.old_integers_only)
    return known and version.representer.adds_no_floats


def _current_version(op: Operation) -> ServedVersion:
    """Return the request's version as the CRD declares it now.

    The CRD may have changed while the request waited for webhooks. A storage migration would miss an object that is
    written at the old storage version.
    """
    version = op.version
    if version.schema_generation == version.cache.schema_generation:
        return version
    return op.backend.registry.find(op.resource.group, version.version, op.resource.plural) or version


async def _represent(write: Write, version: ServedVersion, cached: CachedObject) -> Representation:
    """Represent the result of a write that stores nothing. A new object has no resourceVersion."""
    if write.all_versions:
        from polykind.verbs.object_versions import encode_versions

        return Representation(await encode_versions(version.resource, cached), None)
    return await version.representer.view(cached)


async def remove(op: Operation, key: str, cached: CachedObject) -> int:
    """Delete a stored object and return the revision of the deletion. Raise LostRaceError if the object has changed."""
    started = perf_counter()
    try:
        revision = await op.backend.store.delete(op.resource.cache.prefix + key, expect=cached.revision)
    except BaseException as error:
        _record(op, "delete", started, failed=isinstance(error, UnavailableError))
        if isinstance(error, RevisionConflictError):
            op.charges.close()
            raise LostRaceError from None
        raise
    _record(op, "delete", started)
    return revision


def _record(op: Operation, operation: str, started: float, *, failed: bool = False) -> None:
    """Record a request to the store."""
    storage, resource = op.backend.metrics.storage, op.resource
    storage.requested(operation, resource.group, resource.plural, perf_counter() - started)
    if failed:
        storage.failed(operation, resource.group, resource.plural)


def modified_error(op: Operation, name: str) -> errors.ConflictError:
    return errors.conflict(op.resource.plural, op.resource.group, name, MODIFIED)
