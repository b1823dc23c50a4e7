"""Deletion of many objects of one resource, as a deleted namespace or CRD requires."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from polykind import errors
from polykind.auth.user import User
from polykind.cache.cached_object import CachedObject
from polykind.operations.backend import Backend
from polykind.operations.operation import Operation
from polykind.operations.options import DeleteOptions
from polykind.resources.resource import Resource
from polykind.verbs.delete import delete_object

_BATCH_SIZE = 64
"""The number of concurrent deletions. Concurrent deletions share the store's commits."""


async def delete_all(
    backend: Backend, resource: Resource, objects: Sequence[CachedObject], user: User | None = None
) -> None:
    """Delete the objects that are not being deleted yet. Try all of them, then raise the first error.

    If `user` is not None, the deletions pass through admission as a deletecollection request of that user. Pods are
    removed without a grace period, because there may be no kubelet that stops them.
    """
    version = resource.storage_version()
    grace_period = 0 if version.strategy.deletes_gracefully else None

    async def delete(cached: CachedObject) -> None:
        if cached.terminating() and (grace_period is None or not _has_grace_period(cached)):
            return
        namespace = cached.namespace if resource.namespaced else None
        try:
            policy = "Background" if user is not None else None
            options = DeleteOptions(grace_period_seconds=grace_period, propagation_policy=policy)
            op = Operation.by_server(backend, "delete", version, cached.name, namespace=namespace, user=user)
            await delete_object(op, options, named=False)
        except errors.NotFoundError:
            return

    failures: list[BaseException] = []
    # Delete a small collection one by one, in kube-apiserver's order. Delete a larger one concurrently.
    batch_size = _BATCH_SIZE if len(objects) > _BATCH_SIZE else 1
    for start in range(0, len(objects), batch_size):
        results = await asyncio.gather(*map(delete, objects[start : start + batch_size]), return_exceptions=True)
        failures += [result for result in results if result is not None]
    if failures:
        raise failures[0]


def _has_grace_period(cached: CachedObject) -> bool:
    return bool(cached.decode()["metadata"].get("deletionGracePeriodSeconds"))
