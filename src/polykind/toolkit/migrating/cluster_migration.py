"""A storage migration through the public API: every object is written once, so that the server stores it anew.

A patch that changes nothing is enough. The API server encodes the object at the storage version, and writes it only if
the bytes differ from those in the store.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from enum import Enum

from polykind.cluster.cluster_client import StatusError
from polykind.contract import JsonObject
from polykind.toolkit.migrating import field_manager_cleanup
from polykind.toolkit.migrating.crd_storage import CRDStorage, key_of
from polykind.toolkit.migrating.migration_journal import Journal
from polykind.toolkit.migrating.object_listing import list_pages
from polykind.toolkit.migrating.paced_client import PacedClient

_MERGE_PATCH = "application/merge-patch+json"
_JSON_PATCH = "application/json-patch+json"
_METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
_CONFLICT_ATTEMPTS = 5
_VERIFICATIONS = 3
_CONCURRENCY = 8
_PAGE = 100
"""The number of objects in a page. An interrupted run repeats at most one page."""


class RefusedError(Exception):
    """The stored versions cannot be pruned. The message is the reason."""


class ForbiddenError(Exception):
    """The user lacks a permission. The message is that of the API server."""


class _Result(Enum):
    REWRITTEN = "the object was stored again"
    UNCHANGED = "the object was already stored at the storage version"
    GONE = "the object was deleted meanwhile"


class ClusterMigration:
    """The migration of one CRD's objects. `journal` holds its progress."""

    def __init__(
        self,
        client: PacedClient,
        storage: CRDStorage,
        journal: Journal,
        *,
        dry_run: bool = False,
        page: int = _PAGE,
        on_progress: Callable[[int, int], None] = lambda done, total: None,
        on_page: Callable[[], None] = lambda: None,
    ) -> None:
        """`on_progress` is called with the numbers of handled and of all objects, `on_page` after each page."""
        self._client = client
        self._storage = storage
        self.journal = journal
        self._dry_run = dry_run
        self._page = page
        self._on_progress = on_progress
        self._on_page = on_page
        self._resumed_at = journal.last
        self._handled: set[str] = set()
        self._done = journal.rewritten + journal.unchanged + len(journal.failures)
        self._total = 0

    async def rewrite_all(self) -> None:
        """Write every object once. Record failures in the journal. Raise ClusterError or ForbiddenError."""
        journal = self.journal
        retried, journal.failures = list(journal.failures), {}
        async for page in list_pages(
            self._client, self._storage, after=journal.last, token=journal.token, page=self._page
        ):
            journal.revision = journal.revision or page.revision
            self._total = self._done + len(page.items) + page.remaining
            await self._rewrite_page(page.items)
            if page.items:
                journal.last = key_of(page.items[-1])
            journal.token = page.token
            self._on_page()
        if retried:
            await self._rewrite_missing(set(retried))

    async def verify(self) -> int:
        """List all objects again and write those that the migration has not handled. Return their number."""
        missing = 0
        for _ in range(_VERIFICATIONS):
            found = await self._rewrite_missing(None)
            missing += found
            if not found:
                break
        return missing

    async def _rewrite_missing(self, keys: set[str] | None) -> int:
        """Write the objects with these keys or, if `keys` is None, the objects that have not been handled."""
        found = 0
        async for page in list_pages(self._client, self._storage, page=self._page):
            items = [
                item
                for item in page.items
                if (key_of(item) in keys if keys is not None else not self._is_handled(item))
            ]
            found += len(items)
            await self._rewrite_page(items)
        self._on_page()
        return found

    def _is_handled(self, metadata: JsonObject) -> bool:
        """True if the object was handled by this run or by the interrupted run before it, or written since then."""
        if metadata["uid"] in self._handled or (self._resumed_at and key_of(metadata) <= self._resumed_at):
            return True
        written, started = str(metadata.get("resourceVersion")), self.journal.revision
        return written.isdecimal() and started.isdecimal() and int(written) > int(started)

    async def _rewrite_page(self, items: list[JsonObject]) -> None:
        slots = asyncio.Semaphore(_CONCURRENCY)

        async def limited(metadata: JsonObject) -> None:
            async with slots:
                await self._rewrite(metadata)

        async with asyncio.TaskGroup() as group:
            for metadata in items:
                group.create_task(limited(metadata))

    async def _rewrite(self, metadata: JsonObject) -> None:
        journal, key = self.journal, key_of(metadata)
        try:
            result = await self._write_until_settled(metadata)
        except StatusError as error:
            if error.status in (401, 403):
                raise ForbiddenError(str(error)) from None
            journal.failures[key] = str(error)
        else:
            journal.failures.pop(key, None)
            journal.rewritten += result is _Result.REWRITTEN
            journal.unchanged += result is _Result.UNCHANGED
        self._handled.add(metadata["uid"])
        self._done += 1
        self._on_progress(self._done, max(self._total, self._done))

    async def _write_until_settled(self, metadata: JsonObject) -> _Result:
        """Write an object without changing it. After a conflict, read its metadata and try again."""
        storage = self._storage
        path = storage.object_path(storage.endpoints[0], metadata)
        query = "?fieldManager=polykind-migrate&fieldValidation=Ignore" + ("&dryRun=All" if self._dry_run else "")
        for attempt in range(1, _CONFLICT_ATTEMPTS + 1):
            fix = field_manager_cleanup.repair(
                metadata, storage.group, storage.declared, storage.storage, storage.schema(storage.storage)
            )
            body: object = {"metadata": {k: metadata[k] for k in ("uid", "resourceVersion")}}
            content_type = _MERGE_PATCH
            if fix is not None:
                body, content_type = fix.patch, _JSON_PATCH
            try:
                written = await self._client.send("PATCH", path + query, body, content_type, _METADATA)
            except StatusError as error:
                if error.status == 404:
                    return _Result.GONE
                # A failed test of a JSON patch is a 422, like an invalid object.
                if attempt == _CONFLICT_ATTEMPTS or error.status not in ((409,) if fix is None else (409, 422)):
                    raise
                read = await self._read_metadata(path)
                if read is None:
                    return _Result.GONE
                if error.status == 422 and read["resourceVersion"] == metadata["resourceVersion"]:
                    raise
                metadata = read
                continue
            self.journal.repaired += fix is not None
            unchanged = written["metadata"]["resourceVersion"] == metadata["resourceVersion"] and fix is None
            return _Result.UNCHANGED if unchanged else _Result.REWRITTEN
        raise AssertionError("unreachable")

    async def _read_metadata(self, path: str) -> JsonObject | None:
        """Return the metadata of an object, or None if it does not exist."""
        try:
            metadata: JsonObject = (await self._client.send("GET", path, accept=_METADATA))["metadata"]
        except StatusError as error:
            if error.status == 404:
                return None
            raise
        return metadata


