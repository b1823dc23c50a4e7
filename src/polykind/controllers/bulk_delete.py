"""Deletion of many objects of one resource, as a deleted namespace or CRD requires."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from polykind import errors
from polykind.cache.cached_object import CachedObject
from polykind.controllers.object_client import ObjectClient
from polykind.resources.resource import Resource

_BATCH_SIZE = 64
"""The number of concurrent deletions. Concurrent deletions share the store's commits."""


async def delete_all(
    client: ObjectClient,
    resource: Resource,
    objects: Sequence[CachedObject],
    still_wanted: Callable[[], bool],
    *,
    policy: str | None = None,
) -> None:
    """Delete the objects that are not being deleted yet. Try all of them, then raise the first error.

    Objects that were replaced are kept. Stop as soon as `still_wanted` returns False. Pods are removed without a grace
    period, because there may be no kubelet that stops them.
    """
    version = resource.storage_version()
    grace_period = 0 if version.strategy.deletes_gracefully else None

    async def delete(seen: CachedObject) -> None:
        if not still_wanted() or (seen.terminating() and (grace_period is None or not _has_grace_period(seen))):
            return
        try:
            await client.delete(version, seen, policy=policy, grace_period=grace_period, of_collection=True)
        except (errors.NotFoundError, errors.ConflictError):
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
