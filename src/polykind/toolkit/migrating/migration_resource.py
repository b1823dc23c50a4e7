"""Migration by the cluster itself: a StorageVersionMigration of storagemigration.k8s.io."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from polykind.cluster.cluster_client import StatusError
from polykind.contract import JsonObject
from polykind.toolkit.migrating.cluster_migration import ForbiddenError
from polykind.toolkit.migrating.crd_storage import CRDStorage
from polykind.toolkit.migrating.paced_client import PacedClient

GROUP = "storagemigration.k8s.io"
_POLL_SECONDS = 1.0


class MigrationFailedError(Exception):
    """The StorageVersionMigration has failed. The message is its reason."""


async def served_version(client: PacedClient) -> str | None:
    """Return the preferred version of StorageVersionMigration, or None if the cluster does not serve the kind."""
    try:
        group = await client.send("GET", f"/apis/{GROUP}")
    except StatusError:
        return None
    preferred = (group.get("preferredVersion") or {}).get("version")
    return preferred if isinstance(preferred, str) else None


async def migrate_by_resource(
    client: PacedClient,
    storage: CRDStorage,
    version: str,
    on_status: Callable[[str], None],
    *,
    sleep: Callable[[float], Awaitable[Any]] = asyncio.sleep,
) -> str:
    """Create a StorageVersionMigration, wait until it has succeeded, and return its name.

    Raise MigrationFailedError, ForbiddenError or ClusterError.
    """
    collection = f"/apis/{GROUP}/{version}/storageversionmigrations"
    resource = {"group": storage.group, "resource": storage.plural}
    if version == "v1alpha1":
        resource["version"] = storage.endpoints[0]
    body = {
        "apiVersion": f"{GROUP}/{version}",
        "kind": "StorageVersionMigration",
        "metadata": {"generateName": f"{storage.name}-"},
        "spec": {"resource": resource},
    }
    try:
        created = await client.send("POST", collection, body)
        name: str = created["metadata"]["name"]
        while True:
            migration = await client.send("GET", f"{collection}/{name}")
            conditions = (migration.get("status") or {}).get("conditions") or []
            if (failed := _true(conditions, "Failed")) is not None:
                raise MigrationFailedError(f"{name}: {failed.get('message') or failed.get('reason') or 'no reason'}")
            if _true(conditions, "Succeeded") is not None:
                return name
            running = _true(conditions, "Running")
            on_status(f"{name}: {running.get('message') or 'running' if running is not None else 'waiting'}")
            await sleep(_POLL_SECONDS)
    except StatusError as error:
        if error.status in (401, 403):
            raise ForbiddenError(str(error)) from None
        raise


def _true(conditions: list[JsonObject], kind: str) -> JsonObject | None:
    return next((c for c in conditions if c.get("type") == kind and c.get("status") == "True"), None)