async def read_crd(client: PacedClient, name: str) -> CRDStorage:
    """Read a CRD. Raise ForbiddenError or ClusterError."""
    from polykind.toolkit.migrating.crd_storage import CRDS

    try:
        return CRDStorage(await client.send("GET", f"{CRDS}/{name}"))
    except StatusError as error:
        if error.status in (401, 403):
            raise ForbiddenError(str(error)) from None
        raise


async def prune_stored_versions(client: PacedClient, before: CRDStorage, journal: Journal) -> list[str]:
    """Remove all versions but the storage version from status.storedVersions, and return the removed versions.

    Raise RefusedError unless all objects were written since the storage version was set.
    """
    if journal.failures:
        first, reason = next(iter(journal.failures.items()))
        raise RefusedError(
            f"{_plural(len(journal.failures), 'object')} could not be rewritten, first {first}: {reason}"
        )
    for attempt in range(1, _CONFLICT_ATTEMPTS + 1):
        crd = await read_crd(client, before.name)
        _check_unchanged(crd, before, journal)
        removed = [version for version in crd.stored_versions if version != crd.storage]
        if not removed:
            return []
        patch = [
            {"op": "test", "path": "/metadata/resourceVersion", "value": crd.crd["metadata"]["resourceVersion"]},
            {"op": "test", "path": "/status/storedVersions", "value": crd.stored_versions},
            {"op": "replace", "path": "/status/storedVersions", "value": [crd.storage]},
        ]
        try:
            written = await client.send("PATCH", f"{crd.path}/status", patch, _JSON_PATCH)
        except StatusError as error:
            if error.status in (401, 403):
                raise ForbiddenError(str(error)) from None
            if error.status not in (409, 422) or attempt == _CONFLICT_ATTEMPTS:
                raise
            continue
        left = CRDStorage(written).stored_versions
        if left != [crd.storage]:
            raise RefusedError(f"the server still lists {', '.join(left)} in status.storedVersions")
        return removed
    raise AssertionError("unreachable")


def _check_unchanged(crd: CRDStorage, before: CRDStorage, journal: Journal) -> None:
    """Raise RefusedError if the storage version of a CRD has changed since the migration began."""
    if crd.uid != before.uid:
        raise RefusedError("the CRD was deleted and created again during the migration: run the migration again")
    if crd.storage != journal.storage:
        raise RefusedError(
            f"the storage version was changed to {crd.storage} during the migration: run the migration again"
        )
    added = [v for v in crd.stored_versions if v not in journal.stored_versions and v != crd.storage]
    if added:
        raise RefusedError(
            f"{', '.join(added)} became the storage version for a while during the migration, so that objects may "
            "be stored at it: run the migration again"
        )


def _plural(number: int, noun: str) -> str:
    return f"1 {noun}" if number == 1 else f"{number} {noun}s"
