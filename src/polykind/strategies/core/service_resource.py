"""The resource of Services, whose writes allocate cluster IPs and node ports."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polykind.apis.core.cluster_ip_fields import (
    default_stored_service,
    normalize_cluster_ips,
    patch_allocated_values,
)
from polykind.apis.core.types import ENDPOINTS
from polykind.contract import JsonObject, RevisionConflictError, copy_json
from polykind.resources.builtin import BuiltinResource
from polykind.strategies.core.service_allocation import ServiceAllocation

if TYPE_CHECKING:
    from polykind.operations.operation import Operation
    from polykind.resources.resource import Finish


class ServiceResource(BuiltinResource):
    """The resource `services`."""

    has_effects = True

    async def begin_create(self, op: Operation, obj: JsonObject, *, dry_run: bool) -> Finish | None:
        normalize_cluster_ips(obj["spec"], None)
        allocation = ServiceAllocation(op, obj, dry_run=dry_run)
        try:
            await allocation.create()
        except BaseException:
            await allocation.finish(False)
            raise
        return allocation.finish

    async def begin_update(self, op: Operation, new: JsonObject, old: JsonObject, *, dry_run: bool) -> Finish | None:
        if op.subresource:
            return None
        old = {**old, "spec": copy_json(old["spec"])}
        default_stored_service(old["spec"], op.backend.service_network.families[0])
        new["spec"] = copy_json(new["spec"])
        patch_allocated_values(new["spec"], old["spec"])
        normalize_cluster_ips(new["spec"], old["spec"])
        allocation = ServiceAllocation(op, new, dry_run=dry_run)
        try:
            await allocation.update(old)
        except BaseException:
            await allocation.finish(False)
            raise
        return allocation.finish

    async def after_delete(self, op: Operation, obj: JsonObject, *, dry_run: bool) -> None:
        if dry_run:
            return
        await ServiceAllocation(op, obj, dry_run=False).release_all()
        await self._delete_endpoints(op, obj)

    async def _delete_endpoints(self, op: Operation, service: JsonObject) -> None:
        """Delete the Endpoints of a deleted service, so that a new service with its name does not get them."""
        meta = service["metadata"]
        endpoints = op.backend.cache.resource_at(ENDPOINTS.storage_prefix)
        key = endpoints.prefix + self.key(meta.get("namespace", ""), meta["name"])
        try:
            await op.backend.store.delete(key, expect=None)
        except RevisionConflictError:
            return
