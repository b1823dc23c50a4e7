"""Deleting many objects at once: what a namespace or a definition takes with it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from polykind import errors
from polykind.auth.user import User
from polykind.cache.cached_object import CachedObject
from polykind.http.messages import Request
from polykind.http.options import DeleteOptions
from polykind.resources.resource import Resource
from polykind.verbs.context import Backend, RequestContext
from polykind.verbs.delete import delete_object

_AT_ONCE = 64
"""Deletions under way together: they share the store's commits."""


async def delete_all(api: Backend, kind: Resource, entries: Sequence[CachedObject], user: User | None = None) -> None:
    """Ask for the deletion of objects that are not being deleted yet. One that fails does not keep the others.

    On behalf of a `user` it is asked as a deletion of the collection, and whoever is to be asked about it is.
    """
    version = kind.storage_version()

    async def delete(entry: CachedObject) -> None:
        if entry.terminating():
            return
        namespace = entry.namespace if kind.namespaced else None
        try:
            request = Request("DELETE", "", "", {}, b"")
            request.user = user
            options = DeleteOptions(propagation_policy="Background") if user is not None else DeleteOptions()
            await delete_object(RequestContext(api, request, version, namespace, entry.name, ""), options, named=False)
        except errors.NotFoundError:
            return

    failures: list[BaseException] = []
    # A few go one after the other, in order as the reference deletes them; a distributed store orders no others.
    at_once = _AT_ONCE if len(entries) > _AT_ONCE else 1
    for start in range(0, len(entries), at_once):
        done = await asyncio.gather(*map(delete, entries[start : start + at_once]), return_exceptions=True)
        failures += [d for d in done if d is not None]
    if failures:
        raise failures[0]
