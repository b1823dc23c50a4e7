"""The repair of Service allocations: releases cluster IPs and node ports that a crashed server has left behind."""

from __future__ import annotations

import logging

from polykind import errors
from polykind.apis.core.types import SERVICE
from polykind.apis.networking.types import IP_ADDRESS
from polykind.cache.cached_object import parse_stored
from polykind.cache.resource_cache import ResourceCache
from polykind.contract import JsonObject
from polykind.controllers.object_client import ObjectClient
from polykind.operations.backend import Backend
from polykind.strategies.core.ip_allocator import ALLOCATOR_LABELS
from polykind.strategies.core.node_port_allocator import NodePortAllocator

log = logging.getLogger("polykind.services")


async def release_leaked(backend: Backend) -> None:
    """Release all cluster IPs and node ports that no existing Service uses.

    The caller must be the only writer of the store. Otherwise the addresses of a Service that is just being created
    would be released. If a stored value cannot be read, the server starts nevertheless, and what may be used is kept.
    """
    try:
        await _release_addresses(backend)
        await NodePortAllocator(backend, backend.service_network).release_unused()
    except errors.APIError as error:
        log.error("services: cannot release unused cluster IPs and node ports, keeping them: %s", error)


async def _release_addresses(backend: Backend) -> None:
    services = backend.cache.resource_at(SERVICE.storage_prefix)
    await backend.cache.load(services)
    prefix = f"{backend.cache.prefix}{IP_ADDRESS.storage_prefix}/"
    for stored in (await backend.store.range(prefix)).items:
        obj = parse_stored(stored.key.removeprefix(prefix), stored.value, stored.revision, False).decode()
        if _is_managed(obj) and not _is_used(obj, services):
            log.info("services: releasing cluster IP %s, which no service uses", obj["metadata"]["name"])
            await ObjectClient(backend).remove_stored(stored)


def _is_managed(address: JsonObject) -> bool:
    labels = (address.get("metadata") or {}).get("labels") or {}
    return all(labels.get(key) == value for key, value in ALLOCATOR_LABELS.items())


def _is_used(address: JsonObject, services: ResourceCache) -> bool:
    parent = (address.get("spec") or {}).get("parentRef") or {}
    cached = services.get(f"{parent.get('namespace', '')}/{parent.get('name', '')}")
    spec = cached.decode().get("spec") or {} if cached is not None else {}
    return address["metadata"]["name"] in (spec.get("clusterIPs") or (spec.get("clusterIP"),))
